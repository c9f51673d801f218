"""The one model object of the window, as facts; every button's state is derived from it. No Qt."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from app.engine.protocol import Hello, Loaded, LoadProgress
from app.findings import Finding
from app.gguf.facts import ModelFacts
from app.options import EngineOptions
from app.planner.facts import LadderStep, MemoryBudget, OffloadPlan, Wishes
from app.planner.speed_gains import SpeedGain


class ModelPhase(StrEnum):
    """What the model is doing; shown in words beside its name."""

    NONE = "none"
    CHECKING = "checking"
    PLANNED = "planned"
    LOADING = "loading"
    WARMING = "warming"
    READY = "ready"
    GENERATING = "generating"
    STOPPING = "stopping"
    UNLOADING = "unloading"
    FAILED = "failed"


BUSY_PHASES = frozenset(
    {ModelPhase.LOADING, ModelPhase.WARMING, ModelPhase.GENERATING, ModelPhase.STOPPING, ModelPhase.UNLOADING}
)
LOADED_PHASES = frozenset({ModelPhase.READY, ModelPhase.GENERATING, ModelPhase.STOPPING})


@dataclass(frozen=True, slots=True)
class ModelView:
    """Everything views show of the model.

    Attributes:
        path: What the person picked; None in phase `NONE`.
        facts: What the header says; None until checked.
        findings: Of file, plan and load together, the gravest first.
        plan: For the wishes now in force; None when there is none.
        asked: What the engine was sent for the load that is in force or under way.
        loaded: What the engine answered; None unless loaded.
        progress: Of the load under way.
        failure: Why phase is `FAILED`.
        next_step: The safer plan offered after a failure; None when there is none.
        tokens_per_second: Of the last or running answer, prompt time excluded.
        needs_reload: The wishes differ from what is loaded.
        is_measuring: The engine is being calibrated for this plan.
        command: Lines the engine would be told, each with its mark (`engine/effective_command.py`).
        gains: What more RAM, more VRAM or a faster drive would give the plan.
    """

    phase: ModelPhase = ModelPhase.NONE
    path: Path | None = None
    facts: ModelFacts | None = None
    findings: tuple[Finding, ...] = ()
    wishes: Wishes = field(default_factory=Wishes)
    budget: MemoryBudget | None = None
    plan: OffloadPlan | None = None
    asked: EngineOptions | None = None
    hello: Hello | None = None
    loaded: Loaded | None = None
    progress: LoadProgress | None = None
    failure: Finding | None = None
    next_step: LadderStep | None = None
    engine_name: str | None = None
    tokens_per_second: float | None = None
    needs_reload: bool = False
    log_tail: tuple[str, ...] = ()
    is_measuring: bool = False
    gains: tuple[SpeedGain, ...] = ()
    command: tuple[tuple[str, str], ...] = ()

    @property
    def can_measure(self) -> bool:
        """The engine can be calibrated now: a plan without a known speed, and nothing runs."""
        is_unknown = self.plan is not None and self.plan.forecast is None
        return is_unknown and self.phase is ModelPhase.PLANNED and not self.is_measuring

    @property
    def can_load(self) -> bool:
        """The load button works."""
        return self.plan is not None and self.phase in (ModelPhase.PLANNED, ModelPhase.FAILED)

    @property
    def can_reload(self) -> bool:
        """Changed wishes can be applied by loading again."""
        return self.plan is not None and self.phase is ModelPhase.READY and self.needs_reload

    @property
    def can_unload(self) -> bool:
        """The unload button works: also for an engine that does not stop when it is told to."""
        return self.phase in (ModelPhase.READY, ModelPhase.STOPPING)

    @property
    def can_cancel_load(self) -> bool:
        """The cancel button of the load works."""
        return self.phase in (ModelPhase.LOADING, ModelPhase.WARMING)

    @property
    def can_send(self) -> bool:
        """A message is answered at once; otherwise it waits in the queue or the box."""
        return self.phase is ModelPhase.READY

    @property
    def can_queue(self) -> bool:
        """A message sent now is answered when the model is ready."""
        return self.loads_for_message or self.phase in (ModelPhase.LOADING, ModelPhase.WARMING)

    @property
    def loads_for_message(self) -> bool:
        """A message sent now has the model loaded as planned."""
        return self.can_load and self.phase is ModelPhase.PLANNED

    @property
    def can_stop(self) -> bool:
        """The stop button of the answer works."""
        return self.phase is ModelPhase.GENERATING

    @property
    def can_set_moe(self) -> bool:
        """The MoE control works: a MoE model is picked and nothing is under way."""
        return self.facts is not None and self.facts.is_moe and self.phase not in BUSY_PHASES

    @property
    def is_loaded(self) -> bool:
        """An engine holds the model."""
        return self.phase in LOADED_PHASES
