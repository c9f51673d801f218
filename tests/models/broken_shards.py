"""Models in parts whose parts are not all there, not in order, or not what their names say."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from app.findings import FindingCode
from tests.models.broken_case import LOADS, REFUSED, BrokenCase, EngineOutcome, Expected, Witness, good
from tests.models.draft import split

PER_PART: Final = 10
PARTS: Final = 3


def _name(number: int) -> str:
    return f"m-{number:05d}-of-{PARTS:05d}.gguf"


def _parts() -> list[bytes]:
    parts = split(good(), PER_PART)
    assert len(parts) == PARTS
    return parts


def _placed(*places: tuple[int, int]) -> Callable[[], Mapping[str, bytes]]:
    """Return files from pairs: the part, and the number its name says; both from 1."""
    return lambda: {_name(place): _parts()[part - 1] for part, place in places}


def _renamed() -> Mapping[str, bytes]:
    return {f"part{number}.gguf": content for number, content in enumerate(_parts(), 1)}


def _half_downloaded() -> Mapping[str, bytes]:
    first, second, third = _parts()
    return {_name(1): first, f"{_name(2)}.part": second, _name(3): third}


def _second_cut() -> Mapping[str, bytes]:
    first, second, third = _parts()
    return {_name(1): first, _name(2): second[: len(second) // 2], _name(3): third}


def _case(
    name: str,
    what: str,
    expected: Expected,
    files: Callable[[], Mapping[str, bytes]],
    outcome: EngineOutcome = REFUSED,
) -> BrokenCase:
    return BrokenCase(f"split-{name}", what, outcome, expected, files)


def _lacks(*numbers: int) -> Expected:
    return Expected(FindingCode.SHARD_MISSING, tuple(_name(number) for number in numbers))


SHARD_CASES: Final[Sequence[BrokenCase]] = (
    _case("good", "all parts in order", Expected(None, witness=Witness.NOBODY),
          _placed((1, 1), (2, 2), (3, 3)), LOADS),
    _case("missing-last", "the last part is not there", _lacks(3), _placed((1, 1), (2, 2))),
    _case("missing-first", "the first part is not there", _lacks(1), _placed((2, 2), (3, 3))),
    _case("swapped-2-3", "two parts exchanged", Expected(FindingCode.SHARD_MISMATCH, _name(2)),
          _placed((1, 1), (3, 2), (2, 3))),
    _case("second-is-copy-of-first", "the first part twice", Expected(FindingCode.SHARD_MISMATCH, _name(2)),
          _placed((1, 1), (1, 2), (3, 3))),
    _case("truncated-second", "half of the second part",
          Expected(FindingCode.FILE_INCOMPLETE, _name(2)), _second_cut),
    _case("renamed", "names that engines cannot follow", Expected(FindingCode.SHARD_NAME_INVALID), _renamed),
    _case("partial-download", "the second part is still coming", _lacks(2), _half_downloaded),
)  # fmt: skip
