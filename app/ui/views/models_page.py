"""The Models page: the list of what there is, and everything about the one that is chosen."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QResizeEvent, QShortcut, QShowEvent
from PySide6.QtWidgets import QBoxLayout, QScrollArea, QStackedWidget, QWidget

from app.ui.model_page_view import ModelPageView
from app.ui.theme.look import LookSource
from app.ui.views.layer_card import LayerCard
from app.ui.views.model_details.comparison import ModelComparison
from app.ui.views.model_details.comparison_rows import Comparison
from app.ui.views.model_details.details import ModelDetails
from app.ui.views.model_details.facts import ModelDetailsFacts
from app.ui.views.model_findings import ModelFindings
from app.ui.views.model_head import ModelHead
from app.ui.views.model_list import ModelList
from app.ui.views.model_palette import ModelPalette
from app.ui.views.model_state import ModelState
from app.ui.views.model_truth import ModelTruth
from app.ui.views.slices import REST, Turns
from app.ui.views.step_cards import StepCards
from app.ui.widgets.buttons import Button
from app.ui.widgets.labels import IconLabel, TextLabel
from app.ui.widgets.layouts import column, hold_layouts, hold_painting, holder, row, scrolled

_STACKED_BELOW: Final = 760
_MARGINS: Final = (22, 16, 18, 18)


class ModelsPage(QWidget):
    """Shows the library and one model of it, which need not be the one that is loaded.

    Signals:
        shown: the page came into sight.
        load_requested, chat_requested: as `ModelHead` has them.
        step_chosen: index of the step the load button means.
        finding_action_requested: the `Finding` whose button was pressed.
        engine_requested, again_requested, folder_requested: about the file shown.
        weights_requested, weights_cancelled: all its weights are to be read, or no longer.
    """

    shown = Signal()
    load_requested = Signal()
    chat_requested = Signal()
    step_chosen = Signal(int)
    finding_action_requested = Signal(object)
    engine_requested = Signal()
    again_requested = Signal()
    folder_requested = Signal()
    weights_requested = Signal()
    weights_cancelled = Signal()

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._view = ModelPageView()
        self.list = ModelList(looks)
        self.head = ModelHead(looks)
        self.state = ModelState(looks)
        self.layers = LayerCard(looks)
        self.steps = StepCards(looks)
        self.findings = ModelFindings(looks)
        self.truth = ModelTruth(looks)
        self.details = ModelDetails(looks)
        self.comparison = ComparisonPage(looks)
        self.compare_popup = ModelPalette(looks, self)
        self.empty = NothingChosen(looks)
        self._details: ModelDetailsFacts | None = None
        self._shown: dict[QWidget, tuple[object, ...]] = {}
        self._turns = Turns(self, self._show_parts)
        self._pages = QStackedWidget()
        self._lay_out()
        self._connect()
        self.show_view(self._view)
        self.show_comparison(None)
        self._turns.finish()

    @property
    def is_settled(self) -> bool:
        """All of what was told last is shown."""
        return not self._turns.is_running

    def show_view(self, view: ModelPageView) -> None:
        """Show a model: its head at once, the rest bit by bit from the next turn of the event loop on."""
        before, self._view = self._view, view
        if view.path != before.path:
            self.show_comparison(None)
            self._area.verticalScrollBar().setValue(0)
        self.head.show_view(view)
        self._turns.ask()

    def show_details(self, details: ModelDetailsFacts | None) -> None:
        """Show the depth of the model likewise; None while it is not known: nothing compares with it."""
        self._details = details
        self.head.compare.setEnabled(details is not None)
        self._turns.ask()

    def prepare(self) -> Iterator[None]:
        """Make what a model will need, bit by bit, so that the first one is there at once."""
        for part in (self.steps, self.truth, self.details):
            yield from part.prepare()

    def show_comparison(self, comparison: Comparison | None) -> None:
        """Show two models side by side; None shows the one again."""
        self.comparison.table.show_comparison(comparison)
        one = self.empty if self._view.path is None else self._area
        self._pages.setCurrentWidget(one if comparison is None else self.comparison)

    def open_compare_popup(self) -> None:
        """Let the person choose the other model, below the button."""
        popup, anchor = self.compare_popup, self.head.compare
        popup.open_at(anchor)
        popup.move(popup.pos() - QPoint(popup.width() - anchor.width(), 0))

    def focus_search(self) -> None:
        """Put the cursor into the search of the table in view, or into that of the list."""
        section = self.comparison.table.section if self.comparison.isVisible() else self.details.searched
        if section is not None and section.isVisible():
            section.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
            self._area.ensureWidgetVisible(section.search)
        else:
            self.list.focus_search()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.shown.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        room = event.size().width() - self.list.width()
        is_narrow = room < _STACKED_BELOW * self._looks.look.zoom
        sides, stacked = QBoxLayout.Direction.LeftToRight, QBoxLayout.Direction.TopToBottom
        self._lower.setDirection(stacked if is_narrow else sides)

    def _show_parts(self) -> Iterator[object]:
        """Show what is another, one part after the other, and paint it all at the end."""
        parts = [(part, show) for part, show, facts in self._parts() if self._is_news(part, facts)]
        if not parts:
            return
        paint = hold_painting(self._body)
        try:
            for part, show in parts:
                yield REST
                let_go = hold_layouts(part)
                try:
                    yield from show()
                finally:
                    let_go()
            yield REST
            yield REST  # what is laid out has its surroundings laid out as well
        finally:
            paint()

    def _parts(self) -> Iterator[tuple[QWidget, Callable[[], Iterator[None]], tuple[object, ...]]]:
        """Yield each part, how it is shown, and what it shows."""
        view, details = self._view, self._details
        facts, plans = view.facts, view.plans
        of_state = (view.path, view.is_checking, facts, view.failure, view.plan, view.is_refused)
        yield self.state, partial(self._show_at_once, self.state, view), of_state
        yield self.layers, partial(self._show_at_once, self.layers, view), of_state
        of_steps = (facts, plans, view.steps, view.chosen, view.budget)
        yield self.steps, partial(self.steps.show_in_steps, view), of_steps
        of_findings = replace(view, chosen=0, last_load=None, loaded_at="")
        yield self.findings, partial(self.findings.show_in_steps, view), (of_findings,)
        of_truth = (facts, view.plan, view.last_load, view.loaded_at, view.is_checking, view.wishes)
        yield self.truth, partial(self.truth.show_in_steps, view), of_truth
        yield self.details, partial(self.details.show_in_steps, details), (details,)

    def _is_news(self, part: QWidget, shown: tuple[object, ...]) -> bool:
        before, self._shown[part] = self._shown.get(part), shown
        return before != shown

    def _show_at_once(self, part: ModelState | LayerCard, view: ModelPageView) -> Iterator[None]:
        part.show_view(view)
        yield

    def _lay_out(self) -> None:
        self._lower = row(gap=12)
        self._lower.addWidget(self.findings, 11)
        self._lower.addWidget(self.truth, 10)
        body = column(
            self.head,
            self.state,
            self.layers,
            self.steps,
            self._lower,
            self.details,
            None,
            gap=12,
            margins=_MARGINS,
        )
        self._body = holder(body)
        self._area: QScrollArea = scrolled(self._body)
        self._area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        for page in (self.empty, self._area, self.comparison):
            self._pages.addWidget(page)
        line = row(self.list, gap=0)
        line.addWidget(self._pages, 1)
        self.setLayout(line)

    def _connect(self) -> None:
        find = QShortcut(QKeySequence(QKeySequence.StandardKey.Find), self)
        find.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        find.activated.connect(self.focus_search)
        self.head.load_requested.connect(self.load_requested)
        self.head.chat_requested.connect(self.chat_requested)
        self.head.compare_requested.connect(self.open_compare_popup)
        self.comparison.back.clicked.connect(lambda: self.show_comparison(None))
        self.steps.step_chosen.connect(self.step_chosen)
        self.findings.finding_action_requested.connect(self.finding_action_requested)
        self.findings.engine_requested.connect(self.engine_requested)
        self.findings.weights.check_requested.connect(self.weights_requested)
        self.findings.weights.cancel_requested.connect(self.weights_cancelled)
        self.state.again_requested.connect(self.again_requested)
        self.state.folder_requested.connect(self.folder_requested)
        self.empty.file.clicked.connect(self.list.file_requested)
        self.empty.folder.clicked.connect(self.list.folder_requested)


class ComparisonPage(QWidget):
    """Two models side by side, and the way back."""

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self.back = Button(looks, "ghost", "left")
        self.table = ModelComparison(looks)
        body = column(row(self.back, None), self.table, gap=10, margins=_MARGINS)
        body.setStretch(1, 1)
        area = scrolled(holder(body))
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setLayout(column(area))
        looks.changed.connect(self._set_words)
        self._set_words()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.back.click()
        else:
            super().keyPressEvent(event)

    def _set_words(self) -> None:
        self.back.setText(self._looks.look.text("ui.models.compare_back"))


class NothingChosen(QWidget):
    """No model is chosen: what to do about it."""

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._title = TextLabel("title", wrap=True)
        self._hint = TextLabel("body", "soft", wrap=True)
        self.folder = Button(looks, "primary", "folder")
        self.file = Button(looks, "secondary", "plus")
        for words in (self._title, self._hint):
            words.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        inner = holder(
            column(
                row(None, IconLabel(looks, "models", "text_faint", 48), None),
                self._title,
                self._hint,
                8,
                row(None, self.folder, self.file, None),
                gap=10,
            )
        )
        inner.setMaximumWidth(520)
        centred = row(None, gap=0, margins=(24, 24, 24, 24))
        centred.addWidget(inner, 1000)
        centred.addStretch(1)
        self.setLayout(column(None, centred, None))
        self._has_models = False
        looks.changed.connect(self._show)
        self._show()

    def show_state(self, *, has_models: bool) -> None:
        """Say whether there is anything to choose from."""
        self._has_models = has_models
        self._show()

    def _show(self) -> None:
        look = self._looks.look
        key = "choose" if self._has_models else "nothing"
        self._title.setText(look.text(f"ui.models.empty.{key}"))
        self._hint.setText(look.text(f"ui.models.empty.{key}.hint"))
        self.folder.setText(look.text("ui.models.add_folder"))
        self.file.setText(look.text("ui.models.add_file"))
