"""What the bar of parts draws, as facts. No Qt."""

from dataclasses import dataclass
from enum import StrEnum


class PartKind(StrEnum):
    """Parts of a device's memory, in the order they are drawn."""

    DENSE = "dense"
    EXPERTS = "experts"
    CACHE = "cache"
    COMPUTE = "compute"
    RESERVE = "reserve"


@dataclass(frozen=True, slots=True)
class BarPart:
    """One piece of the bar."""

    kind: PartKind
    size_bytes: int
