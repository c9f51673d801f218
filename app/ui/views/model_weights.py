"""What the weights of a model hold: a sample of them, or all when the person asks."""

from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.ui.model_page_view import ModelPageView, WeightsView
from app.ui.theme.look import LookSource
from app.ui.widgets.buttons import Button
from app.ui.widgets.labels import IconLabel, TextLabel
from app.ui.widgets.layouts import column, row
from app.ui.widgets.progress_line import ProgressLine

_LINE: Final = 6
_SIGNS: Final = {
    "sampling": ("clock", "text_faint"),
    "checking": ("clock", "text_faint"),
    "sampled": ("ok", "success_text"),
    "full": ("ok", "success_text"),
    "sample_bad": ("warning", "warning_text"),
    "full_bad": ("warning", "warning_text"),
}


class WeightsRow(QWidget):
    """One line about the weights; a button that has all of them read, and a bar meanwhile.

    Signals:
        check_requested: all weights are to be read.
        cancel_requested: no longer.
    """

    check_requested = Signal()
    cancel_requested = Signal()

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._sign = IconLabel(looks, "info", "text_faint")
        self._words = TextLabel("body", wrap=True)
        self._detail = TextLabel("caption", "soft", wrap=True)
        self.progress = ProgressLine(looks, thickness=_LINE)
        self.check = Button(looks, "secondary", size="compact")
        self.cancel = Button(looks, "secondary", size="compact")
        line = row(column(self._sign, None), gap=10)
        line.addLayout(column(self._words, self._detail, self.progress, None, gap=2), 1)
        line.addLayout(column(self.check, self.cancel, None))
        self.setLayout(line)
        self.check.clicked.connect(self.check_requested)
        self.cancel.clicked.connect(self.cancel_requested)

    def show_view(self, view: ModelPageView) -> None:
        """Show what is known; the owner hides the row where that is nothing."""
        look, weights = self._looks.look, view.weights
        state = weights_state(weights)
        if state is None:
            return
        facts = view.facts
        values = {
            "size": facts.size_bytes if facts is not None else None,
            "tensors": facts.tensor_count if facts is not None else None,
            "share": weights.progress or 0.0,
        }
        self._sign.set_icon(*_SIGNS[state])
        self._words.setText(look.text(f"ui.models.weights.{state}"))
        self._detail.setText(look.text(f"ui.models.weights.{state}.detail", **values))
        is_running = weights.progress is not None
        had_focus = self.check.hasFocus() or self.cancel.hasFocus()
        self.check.setText(look.text("ui.models.weights.check_all"))
        self.cancel.setText(look.text("ui.models.weights.cancel"))
        self.check.setVisible(state in ("sampled", "sample_bad"))
        self.cancel.setVisible(is_running)
        if had_focus:
            (self.cancel if is_running else self.check).setFocus()
        self.progress.setVisible(is_running)
        if weights.progress is not None:
            self.progress.show_fraction(weights.progress)
        else:
            self.progress.end()


def weights_state(weights: WeightsView) -> str | None:
    """Return the end of the text key; None where nothing is known and nothing is under way."""
    if weights.progress is not None:
        return "checking"
    if weights.is_sampling:
        return "sampling"
    if weights.check is None:
        return None
    state = "full" if weights.check.is_full else "sample"
    if weights.check.findings:
        return f"{state}_bad"
    return "full" if weights.check.is_full else "sampled"
