"""One card that several sources know is one card. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final, TypeVar

from app.hardware.facts import GpuInfo, GpuSample

Key = tuple[str, object]

_INSTANCE: Final = "MIG-"
_OWN_TO_ONE_SOURCE: Final = frozenset(("index", "source"))

Record = TypeVar("Record", GpuInfo, GpuSample)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a source keeps a card."""

    source: str
    index: int


@dataclass(frozen=True, slots=True)
class MergedGpu:
    """One card.

    Attributes:
        info: Its index is that of the source named first.
        places: One per source that knows it, the one whose values win first.
        keys: What it is recognised by next time.
    """

    info: GpuInfo
    places: tuple[Place, ...]
    keys: tuple[Key, ...]


def merge(lists: Sequence[tuple[str, Sequence[GpuInfo]]]) -> tuple[MergedGpu, ...]:
    """Return every card once: first those of the first source, in its order, then what only others know.

    Two entries are the same card when they have the same place on the bus, the same UUID, or the same
    name of Windows; where one source gives none of them, when they are the n-th of the same kind. An
    instance of a card stays a device of its own and takes what the card's other entry knows.
    """
    merged: list[MergedGpu] = []
    for source, gpus in lists:
        known = tuple(merged)
        taken: set[int] = set()
        for gpu in gpus:
            places = _matches(known, gpu, taken)
            taken.update(places)
            for place in places:
                merged[place] = _joined(merged[place], source, gpu)
            if not places:
                merged.append(MergedGpu(gpu, (Place(source, gpu.index),), _keys(source, gpu)))
    return tuple(merged)


def filled(first: Record, second: Record) -> Record:
    """Return the first with its missing values taken from the second."""
    missing: dict[str, Any] = {
        f.name: getattr(second, f.name)
        for f in fields(first)
        if f.name not in _OWN_TO_ONE_SOURCE and getattr(first, f.name) is None
    }
    return replace(first, **missing)


def is_instance(gpu: GpuInfo) -> bool:
    """Return whether this is a part of a card that is cut up."""
    return (gpu.uuid or "").startswith(_INSTANCE)


def bus_address(text: str | None) -> tuple[int, int, int, int] | None:
    """Return domain, bus, device and function; sources write the domain with four or eight digits."""
    parts = (text or "").replace(".", ":").split(":")
    try:
        domain, bus, device, function = (int(part, 16) for part in parts)
    except ValueError:
        return None
    return domain, bus, device, function


def _matches(known: Sequence[MergedGpu], gpu: GpuInfo, taken: set[int]) -> list[int]:
    free = [place for place in range(len(known)) if place not in taken]
    address = bus_address(gpu.pci_bus_id)
    sure = [place for place in free if _is_same(known[place].info, gpu, address)]
    if sure:
        return sure
    alike = (place for place in free if _may_be_same(known[place].info, gpu, address))
    return list(next(([place] for place in alike), []))


def _is_same(first: GpuInfo, second: GpuInfo, address: tuple[int, int, int, int] | None) -> bool:
    if address is not None and bus_address(first.pci_bus_id) == address:
        return True
    pairs = ((first.uuid, second.uuid), (first.luid, second.luid))
    return any(a is not None and a == b for a, b in pairs)


def _may_be_same(first: GpuInfo, second: GpuInfo, address: tuple[int, int, int, int] | None) -> bool:
    """Same kind of card, and no source says that they are two."""
    if address is not None and bus_address(first.pci_bus_id) is not None:
        return False
    kind = (second.vendor_id, second.device_id)
    if None not in kind and None not in (first.vendor_id, first.device_id):
        return kind == (first.vendor_id, first.device_id)
    return first.vendor is not None and (first.vendor, first.name) == (second.vendor, second.name)


def _joined(card: MergedGpu, source: str, gpu: GpuInfo) -> MergedGpu:
    other = replace(gpu, uuid=None) if is_instance(card.info) else gpu
    keys = () if is_instance(card.info) else _keys(source, gpu)
    info = filled(card.info, other)
    return MergedGpu(info, (*card.places, Place(source, gpu.index)), (*card.keys, *keys))


def _keys(source: str, gpu: GpuInfo) -> tuple[Key, ...]:
    if is_instance(gpu):
        return (("uuid", gpu.uuid),)
    address = bus_address(gpu.pci_bus_id)
    named: Iterable[Key] = (("pci", address), ("uuid", gpu.uuid), ("luid", gpu.luid))
    found = tuple(key for key in named if key[1] is not None)
    return found or ((source, gpu.index),)
