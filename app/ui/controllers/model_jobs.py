"""What the model controller has done outside the GUI thread. No Qt."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from app.engine.engine_on_machine import EngineOnMachine
from app.engine.packs import choose_engine
from app.engine.session import EngineSession
from app.engine.session_state import SessionEvent, SessionLimits
from app.engine.spec import EngineSpec
from app.findings import Finding, FindingCode, FindingError, Severity
from app.gguf.facts import ModelFacts
from app.gguf.inspect_file import InspectedFile, findings_for_chat
from app.hardware.facts import HostInfo
from app.library.default_model import default_model_findings
from app.library.drive_speed import judge_first_use
from app.library.plan_memory import PlanMemory
from app.library.repair_memory import inspect_remembered
from app.library.weights_memory import WEIGHTS, WeightsMemory
from app.options import EngineOptions
from app.parsing.template_findings import CheckedTemplate, with_template_checked
from app.planner.facts import LadderStep, MemoryBudget, OffloadPlan, Wishes
from app.planner.plan import plan_offload
from app.planner.report import judge_place
from app.texts import system_language

LIMITS: Final = SessionLimits(close_seconds=1.5)
"""A load that is cancelled loses its worker, and has two seconds."""

SAFER_PLAN_HELPS: Final = frozenset(
    {
        FindingCode.ENGINE_OUT_OF_RAM,
        FindingCode.ENGINE_OUT_OF_VRAM,
        FindingCode.ENGINE_KILLED,
        FindingCode.ENGINE_DIED,
        FindingCode.ENGINE_ASSERT,
        FindingCode.ENGINE_TIMED_OUT,
    }
)
"""Failures that have, or may have, to do with memory."""


def make_session(spec: EngineSpec, listener: Callable[[SessionEvent], None]) -> EngineSession:
    """Return a session of this window."""
    return EngineSession(spec, listener, limits=LIMITS)


@dataclass(frozen=True, slots=True)
class ModelPorts:
    """Where the model controller asks; all but `make_session` and `language` may block.

    Attributes:
        fresh_budget: Memory as it is now.
        choose: Name of an engine, or None -> the engine.
        weights: None looks at no weights.
        seen: What the last fresh look gave; None where nobody looks at engines.
        language: The window's: some notes are not for everyone.
        memory: What earlier loads and answers taught; None teaches nothing.
    """

    fresh_budget: Callable[[], MemoryBudget]
    inspect: Callable[[Path], InspectedFile] = inspect_remembered
    check_template: Callable[[InspectedFile], CheckedTemplate] = with_template_checked
    weights: WeightsMemory | None = WEIGHTS
    choose: Callable[[str | None, str | None], EngineSpec] = choose_engine
    make_session: Callable[[EngineSpec, Callable[[SessionEvent], None]], EngineSession] = make_session
    language: Callable[[], str] = system_language
    seen: Callable[[], EngineOnMachine | None] = lambda: None
    memory: PlanMemory | None = None


@dataclass(frozen=True, slots=True)
class CheckedModel:
    """What a path holds, and where it would go.

    Attributes:
        notes: What people who do not use the window in English should know.
        plan: None when a finding is an error.
        of_machine: What engine and drive will cost; none of it is the file's fault.
        host: Decides whether its memory is enough for a plan.
    """

    facts: ModelFacts
    findings: tuple[Finding, ...]
    notes: tuple[Finding, ...]
    budget: MemoryBudget
    plan: OffloadPlan | None
    of_machine: tuple[Finding, ...] = ()
    host: HostInfo | None = None

    @property
    def failure(self) -> Finding | None:
        """Why the model cannot be talked to."""
        return next((f for f in self.findings if f.severity is Severity.ERROR), None)


@dataclass(frozen=True, slots=True)
class Launch:
    """Everything needed to start an engine.

    Attributes:
        of_drive: Of the drive that experts are left on.
    """

    spec: EngineSpec
    budget: MemoryBudget
    plan: OffloadPlan
    options: EngineOptions
    seen: EngineOnMachine | None = None
    of_drive: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class LaunchRequest:
    """What to start.

    Attributes:
        engine_name: None lets Moxie choose.
        options: None for those of the plan.
    """

    facts: ModelFacts
    wishes: Wishes
    engine_name: str | None = None
    options: EngineOptions | None = None


def check_model(
    ports: ModelPorts, path: Path, wishes: Wishes, engine_name: str | None = None
) -> CheckedModel:
    """Read the header, try the chat template, sample the weights, look at the machine, plan."""
    inspected = ports.check_template(ports.inspect(path)).inspected
    findings = findings_for_chat(inspected)
    if ports.weights is not None and _is_good(findings):
        sampled = ports.weights.sample(inspected.facts)
        findings += sampled.findings if sampled is not None else ()
    budget = ports.fresh_budget()
    is_good = _is_good(findings)
    if is_good:
        budget = taught_budget(ports, budget, inspected.facts, engine_name)
    plan = plan_offload(inspected.facts, budget, wishes) if is_good else None
    notes = default_model_findings(path) if is_good else ()
    seen = ports.seen()
    if seen is None or not is_good:
        return CheckedModel(inspected.facts, findings, notes, budget, plan)
    of_machine = (*seen.findings, *judge_place(seen.hardware, None, path))
    return CheckedModel(inspected.facts, findings, notes, budget, plan, of_machine, seen.hardware.host)


def taught_budget(
    ports: ModelPorts, budget: MemoryBudget, model: ModelFacts, engine_name: str | None
) -> MemoryBudget:
    """Return the budget with what is known of the model and the engine that would run it."""
    seen = ports.seen()
    if ports.memory is None or seen is None:
        return budget
    try:
        spec = ports.choose(engine_name, None)
    except FindingError:  # a load says why
        return budget
    return ports.memory.taught(budget, model, seen.spec(spec), seen.hardware)


def _is_good(findings: Iterable[Finding]) -> bool:
    return all(finding.severity is not Severity.ERROR for finding in findings)


def refusal_of(ports: ModelPorts, path: Path) -> Finding | None:
    """Return why a file cannot be loaded by any engine; None when one may."""
    findings = findings_for_chat(ports.inspect(path))
    return next((finding for finding in findings if finding.severity is Severity.ERROR), None)


def prepare_launch(ports: ModelPorts, request: LaunchRequest) -> Launch:
    """Look at the machine again and plan with what is free now. A drive that will be read is measured first.

    Raises:
        FindingError: `ENGINE_MISSING`, `ENGINE_NOT_FOUND`.
    """
    spec = ports.choose(request.engine_name, None)
    machine = ports.fresh_budget()
    budget = taught_budget(ports, machine, request.facts, request.engine_name)
    plan = plan_offload(request.facts, budget, request.wishes)
    seen = ports.seen()
    if seen is None:
        return Launch(spec, budget, plan, request.options or plan.options)
    of_drive = judge_first_use(request.facts, plan, seen.hardware)
    if plan.disk_bytes:  # the drive's speed may be known now
        budget = taught_budget(ports, machine, request.facts, request.engine_name)
        plan = plan_offload(request.facts, budget, request.wishes)
    options = request.options or plan.options
    # the step was planned before: the choice of GPUs may be another one since
    options = replace(options, devices=budget.devices)
    return Launch(seen.spec(spec), budget, plan, options, seen, of_drive)


def next_step(
    plan: OffloadPlan | None, asked: EngineOptions | None, failure: Finding | None
) -> LadderStep | None:
    """Return the safer plan to offer after a failure, or None when there is none or it would not help."""
    if plan is None or failure is None or failure.code not in SAFER_PLAN_HELPS:
        return None
    if plan.bigger_context is not None and plan.bigger_context.options == asked:
        return plan.ladder[0]
    tried = [index for index, step in enumerate(plan.ladder) if step.options == asked]
    # what was asked may come from an older plan: then the first step down is the next one
    following = (tried[-1] if tried else 0) + 1
    return plan.ladder[following] if following < len(plan.ladder) else None
