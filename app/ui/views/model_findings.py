"""What was found in a model's file, whether its parts are complete, and what the engine says of it."""

from collections.abc import Iterable, Iterator
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.findings import Finding, Severity
from app.ui.model_page_view import ModelPageView, Verdict
from app.ui.theme.look import Look, LookSource
from app.ui.views.finding_actions import finding_actions
from app.ui.views.model_weights import WeightsRow, weights_state
from app.ui.views.models_words import complete_words
from app.ui.views.words import say
from app.ui.widgets.buttons import Button
from app.ui.widgets.findings_view import FindingRow, FindingsList
from app.ui.widgets.labels import Chip, IconLabel, TextLabel
from app.ui.widgets.layouts import card, column, holder, row, rule

_TONES: Final = {Severity.ERROR: "danger", Severity.WARNING: "warning", Severity.NOTE: "info"}
_SIGNS: Final = {
    Verdict.NOT_ASKED: ("info", "text_faint"),
    Verdict.ASKING: ("clock", "text_faint"),
    Verdict.ACCEPTED: ("ok", "success_text"),
    Verdict.REFUSED: ("error", "danger_text"),
    Verdict.UNKNOWN: ("info", "text_faint"),
}


class ModelFindings(QWidget):
    """The gravest first; then what is in order.

    Signals:
        finding_action_requested: the `Finding` whose button was pressed.
        engine_requested: the engine is to be asked.
    """

    finding_action_requested = Signal(object)
    engine_requested = Signal()

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._view = ModelPageView()
        self._title = TextLabel("subtitle")
        self._chips = {severity: Chip(tone) for severity, tone in _TONES.items()}
        self.findings = FindingsList(looks)
        self._complete = FindingRow(looks)
        self._complete_rule = holder(column(rule()))
        self.engine = EngineRow(looks)
        self._engine_rule = holder(column(rule()))
        self.weights = WeightsRow(looks)
        self._weights_rule = holder(column(rule()))
        head = row(self._title, *self._chips.values(), None, gap=6)
        body = column(
            head,
            self.findings,
            self._complete_rule,
            self._complete,
            self._engine_rule,
            self.engine,
            self._weights_rule,
            self.weights,
            None,
            gap=10,
        )
        self.setLayout(column(card(body)))
        self.findings.action_requested.connect(self.finding_action_requested)
        self.engine.ask.clicked.connect(self.engine_requested)
        looks.changed.connect(self._show)

    def show_view(self, view: ModelPageView) -> None:
        """Show the findings of a model; hidden while nothing is known of it."""
        for _ in self.show_in_steps(view):
            pass

    def show_in_steps(self, view: ModelPageView) -> Iterator[None]:
        """Do the same, a block at a step."""
        self.setVisible(view.facts is not None)
        before, self._view = self._view, view
        if before != view:
            yield from self._steps()

    def _show(self) -> None:
        for _ in self._steps():
            pass

    def _steps(self) -> Iterator[None]:
        look, view = self._looks.look, self._view
        self._title.setText(look.text("ui.plan.findings.title"))
        shown = _once(view.all_findings)
        for severity, chip in self._chips.items():
            count = sum(1 for finding in shown if finding.severity is severity)
            chip.setVisible(count > 0)
            chip.setText(_count_words(look, severity, count))
        yield
        actions = finding_actions(shown, view.wishes)
        if shown:
            self.findings.show_findings(shown, {code: say(look.texts, w) for code, w in actions.items()})
        self.findings.setVisible(bool(shown))
        yield
        complete = complete_words(view)
        self._complete.setVisible(complete is not None)
        self._complete_rule.setVisible(complete is not None and bool(shown))
        if complete is not None:
            self._complete.show_passed(*(say(look.texts, words) for words in complete))
        yield
        self.engine.show_view(view)
        has_engine = view.can_ask_engine
        self.engine.setVisible(has_engine)
        self._engine_rule.setVisible(has_engine and (bool(shown) or complete is not None))
        yield
        self.weights.show_view(view)
        has_weights = weights_state(view.weights) is not None
        self.weights.setVisible(has_weights)
        self._weights_rule.setVisible(has_weights)


class EngineRow(QWidget):
    """Whether the engine accepts the file, and the button that asks it."""

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._sign = IconLabel(looks, "info", "text_faint")
        self._words = TextLabel("body", wrap=True)
        self._detail = TextLabel("caption", "soft", wrap=True)
        self.ask = Button(looks, "secondary", size="compact")
        line = row(column(self._sign, None), gap=10)
        line.addLayout(column(self._words, self._detail, None, gap=2), 1)
        line.addLayout(column(self.ask, None))
        self.setLayout(line)

    def show_view(self, view: ModelPageView) -> None:
        """Show the verdict."""
        look, verdict = self._looks.look, view.verdict
        self._sign.set_icon(*_SIGNS[verdict])
        self._words.setText(look.text(f"ui.models.engine.{verdict.value}"))
        refused = next(iter(view.verdict_findings), None)
        known = {finding.code for finding in view.findings}
        if refused is not None and refused.code not in known:
            self._detail.setText(look.texts.finding(refused).message)
        else:
            self._detail.setText(look.text(f"ui.models.engine.{verdict.value}.detail"))
        self.ask.setText(
            look.text("ui.models.engine.ask" if verdict is Verdict.NOT_ASKED else "ui.models.engine.again")
        )
        self.ask.setVisible(verdict not in (Verdict.ASKING, Verdict.ACCEPTED))


def _count_words(look: Look, severity: Severity, count: int) -> str:
    number = "one" if count == 1 else "many"
    return look.text(f"ui.models.count.{severity.value}.{number}", count=count)


def _once(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings without one that says what another says already."""
    kept: list[Finding] = []
    for finding in findings:
        if finding not in kept:
            kept.append(finding)
    return tuple(kept)
