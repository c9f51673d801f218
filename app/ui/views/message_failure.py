"""Why an answer broke off, under what came of it."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.findings import Finding
from app.ui.markdown.part import Part
from app.ui.model_view import ModelPhase, ModelView
from app.ui.theme.look import LookSource
from app.ui.views.ways_out import WayOut, WaysOut, price_words, way_words, ways_after_answer
from app.ui.views.words import say
from app.ui.widgets.failure_card import FailureCard
from app.ui.window_actions import action_in_window


class MessageFailure(Part):
    """A failure card with the ways out there are now.

    Signals:
        asked: a `WayOut`, `details` or `report`.
    """

    asked = Signal(str)

    def __init__(
        self, looks: LookSource, finding: Finding, view: ModelView | None, parent: QWidget | None = None
    ) -> None:
        """Make one; `view` as in `show_view`."""
        super().__init__(parent)
        self._looks = looks
        self._finding = finding
        self._ways = WaysOut()
        self._card = FailureCard(looks)
        self._card.setParent(self)
        self._card.primary_requested.connect(lambda: self._ask(self._ways.primary))
        self._card.secondary_requested.connect(lambda: self._ask(self._ways.secondary))
        self._card.details_requested.connect(lambda: self.asked.emit("details"))
        self._card.report_requested.connect(lambda: self.asked.emit("report"))
        self.show_view(view)

    def show_view(self, view: ModelView | None) -> None:
        """Offer what helps in this state of the model; None for an older answer: nothing does any more."""
        texts = self._looks.look.texts
        view = view or ModelView()
        ways = self._ways = ways_after_answer(view, self._finding)
        said = {way: say(texts, way_words(view, way)) for way in (ways.primary, ways.secondary) if way}
        price = None
        if WayOut.STEP in said:
            separator = self._looks.look.text("ui.list_separator")
            price = separator.join(say(texts, words) for words in price_words(view)) or None
        advice = action_in_window(texts, self._finding)
        done = [texts.text("ui.chat.reload")] if view.phase is ModelPhase.READY else []
        if any(_is_same(advice, text) for text in (*said.values(), *done)):
            advice = ""  # a button says it, or it was done
        primary = said[ways.primary] if ways.primary else None
        secondary = said[ways.secondary] if ways.secondary else None
        self._card.show_failure(self._finding, advice, primary, secondary, price, None)

    def fit(self, width: int) -> int:
        self._card.resize(width, self._card.height())
        layout = self._card.layout()
        height = layout.totalHeightForWidth(width) if layout is not None else 0
        self._card.setGeometry(0, 0, width, height)
        self.resize(width, height)
        return height

    def _ask(self, way: WayOut | None) -> None:
        if way is not None:
            self.asked.emit(way.value)


def _is_same(advice: str, button: str) -> bool:
    """Say whether a sentence is the text of a button, but for its full stop."""
    return advice.strip().rstrip(".。").casefold() == button.strip().rstrip(".。").casefold()
