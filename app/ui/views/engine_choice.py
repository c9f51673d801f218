"""The list of engines to choose from, each with how its test went."""

from dataclasses import dataclass
from functools import partial
from typing import Final

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QButtonGroup, QRadioButton, QSizePolicy, QVBoxLayout, QWidget

from app.ui.theme.look import LookSource
from app.ui.widgets.labels import Chip, ElidedLabel
from app.ui.widgets.layouts import column, row

AUTOMATIC: Final = ""
"""Stands for "Moxie chooses" where a name is expected."""

_TONES: Final = {"passed": "success", "failed": "danger", "untested": "neutral", "built_in": "neutral"}


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """One engine.

    Attributes:
        state: `passed`, `failed`, `untested` or `built_in`; also the end of its text key.
        build: The engine's own version text; None when it was never asked.
    """

    name: str
    state: str
    build: str | None = None


class EngineChoices(QWidget):
    """Automatic, then every engine.

    Signals:
        chosen: name of the engine; None for automatic.
    """

    chosen = Signal(object)

    def __init__(self, looks: LookSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._looks = looks
        self._engines: tuple[EngineChoice, ...] = ()
        self._current: str | None = None
        self._group = QButtonGroup(self)
        self._rows: list[_EngineRow] = []
        self._layout: QVBoxLayout = column(gap=2)
        self.setLayout(self._layout)
        looks.changed.connect(self._set_texts)

    def show_engines(self, engines: tuple[EngineChoice, ...], current: str | None) -> None:
        """Show what can be chosen and what is."""
        if [row.name for row in self._rows] != [AUTOMATIC, *(engine.name for engine in engines)]:
            self._rebuild([AUTOMATIC, *(engine.name for engine in engines)])
        self._engines, self._current = engines, current
        self._set_texts()

    def buttons(self) -> dict[str, QRadioButton]:
        """Return the buttons by engine name; `AUTOMATIC` for the first."""
        return {row.name: row.button for row in self._rows}

    def _rebuild(self, names: list[str]) -> None:
        for old in self._rows:
            self._group.removeButton(old.button)
            self._layout.removeWidget(old)
            old.hide()
            old.deleteLater()
        self._rows = [_EngineRow(self._looks, name) for name in names]
        for line in self._rows:
            self._group.addButton(line.button)
            self._layout.addWidget(line)
            line.button.clicked.connect(partial(self._on_clicked, line.name))

    def _on_clicked(self, name: str) -> None:
        self.chosen.emit(name or None)

    def _set_texts(self) -> None:
        look = self._looks.look
        known = {engine.name: engine for engine in self._engines}
        for line in self._rows:
            engine = known.get(line.name)
            if engine is None:
                line.show_engine(
                    look.text("ui.settings.engine_auto"), look.text("ui.settings.engine_auto_detail")
                )
            else:
                state = look.text(f"ui.settings.engine_state.{engine.state}")
                line.show_engine(engine.name, engine.build or "", state, _TONES[engine.state])
            line.button.setChecked(line.name == (self._current or AUTOMATIC))


class _EngineRow(QWidget):
    def __init__(self, looks: LookSource, name: str) -> None:
        super().__init__()
        self._looks = looks
        self.name = name
        self.button = _RadioDot(looks)
        self._title = ElidedLabel("body")
        self._detail = ElidedLabel("caption", "faint")
        self._chip = Chip()
        layout = row(self.button, gap=10, margins=(0, 4, 0, 4))
        layout.addLayout(column(self._title, self._detail, gap=0), 1)
        layout.addWidget(self._chip)
        self.setLayout(layout)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def show_engine(self, title: str, detail: str, state: str = "", tone: str = "neutral") -> None:
        self._title.setText(title)
        self._detail.setText(detail)
        self._detail.setVisible(bool(detail))
        self._chip.setText(state)
        self._chip.set_tone(tone)
        self._chip.setVisible(bool(state))
        look = self._looks.look
        spoken = look.text("ui.settings.engine_spoken", name=title, state=state) if state else title
        self.button.setAccessibleName(spoken)
        self.button.setAccessibleDescription(detail)

    def event(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.MouseButtonRelease:
            self.button.click()
            return True
        return super().event(event)


class _RadioDot(QRadioButton):
    """A ring, filled when chosen; the words stand beside it."""

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        looks.changed.connect(self.update)

    def sizeHint(self) -> QSize:
        return QSize(28, 28)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def hitButton(self, pos: object) -> bool:  # noqa: ARG002 the whole of it can be clicked
        return True

    def paintEvent(self, _event: QPaintEvent) -> None:
        look, painter = self._looks.look, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        center = QPointF(self.width() / 2, self.height() / 2)
        is_on = self.isChecked()
        painter.setPen(QPen(look.color("accent" if is_on else "control"), 1.8))
        painter.setBrush(look.color("raised"))
        painter.drawEllipse(center, 8, 8)
        if is_on:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(look.color("accent"))
            painter.drawEllipse(center, 4, 4)
        if self.hasFocus():
            painter.setPen(QPen(look.color("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(1, 1, self.width() - 2, self.height() - 2), 8, 8)
