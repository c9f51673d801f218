"""What the chat page shows before there is a model: this PC, the demo model, a place to drop a file."""

from collections.abc import Collection
from pathlib import Path
from typing import Final

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QFrame, QSizePolicy, QWidget

from app.hardware.facts import HardwareFacts
from app.ui.theme.look import LookSource
from app.ui.views.hardware_card import HardwareCard
from app.ui.widgets.buttons import Button
from app.ui.widgets.labels import Chip, IconLabel, TextLabel
from app.ui.widgets.layouts import card, column, row

WIDTH_MOST: Final = 940
CORNER: Final = 12
NAME_WIDTH_MOST: Final = 360
"""Of the last model's name on its button; a longer one is elided, and whole in the tool tip."""


class FirstRunView(QWidget):
    """Hardware card, demo model, drop zone.

    Signals:
        file_requested: the system's file dialog is wanted.
        default_requested: the demo model is to be picked and loaded.
        last_requested: so is the model that was loaded last.
    """

    file_requested = Signal()
    default_requested = Signal()
    last_requested = Signal()

    def __init__(self, looks: LookSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._looks = looks
        self._default: Path | None = None
        self._default_size: int | None = None
        self._last: Path | None = None
        self._title = TextLabel("headline")
        self._lead = TextLabel("body", "soft", wrap=True)
        self.hardware = HardwareCard(looks)
        self.last_button = Button(looks, "primary", "play", size="large")
        self.default_button = Button(looks, "primary", "play", size="large")
        self.file_button = Button(looks, "secondary", "folder")
        self._demo = _DemoWords()
        self._own_title = TextLabel("subtitle", wrap=True)
        self._own_detail = TextLabel("caption", "faint", wrap=True)
        self._lay_out()
        self.default_button.clicked.connect(self.default_requested)
        self.last_button.clicked.connect(self.last_requested)
        self.file_button.clicked.connect(self.file_requested)
        looks.changed.connect(self._apply_look)
        self._apply_look()

    def show_hardware(self, hardware: HardwareFacts | None, excluded: Collection[str] = ()) -> None:
        """Show the machine; None = not looked at yet. `excluded`: keys of GPUs engines are kept from."""
        self.hardware.show_hardware(hardware, excluded)

    def show_arriving(self, hardware: HardwareFacts, excluded: Collection[str] = ()) -> None:
        """Show what is known so far while probes are under way."""
        self.hardware.show_arriving(hardware, excluded)

    def show_default_model(self, path: Path | None, size_bytes: int | None = None) -> None:
        """Offer the demo model; None = it is not installed."""
        self._default, self._default_size = path, size_bytes
        self._apply_look()

    def show_last_model(self, path: Path | None) -> None:
        """Offer the model loaded last, before anything else; None = there is none any more."""
        self._last = path
        self._apply_look()

    def _lay_out(self) -> None:
        demo = self._demo
        words = column(row(demo.chip, None), demo.title, demo.text, None, gap=8)
        words.addLayout(row(self.default_button, None))
        words.addWidget(demo.foot)
        demo_card = card(words, 16)
        demo_card.setMinimumWidth(250)
        self.hardware.setMinimumWidth(300)
        cards = row(gap=14)
        cards.addWidget(self.hardware, 10)
        cards.addWidget(demo_card, 9)
        zone = _DropZone(self._looks)
        texts = column(self._own_title, self._own_detail, gap=2)
        line = row(IconLabel(self._looks, "drop", "accent_text", 32), gap=16, margins=(20, 12, 18, 12))
        line.addLayout(texts, 1)
        line.addWidget(self.file_button)
        zone.setLayout(line)
        inner = column(self._title, self._lead, 8, row(self.last_button, None), 8, gap=4)
        inner.addLayout(cards)
        inner.addSpacing(8)
        inner.addWidget(zone)
        self.setLayout(inner)
        self.setMaximumWidth(WIDTH_MOST)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)

    def _apply_look(self) -> None:
        look = self._looks.look
        self.setMaximumWidth(round(WIDTH_MOST * max(1.0, look.zoom)))
        self._title.setText(look.text("ui.first_run.title"))
        self._lead.setText(look.text("ui.first_run.lead"))
        self._demo.chip.setText(look.text("ui.first_run.default_chip"))
        self._demo.title.setText(look.text("ui.first_run.default_title"))
        self._demo.text.setText(look.text("ui.first_run.default_text"))
        self._demo.foot.setText(self._foot())
        self.last_button.setVisible(self._last is not None)
        if self._last is not None:
            metrics, room = QFontMetrics(look.font("body")), round(NAME_WIDTH_MOST * max(1.0, look.zoom))
            name = metrics.elidedText(self._last.stem, Qt.TextElideMode.ElideMiddle, room)
            self.last_button.setText(look.text("ui.first_run.last_button", name=name))
            self.last_button.setToolTip(str(self._last))
        self.default_button.set_kind("primary" if self._last is None else "secondary")
        self.default_button.setText(look.text("ui.first_run.default_button"))
        self.default_button.setAccessibleDescription(self._demo.foot.text())
        self.default_button.setVisible(self._default is not None)
        self.file_button.setText(look.text("ui.first_run.choose_file"))
        self._own_title.setText(look.text("ui.first_run.own_title"))
        self._own_detail.setText(look.text("ui.first_run.own_detail"))

    def _foot(self) -> str:
        look = self._looks.look
        if self._default is None:
            return look.text("ui.first_run.no_default")
        if self._default_size is None:
            return look.text("ui.first_run.default_here")
        return look.text("ui.first_run.default_size", size=self._default_size)


class _DemoWords:
    """The words of the demo model's card."""

    def __init__(self) -> None:
        self.chip = Chip("accent")
        self.title = TextLabel("title")
        self.text = TextLabel("body", "soft", wrap=True)
        self.foot = TextLabel("caption", "faint", wrap=True)


class _DropZone(QFrame):
    """A dashed outline: something may be dropped here, as anywhere on the window."""

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        looks.changed.connect(self.update)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self._looks.look.color("control"), 1.5, Qt.PenStyle.DashLine))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), CORNER, CORNER)
