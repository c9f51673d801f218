"""An engine's figures -> `Measured`: beside each what the formulas say for the same options, uncorrected."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from app.gguf.facts import ModelFacts
from app.options import EngineOptions
from app.planner.accuracy import Measured, Source, device_kind, group_of
from app.planner.corrections import PartGroup
from app.planner.engine_options import placed
from app.planner.facts import MemoryBudget, Part
from app.planner.model_sizes import model_sizes

_CPU = "CPU"
_ENDLESS = 2**60


@dataclass(frozen=True, slots=True)
class TakenBytes:
    """Memory an engine took, or says it would take.

    Attributes:
        device: The engine's name of a device or of a kind of buffer in RAM.
    """

    device: str
    part: PartGroup
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Told:
    """Figures of one engine for one model and one set of options.

    Attributes:
        build: The engine and its version, as it names itself.
        parts: What the source tells: a mapped file hides who holds which weights.
    """

    build: str
    source: Source
    taken: tuple[TakenBytes, ...]
    parts: frozenset[PartGroup] = frozenset(PartGroup)


def measured(model: ModelFacts, options: EngineOptions, told: Told) -> tuple[Measured, ...]:
    """Return each figure that can be compared, by kind of device; empty where nothing can be."""
    sizes: dict[tuple[str, PartGroup], int] = {}
    for one in told.taken:
        key = (device_kind(one.device), one.part)
        sizes[key] = sizes.get(key, 0) + one.size_bytes
    gpus = tuple(dict.fromkeys(one.device for one in told.taken if device_kind(one.device) != _CPU))
    kinds = {device_kind(name) for name in gpus}
    shares = options.tensor_split
    if model.architecture is None or len(kinds) > 1 or (len(gpus) > 1 and len(shares) != len(gpus)):
        return ()  # who holds what is not known
    if len(gpus) == 1:
        options = replace(options, tensor_split=(), main_gpu=0, split_mode="layer")
    of_gpus, of_ram = _planned(model, replace(options, devices=()), gpus)
    found = []
    for (device, part), size in sizes.items():
        if part in told.parts:
            planned = (of_ram if device == _CPU else of_gpus)[part]
            found.append(Measured(told.build, model.architecture, device, part, planned, size, told.source))
    return tuple(found)


def _planned(
    model: ModelFacts, options: EngineOptions, gpus: tuple[str, ...]
) -> tuple[Mapping[PartGroup, int], Mapping[PartGroup, int]]:
    """Return what the formulas say: of all GPUs, of RAM."""
    sizes = model_sizes(model)
    limits = (_ENDLESS,) * len(gpus)
    budget = MemoryBudget(_ENDLESS, limits)
    placement = placed(sizes, options, budget, limits)
    return _grouped(placement.gpu_parts), _grouped((placement.cpu_parts,))


def _grouped(devices: Iterable[Mapping[Part, int]]) -> Mapping[PartGroup, int]:
    sums = dict.fromkeys(PartGroup, 0)
    for parts in devices:
        for part, size in parts.items():
            if part is not Part.PROMPT_CACHE:  # filled later
                sums[group_of(part)] += size
    return sums
