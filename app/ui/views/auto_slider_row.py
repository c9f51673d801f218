"""A value that is left to Moxie or set on a slider."""

from typing import Final

from PySide6.QtCore import Signal

from app.ui.theme.look import LookSource
from app.ui.views.parameter_rows import SliderRow
from app.ui.widgets.controls import Segmented

AUTO: Final = "auto"
MANUAL: Final = "manual"


class AutoSliderRow(SliderRow):
    """On Auto the knob stands where Auto put it; moving it, or Manual, takes the value over.

    Signals:
        auto_chosen: the value is left to Moxie.
    """

    auto_chosen = Signal()

    def __init__(self, looks: LookSource, key: str) -> None:
        self.mode = Segmented(looks)  # first: the look is applied while the row is made
        super().__init__(looks, key)
        self._head.addWidget(self.mode)
        self.mode.chosen.connect(self._on_mode_chosen)
        self.slider.valueChanged.connect(lambda: self.mode.set_current(MANUAL))

    def show_mode(self, *, is_auto: bool) -> None:
        """Show who chose the value."""
        self.mode.set_current(AUTO if is_auto else MANUAL)

    def _on_mode_chosen(self, mode: str) -> None:
        if mode == MANUAL:
            self.take_over()
            return
        self.forget_move()
        self.auto_chosen.emit()

    def _apply_look(self) -> None:
        super()._apply_look()
        look = self._looks.look
        self.mode.set_items([(AUTO, look.text("ui.moe.auto")), (MANUAL, look.text("ui.moe.manual"))])
        self.mode.setAccessibleName(self._name.text())
