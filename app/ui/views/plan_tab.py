"""The plan: why it is so, what was found, what was asked and what is true, and where everything lies."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QWidget

from app.ui.model_view import ModelPhase, ModelView
from app.ui.theme.look import LookSource
from app.ui.views.applied_rows import applied_rows, is_plan_of_load
from app.ui.views.applied_table import AppliedTable
from app.ui.views.failure_note import FailureNote
from app.ui.views.finding_actions import finding_actions
from app.ui.views.ladder_cards import LadderCards
from app.ui.views.plan_head import EmptyPlan, PlanHead, SectionTitle
from app.ui.views.plan_memory import PlanMemory
from app.ui.views.plan_speed import gain_lines
from app.ui.views.plan_words import steps_of
from app.ui.views.slices import Turns
from app.ui.views.words import say
from app.ui.widgets.buttons import Button
from app.ui.widgets.findings_view import FindingsList
from app.ui.widgets.labels import TextLabel
from app.ui.widgets.layouts import column, hold_layouts, holder, row, scrolled

_ROWS_OF_A_PLAN: Final = 10
_FINDINGS_SHOWN: Final = 2
"""More are folded, so that the table below stays in sight on a small screen."""
_MARGINS: Final = (8, 8, 8, 14)


class PlanTab(QWidget):
    """The first tab of the dock.

    Signals:
        step_requested: the `LadderStep` to load with.
        finding_action_requested: the `Finding` whose button was pressed (`views/finding_actions.py`).
        pick_requested: a model is to be picked.
        measure_requested: the speed of the plan is to be measured.
    """

    measure_requested = Signal()
    step_requested = Signal(object)
    finding_action_requested = Signal(object)
    pick_requested = Signal()

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._view = ModelView()
        self._is_outdated = True
        self._turns = Turns(self, self._parts)
        self._shows_all_findings = False
        self._empty = EmptyPlan(looks)
        self._head = PlanHead(looks)
        self.measure_button = self._head.measure
        self.failure = FailureNote(looks)
        self._findings_title = SectionTitle()
        self._findings = FindingsList(looks, narrow=True)
        self._more = Button(looks, "link", "down", size="compact")
        self._table_title = SectionTitle()
        self.table = AppliedTable(looks)
        self._table_note = TextLabel("caption", "soft", wrap=True)
        self._memory = PlanMemory(looks)
        self._ladder_title = SectionTitle()
        self._ladder = LadderCards(looks)
        self._gains_title = SectionTitle()
        self._gains = TextLabel("caption", wrap=True)
        self._lay_out()
        self._connect()

    def show_view(self, view: ModelView) -> None:
        """Show the plan of a model, and what became of it. Cheap while nothing of it has changed."""
        self._take(view)
        if self._is_outdated and self.isVisible():
            self._show()

    def show_view_in_turns(self, view: ModelView) -> None:
        """Do the same bit by bit, from the next turn of the event loop on."""
        self._take(view)
        if self._is_outdated and self.isVisible():
            self._turns.ask()

    def prepare(self) -> Iterator[None]:
        """Make what a plan will need, bit by bit, so that the first one is there at once."""
        yield from self.table.prepare(_ROWS_OF_A_PLAN)
        yield from self._ladder.prepare()

    @property
    def is_settled(self) -> bool:
        """All of the last view is shown."""
        return not self._is_outdated and not self._turns.is_running

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._is_outdated:
            self._turns.ask()

    def _take(self, view: ModelView) -> None:
        view = replace(view, tokens_per_second=None, command=())
        if view != self._view:
            if view.path != self._view.path:
                self._shows_all_findings = False
            self._view = view
            self._is_outdated = True

    def _lay_out(self) -> None:
        self._findings_part = holder(
            column(self._findings_title, self._findings, row(self._more, None), gap=8)
        )
        self._table_part = holder(column(self._table_title, self.table, self._table_note, gap=6))
        self._ladder_part = holder(column(self._ladder_title, self._ladder, gap=8))
        self._gains_part = holder(column(self._gains_title, self._gains, gap=8))
        page = column(
            self._empty,
            self.failure,
            self._head,
            self._findings_part,
            self._table_part,
            self._memory,
            self._ladder_part,
            self._gains_part,
            None,
            gap=12,
            margins=_MARGINS,
        )
        area = scrolled(holder(page))
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setLayout(column(area))

    def _connect(self) -> None:
        self._empty.pick_requested.connect(self.pick_requested)
        self.failure.step_requested.connect(self.step_requested)
        self.failure.repair_requested.connect(self.finding_action_requested)
        self._head.measure_requested.connect(self.measure_requested)
        self._ladder.step_requested.connect(self.step_requested)
        self._findings.action_requested.connect(self.finding_action_requested)
        self._more.clicked.connect(self._on_more_clicked)
        self._looks.changed.connect(self._on_look_changed)

    def _on_look_changed(self) -> None:
        self._is_outdated = True
        if self.isVisible():
            self._show()

    def _on_more_clicked(self) -> None:
        self._shows_all_findings = not self._shows_all_findings
        self._show_findings()

    def _show(self) -> None:
        self._turns.ask()
        self._turns.finish()

    def _parts(self) -> Iterator[None]:
        """Show the view part by part, and lay everything out once at the end."""
        self._is_outdated = False
        let_go = hold_layouts(self)
        try:
            yield from self._show_parts()
        finally:
            let_go()

    def _show_parts(self) -> Iterator[None]:
        self._show_head()
        yield
        self._show_findings()
        yield
        yield from self._show_table()
        self._memory.show_view(self._view)
        self._memory.setVisible(self._view.plan is not None and self._view.facts is not None)
        yield
        self._show_ladder()
        yield
        self._show_gains()

    def _show_head(self) -> None:
        view = self._view
        self._empty.show_view(view)
        self._empty.setVisible(view.phase in (ModelPhase.NONE, ModelPhase.CHECKING))
        self.failure.show_view(view)
        self.failure.setVisible(view.phase is ModelPhase.FAILED and view.failure is not None)
        self._head.show_view(view)

    def _show_table(self) -> Iterator[None]:
        look, view = self._looks.look, self._view
        rows = applied_rows(view)
        self._table_part.setVisible(bool(rows))
        count = sum(1 for line in rows if line.marked)
        key = "ui.plan.table.difference" if count == 1 else "ui.plan.table.differences"
        chip = look.text(key, count=count) if count else None
        self._table_title.show_title(look.text("ui.plan.table.title"), chip)
        self._table_note.setVisible(view.is_loaded and not is_plan_of_load(view))
        self._table_note.setText(
            look.text("ui.plan.table.next_load" if view.needs_reload else "ui.plan.table.other_plan")
        )
        yield from self.table.prepare(len(rows))
        self.table.show_rows(rows)
        yield

    def _show_ladder(self) -> None:
        view = self._view
        self._ladder_part.setVisible(view.plan is not None and len(steps_of(view.plan)) > 1)
        self._ladder_title.show_title(self._looks.look.text("ui.plan.ladder.title"))
        self._ladder.show_view(view)

    def _show_gains(self) -> None:
        look, view = self._looks.look, self._view
        lines = gain_lines(view.gains, view.plan.expert_cache) if view.plan is not None else ()
        self._gains_part.setVisible(bool(lines))
        self._gains_title.show_title(look.text("ui.plan.gains.title"))
        self._gains.setText("\n".join(say(look.texts, words) for words in lines))

    def _show_findings(self) -> None:
        look, view = self._looks.look, self._view
        findings = tuple(finding for finding in view.findings if finding != view.failure)
        is_judged = view.phase not in (ModelPhase.NONE, ModelPhase.CHECKING)
        self._findings_part.setVisible(is_judged and (bool(findings) or view.failure is None))
        shown = findings if self._shows_all_findings else findings[:_FINDINGS_SHOWN]
        actions = finding_actions(shown, view.wishes)
        self._findings.show_findings(shown, {code: say(look.texts, w) for code, w in actions.items()})
        hidden = len(findings) - _FINDINGS_SHOWN
        self._more.setVisible(hidden > 0)
        self._more.set_icon_name("up" if self._shows_all_findings else "down")
        key = "ui.plan.findings.fewer" if self._shows_all_findings else "ui.plan.findings.more"
        self._more.setText(look.text(key, count=hidden))
        self._findings_title.show_title(look.text("ui.plan.findings.title"))
