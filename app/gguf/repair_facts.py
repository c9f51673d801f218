"""What a person decides about a file whose metadata is wrong, and what would be right."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from app.findings import Finding, FindingCode
from app.options import KvOverrideValue


class ValueSource(StrEnum):
    """Where a right value comes from; the first three leave no doubt."""

    TENSORS = "tensors"
    SAME_VALUE = "same-value"
    TEMPLATE = "template"
    OTHER_PREFIX = "other-prefix"
    USUAL = "usual"
    SAFE = "safe"
    CHOSEN = "chosen"


_CERTAIN: Final = (ValueSource.TENSORS, ValueSource.SAME_VALUE, ValueSource.TEMPLATE)


@dataclass(frozen=True, slots=True)
class RepairChoice:
    """What a person decided for one file.

    Attributes:
        off: Keys that the engine is not given, although the file's value is wrong.
        chosen: Values by full key, in place of what the file says and of every proposal.
    """

    off: frozenset[str] = frozenset()
    chosen: tuple[tuple[str, KvOverrideValue], ...] = ()


NO_CHOICE: Final = RepairChoice()


@dataclass(frozen=True, slots=True)
class RightValue:
    """What one key should say.

    Attributes:
        value: None when neither the file nor anything known tells; then a person must.
        type_name: How engines read it, e.g. `u32`.
        source: None without a value.
        model: The model a usual value is known from.
        most: The largest value that makes sense; None without a bound.
        is_overridable: The engine can be given it at load.
        cures: Findings that have no cause any more with it.
        instead_of: What would be given or proposed, had the person not chosen.
    """

    key: str
    value: KvOverrideValue | None
    type_name: str
    source: ValueSource | None
    cures: tuple[FindingCode, ...]
    model: str | None = None
    most: int | None = None
    is_overridable: bool = True
    instead_of: "RightValue | None" = None

    def mends(self, finding: Finding) -> bool:
        """Return whether the finding has no cause any more with this value."""
        return finding.code in self.cures and finding.values.get("key", self.key) == self.key

    @property
    def is_decided(self) -> bool:
        """Nobody needs to be asked."""
        return self.source in _CERTAIN or self.source is ValueSource.CHOSEN
