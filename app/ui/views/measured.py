"""What an engine says it took, by the devices of a plan. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from app.engine.protocol import BufferUse, DeviceInfo
from app.gguf.facts import ModelFacts
from app.planner.facts import Part
from app.planner.sizes import weight_sizes
from app.ui.model_view import ModelView

CPU: Final = "CPU"
_HOST_PREFIXES: Final = ("CPU", "AMX", "BLAS")
_HOST_SUFFIX: Final = "_Host"
_MAPPED_SUFFIX: Final = "_Mapped"
_REARRANGED: Final = ("REPACK", "AMX")
_OF_ENGINE: Final[Mapping[str, str]] = {
    "model": "weights",
    "kv_cache": "cache",
    "state": "cache",
    "compute": "compute",
    "output": "compute",
}
_OF_PLAN: Final[Mapping[Part, str]] = {
    Part.KV_CACHE: "cache",
    Part.STATE: "cache",
    Part.COMPUTE: "compute",
    Part.PROMPT_CACHE: "prompt_cache",
}


class Share(StrEnum):
    """What planned and measured memory are compared by. Engines do not tell kinds of weights apart."""

    WEIGHTS = "weights"
    CACHE = "cache"
    COMPUTE = "compute"
    PROMPT_CACHE = "prompt_cache"


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """What one device holds.

    Attributes:
        name: As a plan names it; an engine's own name where no plan has the device.
        shares: Bytes by `Share`; weights that are mapped and lie on another device are left out.
        mapped_bytes: Of the weights, how much is mapped from the file instead of copied.
        rearranged_bytes: Of the weights, how much the engine rearranged for the processor.
    """

    name: str
    shares: Mapping[Share, int]
    mapped_bytes: int = 0
    rearranged_bytes: int = 0

    @property
    def size_bytes(self) -> int:
        """All shares."""
        return sum(self.shares.values())


def measured_uses(view: ModelView) -> tuple[DeviceUse, ...]:
    """Return what each device holds, GPUs in order and `CPU` last; empty when nothing is loaded.

    The span an engine maps covers weights that other buffers hold too (`BufferUse`); each weight is
    counted once, so the span counts for what no other buffer holds.
    """
    if view.loaded is None:
        return ()
    names = device_names(view.hello.devices if view.hello else (), view.asked.devices if view.asked else ())
    buffers = [buffer for buffer in view.loaded.buffers if buffer.size_bytes]
    by_device: dict[str, list[BufferUse]] = {}
    for buffer in buffers:
        by_device.setdefault(_plan_name(buffer.device, names), []).append(buffer)
    limit = _mappable_bytes(view.facts, buffers, view.loaded.applied.get("n_gpu_layers"))
    uses = [_use(name, held, limit) for name, held in by_device.items()]
    return tuple(sorted(uses, key=lambda use: (use.name == CPU, use.name not in names.values(), use.name)))


def device_names(devices: Iterable[DeviceInfo], asked: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the plan's name of each GPU by the engine's: the first it lists, or is asked for, is `GPU0`."""
    known = list(devices)
    gpus = [d.name for d in known if d.kind == "gpu"] or [d.name for d in known if d.kind == "igpu"]
    ordered = [name for name in asked if name in gpus] or gpus
    return {name: f"GPU{index}" for index, name in enumerate(ordered)}


def planned_shares(parts: Mapping[Part, int]) -> Counter[Share]:
    """Return the parts of a device's plan by what can be compared with an engine's account."""
    shares: Counter[Share] = Counter()
    for part, size in parts.items():
        shares[Share(_OF_PLAN.get(part, "weights"))] += size
    return shares


def _use(name: str, buffers: Iterable[BufferUse], mappable_bytes: int | None) -> DeviceUse:
    shares: Counter[Share] = Counter()
    mapped = rearranged = 0
    for buffer in buffers:
        if buffer.device.endswith(_MAPPED_SUFFIX):
            mapped += buffer.size_bytes
            continue
        shares[Share(_OF_ENGINE.get(buffer.part, "compute"))] += buffer.size_bytes
        if any(mark in buffer.device for mark in _REARRANGED):
            rearranged += buffer.size_bytes
    mapped = mapped if mappable_bytes is None else min(mapped, mappable_bytes)
    shares[Share.WEIGHTS] += mapped
    return DeviceUse(name, dict(shares), mapped, rearranged)


def _mappable_bytes(facts: ModelFacts | None, buffers: list[BufferUse], gpu_layers: object) -> int | None:
    """Return the weights no other buffer holds; None when the file's are not known."""
    if facts is None or not facts.layers:
        return None
    sizes = weight_sizes(facts)
    total = sum(sum(layer.bytes_by_class.values()) for layer in facts.layers)
    total += sum(facts.bytes_outside_layers.values())
    if isinstance(gpu_layers, int) and gpu_layers > sizes.block_count:
        total += sizes.tied_copy_bytes
    held = sum(b.size_bytes for b in buffers if b.part == "model" and not b.device.endswith(_MAPPED_SUFFIX))
    return max(0, total - held)


def _plan_name(device: str, names: Mapping[str, str]) -> str:
    if device.startswith(_HOST_PREFIXES) or device.endswith(_HOST_SUFFIX):
        return CPU
    return names.get(device.removesuffix(_MAPPED_SUFFIX), device)
