"""From a path and wishes to what the engine is told: header, machine, plan. Starts no engine."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from app.cli.chat_report import ChatReport
from app.cli.gpu_option import excluded_gpus, look_at_engine
from app.cli.inspected import inspect_argument
from app.engine.engine_on_machine import EngineOnMachine
from app.engine.packs import EngineEntry, choose_engine, list_engines
from app.engine.protocol import Hello
from app.engine.spec import EngineSpec
from app.findings import Finding, FindingCode, Severity
from app.gguf.facts import ModelFacts
from app.gguf.inspect_file import findings_for_chat
from app.hardware.this_machine import detect_this_machine
from app.library.default_model import default_model_findings, require_default_model
from app.library.drive_speed import judge_first_use
from app.library.plan_memory import PlanMemory, RunningModel
from app.options import ALL_LAYERS, EngineOptions, SamplingOptions
from app.parsing.template_findings import with_template_checked
from app.planner.facts import OffloadPlan, Wishes
from app.planner.plan import plan_offload
from app.planner.report import judge_place

_LOCAL_GPU_CODES: Final = (
    FindingCode.NO_GPU_IN_PLAN,
    FindingCode.PLAN_WITHOUT_GPU,
    FindingCode.LAYERS_IN_RAM,
    FindingCode.VRAM_EXCEEDED,
    FindingCode.VRAM_MARGIN_SMALL,
    FindingCode.ENGINE_FLAVOUR_UNFIT,
)


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What was asked for on the command line.

    Attributes:
        path: None for the default model.
        prompt: None for a conversation in the terminal.
        gpu: As `--gpu` takes it.
        rpc_servers: `host:port` of llama.cpp RPC servers that serve as GPUs.
    """

    path: Path | None
    prompt: str | None
    system: str | None
    sampling: SamplingOptions
    wishes: Wishes
    engine: str | None = None
    rpc_servers: tuple[str, ...] = ()
    is_saved: bool = True
    gpu: str | None = None


@dataclass(frozen=True, slots=True)
class Launch:
    """Everything needed to start."""

    facts: ModelFacts
    plan: OffloadPlan
    options: EngineOptions
    spec: EngineSpec
    seen: EngineOnMachine
    memory: PlanMemory

    def running(self, hello: Hello) -> RunningModel:
        """Return what is running once the engine has it."""
        told = self.plan.forecast if self.options == self.plan.options else None
        return RunningModel(self.spec, self.facts, self.options, hello, told)


def prepare(request: ChatRequest, report: ChatReport) -> Launch | None:
    """Return what to start, or None when the file cannot be talked to; the report says why.

    Raises:
        UsageError: nothing at the path, or a folder without exactly one model.
        FindingError: `DEFAULT_MODEL_MISSING`, `ENGINE_MISSING`, `ENGINE_NOT_FOUND`.
    """
    texts = report.context.texts
    path = request.path or require_default_model()
    inspected = with_template_checked(inspect_argument(str(path), texts)).inspected
    findings = findings_for_chat(inspected)
    report.add(findings)
    if any(finding.severity is Severity.ERROR for finding in findings):
        return None
    if texts.language != "en":
        report.add(default_model_findings(path))
    spec = choose_engine(request.engine, report.context.settings.engine)
    hardware = detect_this_machine()
    # notes about the machine belong to `moxie doctor`; a probe that failed explains a plan without GPU
    report.add(finding for finding in hardware.findings if finding.severity is not Severity.NOTE)
    excluded = excluded_gpus(request.gpu, hardware, report.context)
    seen = look_at_engine(_entry_of(spec), hardware, excluded)
    memory = PlanMemory()
    spec = seen.spec(spec)
    budget = memory.taught(seen.budget, inspected.facts, spec, hardware)
    plan = plan_offload(inspected.facts, budget, request.wishes)
    if plan.disk_bytes:
        report.add(judge_first_use(inspected.facts, plan, hardware))
        budget = memory.taught(seen.budget, inspected.facts, spec, hardware)  # the drive may be known now
        plan = plan_offload(inspected.facts, budget, request.wishes)
    options = plan.options
    of_engine = (finding for finding in seen.findings if finding.severity is not Severity.NOTE)
    found: Iterable[Finding] = (*of_engine, *judge_place(hardware, plan, path), *plan.findings)
    if request.rpc_servers:
        options = options_with_rpc(options, request.wishes, request.rpc_servers)
        found = [finding for finding in found if finding.code not in _LOCAL_GPU_CODES]
    report.add(found)
    return Launch(inspected.facts, plan, options, spec, seen, memory)


def _entry_of(spec: EngineSpec) -> EngineEntry | None:
    """Return the engine with its record."""
    return next((entry for entry in list_engines(spec.name) if entry.spec == spec), None)


def options_with_rpc(options: EngineOptions, wishes: Wishes, rpc_servers: tuple[str, ...]) -> EngineOptions:
    """Return a plan's options with RPC servers as GPUs.

    How much memory they have is known only once the engine has spoken to them, so there is nothing to
    plan with: all layers go there, experts too, unless the wish says that experts stay here.
    """
    return replace(
        options,
        n_gpu_layers=ALL_LAYERS,
        n_cpu_moe=0 if wishes.moe == "auto" else options.n_cpu_moe,
        cpu_moe_blocks=(),
        offload_kqv=True,
        tensor_split=(),
        devices=(),  # all: the servers have no names yet
        rpc_servers=rpc_servers,
    )
