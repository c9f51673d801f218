"""How full the context is, beside the send button."""

from typing import Final

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.ui.theme.look import LookSource
from app.ui.theme.tokens import SPACE, TYPE
from app.ui.widgets.patterns import rounded

WARNING_SHARE: Final = 0.80
DANGER_SHARE: Final = 0.95

_BAR_WIDTH: Final = 72.0
_BAR_HEIGHT: Final = 6.0


class ContextMeter(QWidget):
    """A short bar and "5.1k / 16k": amber from 80 %, red from 95 %. Invisible without a context."""

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._used: int | None = None
        self._total: int | None = None
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        looks.changed.connect(self._set_words)
        self.hide()

    def show_use(self, used: int | None, total: int | None) -> None:
        """Show tokens in use and tokens there are; None = not known."""
        if (used, total) == (self._used, self._total):
            return
        self._used, self._total = used, total
        self.setVisible(total is not None)
        self._set_words()

    @property
    def color_name(self) -> str:
        """The colour of the bar: the accent, or how serious it is."""
        share = self._share
        if share >= DANGER_SHARE:
            return "danger"
        return "warning_text" if share >= WARNING_SHARE else "accent"

    def sizeHint(self) -> QSize:
        width = QFontMetricsF(self._looks.look.font("caption")).horizontalAdvance(self._figures())
        line = round(TYPE["caption"].line * self._looks.look.zoom)
        return QSize(round(_BAR_WIDTH + SPACE["s"] + width + 1), line)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 Qt's signature
        look, painter = self._looks.look, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        bar = QRectF(0, (self.height() - _BAR_HEIGHT) / 2, _BAR_WIDTH, _BAR_HEIGHT)
        painter.setClipPath(rounded(bar, _BAR_HEIGHT / 2))
        painter.fillRect(bar, look.color("pressed"))
        painter.fillRect(
            QRectF(bar.left(), bar.top(), bar.width() * min(1.0, self._share), bar.height()),
            look.color(self.color_name),
        )
        painter.setClipping(False)
        ink = {"danger": "danger_text", "warning_text": "warning_text"}.get(self.color_name, "text_soft")
        painter.setFont(look.font("caption"))
        painter.setPen(look.color(ink))
        left = bar.right() + SPACE["s"]
        box = QRectF(left, 0, self.width() - left, self.height())
        painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, self._figures())

    @property
    def _share(self) -> float:
        return (self._used or 0) / self._total if self._total else 0.0

    def _figures(self) -> str:
        used, total = short_count(self._used), short_count(self._total)
        return self._looks.look.text("ui.context_meter.figures", used=used, total=total)

    def _set_words(self) -> None:
        look = self._looks.look
        self.setAccessibleName(look.text("ui.context_meter.name"))
        words = look.text("ui.context_meter.words", share=self._share, used=self._used, total=self._total)
        self.setAccessibleDescription(words)
        self.setToolTip(words)
        self.updateGeometry()
        self.update()


def short_count(count: int | None) -> str | None:
    """Return tokens as people say them: 16,384 is 16k, 5,222 is 5.1k."""
    if count is None or count < 1000:
        return None if count is None else str(count)
    return f"{count / 1024:.1f}k" if count < 10 * 1024 and count % 1024 else f"{count / 1024:.0f}k"
