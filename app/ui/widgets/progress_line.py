"""A thin line that fills from the left: how far a load has come."""

from typing import Final

from PySide6.QtCore import QRectF, QSize, QTimer
from PySide6.QtGui import QHideEvent, QPainter, QPaintEvent, QShowEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.ui.theme.look import LookSource
from app.ui.widgets.patterns import rounded

HEIGHT: Final = 3
_STEP_MS: Final = 40
_STEP: Final = 0.02
_PIECE: Final = 0.25
_ROUND_FROM: Final = 6
_CORNER: Final = 4


class ProgressLine(QWidget):
    """Always takes its 3 px, so that nothing moves when a load starts; empty when nothing is under way."""

    def __init__(self, looks: LookSource, *, thickness: int = HEIGHT) -> None:
        """Make one; from 6 px on it is a bar with round ends."""
        super().__init__()
        self._looks = looks
        self._thickness = thickness
        self._fraction: float | None = None
        self._is_under_way = False
        self._start = 0.0
        self._timer = QTimer(self, interval=_STEP_MS)
        self._timer.timeout.connect(self._on_step)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        looks.changed.connect(self.update)

    @property
    def fraction(self) -> float | None:
        """How much is filled, 0..1; None when nothing is under way or nobody knows."""
        return self._fraction

    def show_fraction(self, fraction: float | None) -> None:
        """Fill up to `fraction`; None = under way, but nobody knows how far: a piece wanders."""
        self._is_under_way, self._fraction = True, fraction
        self._run_or_rest()

    def end(self) -> None:
        """Be empty."""
        self._is_under_way, self._fraction = False, None
        self._run_or_rest()

    def sizeHint(self) -> QSize:
        return QSize(100, self._thickness)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, self._thickness)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._run_or_rest()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._timer.stop()

    def paintEvent(self, _event: QPaintEvent) -> None:
        look, height = self._looks.look, self._thickness
        painter = QPainter(self)
        if not self._is_under_way:
            painter.fillRect(QRectF(0, height - 1, self.width(), 1), look.color("border"))
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ground = QRectF(self.rect())
        painter.setClipPath(rounded(ground, _CORNER if height >= _ROUND_FROM else 0))
        painter.fillRect(ground, look.color("pressed"))
        start, share = (0.0, self._fraction) if self._fraction is not None else (self._start, _PIECE)
        piece = QRectF(start * self.width(), 0, share * self.width(), height)
        painter.fillRect(piece, look.color("accent"))

    def _run_or_rest(self) -> None:
        wanders = self._is_under_way and self._fraction is None and not self._looks.look.reduced_motion
        if wanders and self.isVisible():
            self._timer.start()
        else:
            self._timer.stop()
        self.update()

    def _on_step(self) -> None:
        self._start = -_PIECE if self._start > 1 else self._start + _STEP
        self.update()
