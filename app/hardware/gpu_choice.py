"""Which GPUs a person lets engines use: by a name that stays, whatever order anyone counts in. Pure."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from app.findings import Finding, FindingCode, warning
from app.hardware.engine_facts import EngineBuildFacts, EngineDevice
from app.hardware.facts import GpuInfo, HardwareFacts
from app.hardware.gpu_merge import bus_address
from app.hardware.verdicts import visible_gpus
from app.hardware.verdicts_engine import fitting_gpus, match_devices

CUDA_LIST: Final = "CUDA_VISIBLE_DEVICES"
VULKAN_LIST: Final = "MOXIE_VK_VISIBLE_DEVICES"
"""Our own name: what is inherited under the engine's is dropped (`processes/environment.py`)."""

NO_CARD: Final = "-1"
"""Windows has no variable without a value; CUDA stops at the first name that is none."""

NO_VULKAN_CARD: Final = "none"
"""No number, so that the list is empty; a number that is none ends the engine."""

_DIGITS_OF_A_MODEL: Final = 3
"""`3090` names a model, `1` a place."""


@dataclass(frozen=True, slots=True)
class GpuChoice:
    """How one engine is told to use some cards and not others.

    Attributes:
        environment: Variables of its process.
        devices: What it is told to use, by its own names; empty = all it sees, or nothing where the plan has
            no GPU.
        kept: The cards it may use; out: the others.
    """

    environment: Mapping[str, str]
    devices: tuple[str, ...] = ()
    kept: tuple[GpuInfo, ...] = ()
    out: tuple[GpuInfo, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def allowed(self) -> tuple[str, ...]:
        """Names of the cards it may use."""
        return tuple(gpu.name for gpu in self.kept)

    @property
    def excluded(self) -> tuple[str, ...]:
        """Names of the others."""
        return tuple(gpu.name for gpu in self.out)


def gpu_key(gpu: GpuInfo) -> str:
    """Return the name a choice is kept under: of the card itself, else of its slot, else of its kind.

    Windows' LUID is new after every start of the computer, so it comes after the slot.
    """
    for kind, value in (("uuid", gpu.uuid), ("pci", gpu.pci_bus_id), ("luid", gpu.luid)):
        if value:
            return f"{kind}:{value.lower()}"
    return f"name:{gpu.name}"


def without_excluded(facts: HardwareFacts, excluded: Collection[str]) -> HardwareFacts:
    """Return the machine as if it had only the cards that may be used."""
    return replace(facts, gpus=allowed_gpus(facts.gpus, excluded)) if excluded else facts


def allowed_gpus(gpus: Iterable[GpuInfo], excluded: Collection[str]) -> tuple[GpuInfo, ...]:
    """Return the cards that may be used."""
    return tuple(gpu for gpu in gpus if gpu_key(gpu) not in excluded)


def named_gpus(words: Sequence[str], gpus: Sequence[GpuInfo]) -> tuple[GpuInfo, ...] | None:
    """Return the cards that words name: by index, beginning of the UUID, bus, or part of one name only.

    None when a word names no card, or several.
    """
    found: list[GpuInfo] = []
    for word in words:
        fitting = [gpu for gpu in gpus if _names(word.strip().lower(), gpu)]
        if len(fitting) != 1:
            return None
        found += fitting
    return tuple(found)


def choose_gpus(
    facts: HardwareFacts,
    build: EngineBuildFacts | None,
    excluded: Collection[str],
    *,
    takes_devices: bool = True,
) -> GpuChoice:
    """Return how an engine is kept from the excluded cards: CUDA by UUID, others by their device names.

    A list that was inherited keeps its order; only what is excluded is taken out of it.

    Args:
        takes_devices: The engine can be told devices by its own names; else Vulkan is told their numbers.
    """
    seen = visible_gpus(facts)
    out = tuple(gpu for gpu in seen if gpu_key(gpu) in excluded)
    kept = tuple(gpu for gpu in seen if gpu not in out)
    choice = GpuChoice({}, kept=kept, out=out)
    if build is None or all(gpu not in fitting_gpus(seen, build) for gpu in out):
        return choice
    nvidia = [gpu for gpu in kept if gpu.vendor == "nvidia"]
    if build.flavour == "cuda" and all(gpu.uuid for gpu in nvidia):
        listed = ",".join(gpu.uuid or "" for gpu in nvidia) or NO_CARD
        return replace(choice, environment={CUDA_LIST: listed})
    pairs = match_devices(seen, build.devices or ())
    used = [(gpu, device) for gpu, device in pairs if gpu in kept]
    order = {gpu.index: place for place, gpu in enumerate(seen)}
    names = [device.name for _, device in sorted(used, key=lambda pair: order[pair[0].index])]
    choice = replace(choice, findings=tuple(_twins(kept, out)))
    if takes_devices:
        return replace(choice, devices=tuple(names))
    numbers = ",".join(name.removeprefix("Vulkan") for name in names) or NO_VULKAN_CARD
    return replace(choice, environment={VULKAN_LIST: numbers} if build.flavour == "vulkan" else {})


def judge_choice(
    choice: GpuChoice,
    devices: Sequence[EngineDevice],
    buffers: Collection[str],
    bus_ids: Mapping[str, str] | None = None,
) -> tuple[Finding, ...]:
    """Return whether an engine took memory on a card it was kept from, by the lines of its log.

    A card is known by its place on the bus, else by the name the engine was told to use, else by what the
    engine calls it: then, of cards that are called the same, no more may be used than are allowed.

    Args:
        devices: As it listed them when it started.
        buffers: Names of the devices it took memory on.
        bus_ids: Their places, as far as the engine names them.
    """
    gpus = (*choice.kept, *choice.out)
    wrong: list[str] = []
    without_place: Counter[str] = Counter()
    for device in (device for device in devices if device.name in buffers):
        gpu = _at((bus_ids or {}).get(device.name), gpus)
        called = _called(device, gpus) if gpu is None else (gpu,)
        if all(gpu in choice.kept for gpu in called):
            continue
        without_place[device.description] += 1
        room = sum(gpu in choice.kept for gpu in called)
        is_told = not choice.devices or device.name in choice.devices
        if not is_told or without_place[device.description] > room:
            wrong.append(device.description)
    if not wrong:
        return ()
    values = {"used": tuple(wrong), "excluded": choice.excluded, "allowed": choice.allowed or None}
    return (warning(FindingCode.GPU_CHOICE_NOT_HONOURED, **values),)


def _at(bus_id: str | None, gpus: Iterable[GpuInfo]) -> GpuInfo | None:
    address = bus_address(bus_id)
    if address is None:
        return None
    return next((gpu for gpu in gpus if bus_address(gpu.pci_bus_id) == address), None)


def _called(device: EngineDevice, gpus: Iterable[GpuInfo]) -> tuple[GpuInfo, ...]:
    """Return the cards a device may be by its name: those of exactly this one, else of one that holds it."""
    plain, names = device.description.lower(), [(gpu, gpu.name.lower()) for gpu in gpus]
    exact = tuple(gpu for gpu, name in names if name == plain)
    return exact or tuple(gpu for gpu, name in names if name in plain or plain in name)


def _twins(kept: Iterable[GpuInfo], out: Iterable[GpuInfo]) -> Iterable[Finding]:
    """Yield the cards of one name and size of which some may be used and some not: nobody can tell them."""
    alike = Counter((gpu.name, gpu.vram_total_bytes) for gpu in kept)
    for name, total in dict.fromkeys((gpu.name, gpu.vram_total_bytes) for gpu in out):
        if alike[name, total]:
            yield warning(FindingCode.GPU_CHOICE_AMBIGUOUS, gpu=name, total_bytes=total)


def _names(word: str, gpu: GpuInfo) -> bool:
    if word.isdecimal() and len(word) < _DIGITS_OF_A_MODEL:
        return gpu.index == int(word)
    exact = [name.lower() for name in (gpu.pci_bus_id, gpu.luid, gpu_key(gpu)) if name]
    by_uuid = len(word) > len("gpu-") and (gpu.uuid or "").lower().startswith(word)
    return bool(word) and (word in exact or by_uuid or word in gpu.name.lower())
