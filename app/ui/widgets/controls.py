"""Painted controls: a choice of a few words, a switch, a slider with a mark; fields to write in."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QMouseEvent, QPainter, QPaintEvent, QPen, QWheelEvent
from PySide6.QtWidgets import QButtonGroup, QCheckBox, QFrame, QPushButton, QSizePolicy, QSlider

from app.ui.theme.look import LookSource
from app.ui.widgets.fields import Choice, Field, SearchField
from app.ui.widgets.layouts import row

__all__ = ["Choice", "Field", "MarkSlider", "SearchField", "Segmented", "Switch"]

_NOTCH = 120
"""Angle delta of one notch of a wheel, in eighths of a degree (Qt)."""


class _Segment(QPushButton):
    """One word of a `Segmented`; as wide as it is when chosen, so that nothing moves."""

    def __init__(self, looks: LookSource, key: str) -> None:
        super().__init__()
        self._looks = looks
        self.key = key
        self.setProperty("kind", "segment")
        self.setCheckable(True)
        self.setAutoDefault(False)

    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(self._looks.look.font("label", 600))
        return QSize(metrics.horizontalAdvance(self.text()) + 22, super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()


class Segmented(QFrame):
    """One of two to four choices side by side. Tab reaches the chosen one, arrows choose.

    Signals:
        chosen: the key of what the person chose.
    """

    chosen = Signal(str)

    def __init__(self, looks: LookSource, *, stretch: bool = False) -> None:
        """Make an empty one; `stretch` spreads the words over the width there is."""
        super().__init__()
        self._looks = looks
        self._group = QButtonGroup(self)
        self._group.buttonClicked.connect(self._on_clicked)
        self._group.buttonToggled.connect(self._set_tab_stop)
        self._layout = row(gap=2, margins=(2, 2, 2, 2))
        self.setLayout(self._layout)
        self.setProperty("surface", "segmented")
        policy = QSizePolicy.Policy.Expanding if stretch else QSizePolicy.Policy.Fixed
        self.setSizePolicy(policy, QSizePolicy.Policy.Fixed)

    @property
    def current(self) -> str | None:
        """The key of the chosen one."""
        button = self._group.checkedButton()
        return button.key if isinstance(button, _Segment) else None

    def set_items(self, items: Sequence[tuple[str, str]]) -> None:
        """Offer (key, text); equal keys keep choice and focus and only change their texts."""
        if [button.key for button in self._segments()] != [key for key, _ in items]:
            self._rebuild([key for key, _ in items])
        for button, (_, text) in zip(self._segments(), items, strict=True):
            button.setText(text)
            button.updateGeometry()

    def set_current(self, key: str) -> None:
        """Choose `key` without a signal; an unknown key leaves the choice."""
        for button in self._segments():
            if button.key == key:
                button.setChecked(True)

    def _segments(self) -> list[_Segment]:
        return [button for button in self._group.buttons() if isinstance(button, _Segment)]

    def _rebuild(self, keys: list[str]) -> None:
        current = self.current
        for old in self._segments():
            self._group.removeButton(old)
            self._layout.removeWidget(old)
            old.deleteLater()
        for key in keys:
            button = _Segment(self._looks, key)
            button.setChecked(key == current)
            self._group.addButton(button)
            self._layout.addWidget(button)
        self._set_tab_stop()

    def _set_tab_stop(self) -> None:
        """Let Tab stop once: at the chosen word, or at the first where none is."""
        stop = self._group.checkedButton() or next(iter(self._segments()), None)
        for button in self._segments():
            is_stop = button is stop
            button.setFocusPolicy(Qt.FocusPolicy.StrongFocus if is_stop else Qt.FocusPolicy.ClickFocus)

    def _on_clicked(self, button: _Segment) -> None:
        self.chosen.emit(button.key)


class Switch(QCheckBox):
    """On or off, at once. The knob carries a tick when on, so colour is not the only sign."""

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._on_look_changed()
        looks.changed.connect(self._on_look_changed)

    def sizeHint(self) -> QSize:
        zoom = self._looks.look.zoom
        return QSize(round(40 * zoom), round(24 * zoom))

    def hitButton(self, pos: object) -> bool:  # noqa: ARG002 the whole of it can be clicked
        return True

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 Qt's signature
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.scale(self.width() / 40, self.height() / 24)
        look, is_on, is_enabled = self._looks.look, self.isChecked(), self.isEnabled()
        outline = look.color("control" if is_enabled else "border_strong")
        ground = look.color("accent") if is_enabled else look.color("border_strong")
        painter.setPen(Qt.PenStyle.NoPen if is_on else QPen(outline, 1.5))
        painter.setBrush(ground if is_on else look.color("sunken"))
        painter.drawRoundedRect(QRectF(3, 3, 34, 18), 9, 9)
        center = QPointF(28 if is_on else 12, 12)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(look.color("on_accent" if is_enabled else "surface") if is_on else outline)
        painter.drawEllipse(center, 6.5, 6.5)
        if is_on:
            painter.setPen(QPen(ground, 1.7))
            tick = (QPointF(-2.7, 0.2), QPointF(-0.7, 2.2), QPointF(2.9, -2.1))
            painter.drawPolyline([center + point for point in tick])
        if self.hasFocus():
            painter.setPen(QPen(look.color("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(1, 1, 38, 22), 11, 11)

    def _on_look_changed(self) -> None:
        self.setFixedSize(self.sizeHint())
        self.update()


class MarkSlider(QSlider):
    """A slider over whole numbers with a mark for what Auto would choose.

    Arrows and the wheel step 1, PageUp and PageDown 4. The wheel moves it only while it has the focus,
    so that a page scrolls past it.
    """

    def __init__(self, looks: LookSource, *, fill: str = "tier_ram") -> None:
        """Make one over 0..100; `fill` is the palette colour left of the knob."""
        super().__init__(Qt.Orientation.Horizontal)
        self._looks = looks
        self._fill = fill
        self._mark: int | None = None
        self._wheel = 0
        self.setSingleStep(1)
        self.setPageStep(4)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        looks.changed.connect(self._on_look_changed)

    @property
    def mark(self) -> int | None:
        """What Auto would choose."""
        return self._mark

    def set_mark(self, value: int | None) -> None:
        """Show the mark at `value`, or none."""
        if value != self._mark:
            self._mark = value
            self.update()

    def set_value_text(self, text: str) -> None:
        """Say the value in words to readers of the screen and in the tool tip."""
        self.setAccessibleDescription(text)
        self.setToolTip(text)

    def sizeHint(self) -> QSize:
        zoom = self._looks.look.zoom
        return QSize(round(160 * zoom), round(28 * zoom))

    def minimumSizeHint(self) -> QSize:
        return QSize(round(80 * self._looks.look.zoom), self.sizeHint().height())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() is not Qt.MouseButton.LeftButton:
            event.ignore()
            return
        self.setSliderDown(True)
        self.setSliderPosition(self._value_at(event.position().x()))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self.isSliderDown():
            self.setSliderPosition(self._value_at(event.position().x()))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton:
            self.setSliderDown(False)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if not self.hasFocus():
            event.ignore()
            return
        delta = event.angleDelta()
        self._wheel += delta.y() or delta.x()
        steps = int(self._wheel / _NOTCH)
        self._wheel -= steps * _NOTCH
        self.setValue(self.value() + steps)
        event.accept()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 Qt's signature
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        look, zoom, middle = self._looks.look, self._looks.look.zoom, self.height() / 2
        knob = QPointF(self._x_of(self.sliderPosition()), middle)
        left, right = self._x_of(self.minimum()), self._x_of(self.maximum())
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(look.color("border_strong"))
        painter.drawRoundedRect(QRectF(left, middle - 2, right - left, 4), 2, 2)
        painter.setBrush(look.color(self._fill if self.isEnabled() else "control"))
        start = min(left, knob.x())
        painter.drawRoundedRect(QRectF(start, middle - 2, abs(knob.x() - left), 4), 2, 2)
        if self._mark is not None:
            x = self._x_of(self._mark)
            painter.setPen(QPen(look.color("text_soft"), 2))
            painter.drawLine(QPointF(x, middle - 12 * zoom), QPointF(x, middle - 9 * zoom))
        painter.setPen(QPen(look.color("accent" if self.isEnabled() else "control"), 2))
        painter.setBrush(look.color("raised"))
        painter.drawEllipse(knob, 6 * zoom, 6 * zoom)
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawEllipse(knob, 9.5 * zoom, 9.5 * zoom)

    def _margin(self) -> float:
        return 11 * self._looks.look.zoom

    def _x_of(self, value: int) -> float:
        span = max(1, self.maximum() - self.minimum())
        share = (value - self.minimum()) / span
        return self._margin() + min(1.0, max(0.0, share)) * (self.width() - 2 * self._margin())

    def _value_at(self, x: float) -> int:
        share = (x - self._margin()) / max(1.0, self.width() - 2 * self._margin())
        return round(self.minimum() + min(1.0, max(0.0, share)) * (self.maximum() - self.minimum()))

    def _on_look_changed(self) -> None:
        self.updateGeometry()
        self.update()
