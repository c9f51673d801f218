"""The model the Models page shows, as facts; it need not be the one that is loaded. No Qt."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from app.findings import Finding
from app.gguf.anatomy import Anatomy
from app.gguf.facts import FileKind, ModelFacts
from app.library.weights_memory import WeightsCheck
from app.planner.facts import LadderStep, MemoryBudget, OffloadPlan, Wishes
from app.planner.report import PLANNED_KINDS
from app.ui.model_view import ModelPhase, ModelView

_ASKED_KINDS = PLANNED_KINDS | {FileKind.UNKNOWN, FileKind.SPLIT_PART}


class Verdict(StrEnum):
    """What the engine says of a file without loading it."""

    NOT_ASKED = "not_asked"
    ASKING = "asking"
    ACCEPTED = "accepted"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class WeightsView:
    """What is known of the weights.

    Attributes:
        check: None while nothing was looked at, and where nothing can be.
        progress: How far reading all of them is, 0 to 1; None when that is not under way.
        is_sampling: A first look is under way.
    """

    check: WeightsCheck | None = None
    progress: float | None = None
    is_sampling: bool = False


@dataclass(frozen=True, slots=True)
class ModelPageView:
    """Everything the right side of the Models page shows.

    Attributes:
        path: None while no model is chosen.
        facts: None until checked.
        findings: Of file and plan together, in the order found.
        plans: Where everything goes with each step of the ladder; empty when there is no plan.
        chosen: Index of the step that the load button takes.
        verdict_findings: Why the engine refuses, or why it has no verdict.
        loads_elsewhere: Another engine would load it than the one that is asked: a refusal stops nothing.
        weights: What its weights hold.
        last_load: What became of the last load of this very file in this session.
        loaded_at: When that was, in the words of the system.
    """

    path: Path | None = None
    is_checking: bool = False
    facts: ModelFacts | None = None
    anatomy: Anatomy | None = None
    findings: tuple[Finding, ...] = ()
    failure: Finding | None = None
    wishes: Wishes = field(default_factory=Wishes)
    budget: MemoryBudget | None = None
    steps: tuple[LadderStep, ...] = ()
    plans: tuple[OffloadPlan, ...] = ()
    chosen: int = 0
    verdict: Verdict = Verdict.NOT_ASKED
    verdict_findings: tuple[Finding, ...] = ()
    loads_elsewhere: bool = False
    weights: WeightsView = WeightsView()
    last_load: ModelView | None = None
    loaded_at: str = ""

    @property
    def all_findings(self) -> tuple[Finding, ...]:
        """Those of header, plan and weights, and why the engine refuses the file."""
        check = self.weights.check
        of_weights = check.findings if check is not None else ()
        known = {finding.code for finding in (*self.findings, *of_weights)}
        refused = self.verdict_findings if self.is_refused and self.failure is None else ()
        return (*self.findings, *of_weights, *(f for f in refused if f.code not in known))

    @property
    def is_refused(self) -> bool:
        """The engine that would load the file refuses it."""
        return self.verdict is Verdict.REFUSED and not self.loads_elsewhere

    @property
    def plan(self) -> OffloadPlan | None:
        """The plan of the chosen step."""
        return self.plans[self.chosen] if self.chosen < len(self.plans) else None

    @property
    def step(self) -> LadderStep | None:
        """The chosen step."""
        return self.steps[self.chosen] if self.chosen < len(self.steps) else None

    @property
    def can_load(self) -> bool:
        """There is a plan, and the engine does not refuse the file."""
        return self.step is not None and not self.is_refused

    @property
    def can_ask_engine(self) -> bool:
        """The file has a header, and is of a kind that an engine loads by itself."""
        facts = self.facts
        return facts is not None and facts.tensor_count > 0 and facts.kind in _ASKED_KINDS

    @property
    def is_loaded(self) -> bool:
        """An engine holds this very file now."""
        return self.last_load is not None and self.last_load.is_loaded

    def as_model_view(self) -> ModelView:
        """Return it as the view of a model that is planned: what the table and the words of plans take."""
        if self.last_load is not None:
            return self.last_load
        return ModelView(
            phase=ModelPhase.PLANNED if self.plans else ModelPhase.FAILED,
            path=self.path,
            facts=self.facts,
            findings=self.findings,
            wishes=self.wishes,
            budget=self.budget,
            plan=self.plan,
        )
