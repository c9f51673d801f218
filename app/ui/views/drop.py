"""What may be dropped on the window, and what the window shows meanwhile."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from PySide6.QtCore import QMimeDatabase, QRectF, Qt, QUrl
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from app.ui.theme.look import LookSource
from app.ui.widgets.labels import IconLabel, TextLabel
from app.ui.widgets.layouts import column, row

_PART: Final = re.compile(r"(.*)-\d{5}-of-\d{5}\.gguf", re.IGNORECASE)
CORNER: Final = 14
MARGIN: Final = 12


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why nothing can be opened: a text key and its values."""

    key: str
    values: dict[str, str] = field(default_factory=dict)


def dropped_path(urls: Sequence[QUrl]) -> Path | Refusal:
    """Return the one path to open, judged by names alone; what a file really holds is for others to find out.

    All parts of a split model together stand for the first of them.
    """
    if not urls or not all(url.isLocalFile() for url in urls):
        return Refusal("ui.window.drop_not_local")
    paths = sorted(Path(url.toLocalFile()) for url in urls)
    parts = [_PART.fullmatch(path.name) for path in paths]
    stems = {(path.parent, part[1] if part else None) for path, part in zip(paths, parts, strict=True)}
    if len(paths) > 1 and (len(stems) > 1 or None in {stem for _folder, stem in stems}):
        return Refusal("ui.window.drop_several")
    path = paths[0]
    kind = QMimeDatabase().mimeTypeForFile(str(path), QMimeDatabase.MatchMode.MatchExtension)
    if path.suffix.lower() != ".gguf" and not kind.isDefault():
        return Refusal("ui.window.drop_not_gguf", {"name": path.name})
    return path


class DropOverlay(QWidget):
    """Lies over the whole window while something is dragged over it."""

    def __init__(self, looks: LookSource, parent: QWidget) -> None:
        super().__init__(parent)
        self._looks = looks
        self._window = parent
        self._title = TextLabel("headline")
        self._detail = TextLabel("body", "soft", wrap=True)
        self._icon = IconLabel(looks, "drop", "accent_text", 48)
        for label in (self._title, self._detail):
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._detail.setMaximumWidth(520)
        detail = row(None, gap=0)
        detail.addWidget(self._detail, 1000)
        detail.addStretch(1)
        self.setLayout(column(None, row(None, self._icon, None), self._title, detail, None, gap=10))
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()
        looks.changed.connect(self._apply_look)
        self._apply_look()

    def show_over(self) -> None:
        """Cover the parent."""
        self.setGeometry(self._window.rect())
        self.raise_()
        self.show()

    def paintEvent(self, _event: QPaintEvent) -> None:
        look, painter = self._looks.look, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), look.color("window", 0.94))
        painter.setPen(QPen(look.color("accent"), 2, Qt.PenStyle.DashLine))
        painter.setBrush(look.color("accent_soft", 0.45))
        box = QRectF(self.rect()).adjusted(MARGIN, MARGIN, -MARGIN, -MARGIN)
        painter.drawRoundedRect(box, CORNER, CORNER)

    def _apply_look(self) -> None:
        look = self._looks.look
        self._title.setText(look.text("ui.window.drop_here"))
        self._detail.setText(look.text("ui.window.drop_here_detail"))
        self.setAccessibleName(look.text("ui.window.drop_here"))
