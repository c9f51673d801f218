"""The card that says what this PC has."""

from typing import Final

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from app.hardware.facts import HardwareFacts
from app.ui.theme.look import LookSource
from app.ui.views.hardware_rows import HardwareRow, hardware_rows
from app.ui.widgets.labels import Chip, ElidedLabel, IconLabel, TextLabel
from app.ui.widgets.layouts import card, column, row, rule

SKELETON_LINES: Final = 5
_SKELETON_WIDTHS: Final = (0.62, 0.4, 0.52, 0.46, 0.56)


class HardwareCard(QWidget):
    """Grey lines until the machine was looked at, then one line per part."""

    def __init__(self, looks: LookSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._looks = looks
        self._hardware: HardwareFacts | None = None
        self._title = TextLabel("subtitle")
        self._lines: QVBoxLayout = column(gap=6)
        self.setLayout(column(card(column(self._title, self._lines, None, gap=8), 16), gap=0))
        looks.changed.connect(self._show)
        self._show()

    def show_hardware(self, hardware: HardwareFacts | None) -> None:
        """Show the machine; None = not looked at yet."""
        self._hardware = hardware
        self._show()

    def _show(self) -> None:
        look = self._looks.look
        self._title.setText(look.text("ui.first_run.this_pc"))
        while item := self._lines.takeAt(0):
            if widget := item.widget():
                widget.hide()
                widget.deleteLater()
        if self._hardware is None:
            looking = look.text("ui.first_run.looking")
            lines: list[QWidget] = [
                _SkeletonLine(self._looks, width, looking) for width in _SKELETON_WIDTHS[:SKELETON_LINES]
            ]
        else:
            lines = [_HardwareLine(self._looks, line) for line in hardware_rows(look, self._hardware)]
        for number, line in enumerate(lines):
            if number:
                self._lines.addWidget(rule())
            self._lines.addWidget(line)


class _HardwareLine(QWidget):
    def __init__(self, looks: LookSource, line: HardwareRow) -> None:
        super().__init__()
        look = looks.look
        title, detail = ElidedLabel("label"), ElidedLabel("caption", "faint")
        title.setText(line.title)
        detail.setText(line.detail)
        chip = Chip("success" if line.is_good else "neutral")
        chip.setText(look.text("ui.hardware.good" if line.is_good else "ui.hardware.no_value"))
        says = look.text("ui.hardware.row", title=line.title, detail=line.detail, verdict=chip.text())
        self.setAccessibleName(says)
        layout = row(IconLabel(looks, line.icon_name), gap=12)
        layout.addLayout(column(title, detail, gap=0), 1)
        layout.addWidget(chip)
        self.setLayout(layout)


class _SkeletonLine(QWidget):
    """Where a line will be: the ground of its icon and words."""

    def __init__(self, looks: LookSource, share: float, says: str) -> None:
        super().__init__()
        self._looks = looks
        self._share = share
        self.setAccessibleName(says)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(240, round(36 * self._looks.look.zoom))

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._looks.look.color("hover"))
        room, middle = self.width() - 44, self.height() / 2
        painter.drawRoundedRect(QRectF(0, middle - 10, 20, 20), 5, 5)
        painter.drawRoundedRect(QRectF(32, middle - 12, room * self._share, 10), 4, 4)
        painter.drawRoundedRect(QRectF(32, middle + 4, room * self._share * 0.6, 8), 4, 4)
