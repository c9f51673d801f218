"""An engine, a machine and a person's choice of GPUs -> what can be planned for, and what is wrong."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from app.engine.engine_devices import EngineReader
from app.engine.llama_server_capabilities import read_capabilities, server_executable
from app.engine.packs import EngineEntry
from app.engine.protocol import Hello, Loaded
from app.engine.spec import EngineSpec
from app.findings import Finding, FindingError
from app.hardware.engine_facts import EngineBuildFacts, EngineDevice
from app.hardware.facts import HardwareFacts
from app.hardware.gpu_choice import GpuChoice, choose_gpus, judge_choice, without_excluded
from app.hardware.verdicts import only_visible
from app.hardware.verdicts_engine import judge_engine, judge_flavour, match_devices, seen_by_engine
from app.planner.facts import MemoryBudget
from app.planner.report import budget_from


@dataclass(frozen=True, slots=True)
class EngineOnMachine:
    """What is known before a load.

    Attributes:
        hardware: The whole machine.
        build: None for an engine without files, or when none was found.
        findings: Of engine and choice; those of the machine are in `hardware`.
        usable: The machine with the cards only that the engine can and may use; None where nobody looked.
    """

    hardware: HardwareFacts
    build: EngineBuildFacts | None
    choice: GpuChoice
    budget: MemoryBudget
    findings: tuple[Finding, ...] = ()
    usable: HardwareFacts | None = None

    def spec(self, spec: EngineSpec) -> EngineSpec:
        """Return the engine with the variables that keep it from excluded cards."""
        return replace(spec, environment=tuple(self.choice.environment.items()))

    def judge_load(self, hello: Hello | None, loaded: Loaded) -> tuple[Finding, ...]:
        """Return whether what was loaded lies on the chosen cards only."""
        listed = hello.devices if hello is not None else ()
        devices = tuple(EngineDevice(device.name, device.description) for device in listed)
        buffers = [use.device for use in loaded.buffers]
        return judge_choice(self.choice, devices, buffers, loaded.bus_ids)


def engine_on_machine(
    reader: EngineReader, entry: EngineEntry | None, hardware: HardwareFacts, excluded: Collection[str] = ()
) -> EngineOnMachine:
    """Look at an engine's files, and ask it for its devices when it was never asked. Blocks."""
    build = None if entry is None else reader.facts(entry, hardware)
    if build is not None and entry is not None and excluded and not _takes_devices(entry):
        build = replace(build, takes_devices=False)
    return build_on_machine(build, hardware, excluded)


def build_on_machine(
    build: EngineBuildFacts | None, hardware: HardwareFacts, excluded: Collection[str] = ()
) -> EngineOnMachine:
    """Look at facts of an engine, which may be recorded ones. Pure."""
    takes_devices = build is None or build.takes_devices is not False
    choice = choose_gpus(hardware, build, excluded, takes_devices=takes_devices)
    usable = without_excluded(seen_by_engine(only_visible(hardware), build), excluded)
    budget = budget_from(usable, _device_names(usable, build, choice) if takes_devices else None)
    budget = replace(budget, devices=choice.devices or budget.devices)
    return EngineOnMachine(hardware, build, choice, budget, _findings(hardware, build, choice), usable)


def _device_names(usable: HardwareFacts, build: EngineBuildFacts | None, choice: GpuChoice) -> dict[int, str]:
    """Return what the engine calls each card; nothing where its variables number them anew, in our order."""
    if build is None or choice.environment:
        return {}
    return {gpu.index: device.name for gpu, device in match_devices(usable.gpus, build.devices or ())}


def _findings(
    hardware: HardwareFacts, build: EngineBuildFacts | None, choice: GpuChoice
) -> tuple[Finding, ...]:
    if build is None:
        return choice.findings
    found = (*judge_engine(hardware, build), *judge_flavour(hardware, build))
    # nobody needs to hear of a card they do not want
    unwanted = set(choice.excluded) - set(choice.allowed)
    return (*(f for f in found if f.values.get("gpu") not in unwanted), *choice.findings)


def _takes_devices(entry: EngineEntry) -> bool:
    folder = entry.spec.pack_folder
    if folder is None:
        return True
    try:
        return read_capabilities(server_executable(folder)).first_known("--device", "-dev") is not None
    except FindingError:  # a load says why
        return True
