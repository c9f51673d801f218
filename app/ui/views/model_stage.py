"""The middle of the chat page when the model has something to say: first run, plan, load, failure."""

from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QScrollArea, QStackedWidget, QWidget

from app.findings import Finding, Severity
from app.ui.model_view import ModelPhase, ModelView
from app.ui.theme.look import LookSource
from app.ui.theme.tokens import LAYOUT
from app.ui.views.first_run import FirstRunView
from app.ui.views.loading_card import LoadingCard
from app.ui.views.planned_card import PlannedCard
from app.ui.views.ways_out import WayOut, price_words, way_words, ways_after_load
from app.ui.views.words import say
from app.ui.widgets.failure_card import FailureCard
from app.ui.widgets.labels import TextLabel
from app.ui.widgets.layouts import column, holder, row, scrolled
from app.ui.window_actions import action_in_window

CARD_WIDTH: Final = 560
COMPACT_SHARE: Final = 0.6
NO_LIMIT: Final = 16_777_215
"""QWIDGETSIZE_MAX of Qt."""
LOADING_PHASES: Final = (ModelPhase.CHECKING, ModelPhase.LOADING, ModelPhase.WARMING)


def refusal(view: ModelView) -> Finding | None:
    """Return why there is no model to load: the failure, or the gravest finding of a file without a plan."""
    if view.phase is ModelPhase.FAILED:
        return view.failure or _first_error(view)
    if view.phase is ModelPhase.PLANNED and view.plan is None:
        return _first_error(view) or (view.findings[0] if view.findings else None)
    return None


def is_worth_showing(view: ModelView, *, has_messages: bool, said_by_message: Finding | None = None) -> bool:
    """The stage has something to say; beside messages only what is under way or went wrong.

    Args:
        said_by_message: What the card of the newest answer says already.
    """
    why = refusal(view)
    if has_messages and why is not None and why == said_by_message:
        return False
    if why is not None or view.phase in LOADING_PHASES:
        return True
    return not has_messages


class ModelStage(QWidget):
    """Shows what is going on with the model, with the one button that goes on from there.

    Signals:
        load_requested: load as planned. pick_requested: choose another model. cancel_requested: stop loading.
        step_requested: the `LadderStep` to load with.
        report_requested: a report of the failure is wanted.
    """

    load_requested = Signal()
    pick_requested = Signal()
    cancel_requested = Signal()
    step_requested = Signal(object)
    report_requested = Signal()

    def __init__(self, looks: LookSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._looks = looks
        self._view = ModelView()
        self._is_compact = False
        self.first_run = FirstRunView(looks)
        self.planned = PlannedCard(looks)
        self.loading = LoadingCard(looks)
        self.failure = FailureCard(looks)
        self._words = TextLabel("title", "faint", wrap=True)
        self._words.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._pages = QStackedWidget()
        self._page_of: dict[QWidget, QScrollArea] = {}
        for content in (self.first_run, self.planned, self.loading, self.failure, self._words):
            self._add_page(content)
        layout = column(gap=0)
        layout.addWidget(self._pages)
        self.setLayout(layout)
        self._connect()
        looks.changed.connect(self._show)
        self._show()

    def show_view(self, view: ModelView) -> None:
        """Show what is going on."""
        self._view = view
        self._show()

    def set_compact(self, is_compact: bool) -> None:
        """Take no more height than the content needs, instead of all there is."""
        self._is_compact = is_compact
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    @property
    def content(self) -> QWidget:
        """What is in front."""
        page = self._pages.currentWidget()
        return next(content for content, held in self._page_of.items() if held is page)

    def _add_page(self, content: QWidget) -> None:
        centred = row(None, gap=0, margins=(24, 8, 24, 8))
        centred.addWidget(content, 1000)
        centred.addStretch(1)
        page = scrolled(holder(column(None, centred, None, gap=0)))
        self._page_of[content] = page
        self._pages.addWidget(page)

    def _connect(self) -> None:
        self.loading.cancel_requested.connect(self.cancel_requested)
        self.failure.primary_requested.connect(self._on_primary)
        self.failure.secondary_requested.connect(self.pick_requested)
        self.failure.report_requested.connect(self.report_requested)

    def _show(self) -> None:
        view = self._view
        zoom = max(1.0, self._looks.look.zoom)
        for card in (self.planned, self.loading):
            card.setMaximumWidth(round(CARD_WIDTH * zoom))
        self.failure.setMaximumWidth(round(LAYOUT["prose_max"] * zoom))
        content = self._content_of(view)
        self._pages.setCurrentWidget(self._page_of[content])
        self._fit()

    def _fit(self) -> None:
        place = self.parentWidget()
        if not self._is_compact or place is None:
            self.setMinimumHeight(0)
            self.setMaximumHeight(NO_LIMIT)
            return
        self.setFixedHeight(min(self._needed_height(), int(place.height() * COMPACT_SHARE)))

    def _needed_height(self) -> int:
        inner = self._page_of[self.content].widget()
        layout = inner.layout()
        if layout is None or not layout.hasHeightForWidth():
            return inner.sizeHint().height()
        return layout.totalHeightForWidth(self.width())

    def _content_of(self, view: ModelView) -> QWidget:
        why = refusal(view)
        if why is not None:
            self._show_failure(view, why)
            return self.failure
        if view.phase is ModelPhase.NONE:
            return self.first_run
        if view.phase in LOADING_PHASES:
            self.loading.show_view(view)
            return self.loading
        if view.phase is ModelPhase.UNLOADING:
            self._words.setText(self._looks.look.text("ui.state.unloading"))
            return self._words
        self.planned.show_view(view)
        return self.planned

    def _show_failure(self, view: ModelView, why: Finding) -> None:
        look = self._looks.look
        ways = ways_after_load(view)
        said = {way: say(look.texts, way_words(view, way)) for way in (ways.primary, ways.secondary) if way}
        price: str | None = None
        if ways.primary is WayOut.STEP:
            changes = price_words(view)
            price = look.text("ui.list_separator").join(say(look.texts, words) for words in changes) or None
        # where a button does it, the sentence of the command line is not needed
        advice = "" if ways.primary is WayOut.STEP else action_in_window(look.texts, why)
        primary = said[ways.primary] if ways.primary else None
        secondary = said[ways.secondary] if ways.secondary else None
        self.failure.show_failure(why, advice, primary, secondary, price, "\n".join(view.log_tail))

    def _on_primary(self) -> None:
        match ways_after_load(self._view).primary:
            case WayOut.STEP:
                self.step_requested.emit(self._view.next_step)
            case WayOut.RELOAD:
                self.load_requested.emit()
            case _:
                self.pick_requested.emit()


def _first_error(view: ModelView) -> Finding | None:
    return next((f for f in view.findings if f.severity is Severity.ERROR), None)
