"""What a broken file is in tests: how it is made, what an engine does with it, and what must be said."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

from app.findings import FindingCode
from tests.models.draft import Draft
from tests.models.tiny import tiny_model

ARCHITECTURE = "qwen3moe"
UP = "blk.0.ffn_up_exps.weight"


class EngineOutcome(Enum):
    """What llama.cpp of llama-cpp-python 0.3.36 does with the file as it is, without overrides."""

    LOADS = auto()
    REFUSED = auto()
    ABORTS = auto()
    """The process dies of a failed assertion."""


REFUSED, LOADS, ABORTS = EngineOutcome.REFUSED, EngineOutcome.LOADS, EngineOutcome.ABORTS


class Witness(Enum):
    """Who finds out what is wrong."""

    HEADER = auto()
    ENGINE = auto()
    """The dry run: it takes the tensor list of the architecture to know."""
    WEIGHTS = auto()
    """The scan of the weights."""
    TEMPLATE = auto()
    """The check of the chat template."""
    NOBODY = auto()
    """Nothing is wrong for a reader that follows the specification."""


@dataclass(frozen=True)
class Expected:
    """What is to be found.

    Attributes:
        code: What `witness` must find; None when nothing is to be found.
        value: One of the finding's values, where the code alone leaves the cause open.
        also: Further errors that the same damage may cause.
    """

    code: FindingCode | None
    value: object = None
    also: tuple[FindingCode, ...] = ()
    witness: Witness = Witness.HEADER


@dataclass(frozen=True)
class BrokenCase:
    """One broken file, or one broken set of parts.

    Attributes:
        what: What is wrong with it.
        files: Names and contents; the first is the one to open.
    """

    name: str
    what: str
    engine_outcome: EngineOutcome
    expected: Expected
    files: Callable[[], Mapping[str, bytes]]

    def write(self, folder: Path) -> Path:
        """Write the case into `folder` and return the path to open."""
        contents = self.files()
        place = folder / self.name if len(contents) > 1 else folder
        place.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            (place / name).write_bytes(content)
        return place / next(iter(contents))


def good(expert_type: int | None = None) -> Draft:
    """Return the sound model that all cases start from."""
    return Draft.of(tiny_model(ARCHITECTURE, expert_type))


def edited(
    name: str,
    what: str,
    expected: Expected,
    edit: Callable[[Draft], object],
    outcome: EngineOutcome = REFUSED,
) -> BrokenCase:
    """Return the case of a sound model after `edit`."""

    def content() -> bytes:
        draft = good()
        edit(draft)
        return draft.encode()

    return made(name, what, expected, content, outcome)


def made(
    name: str, what: str, expected: Expected, content: Callable[[], bytes], outcome: EngineOutcome = REFUSED
) -> BrokenCase:
    """Return the case of one file."""
    return BrokenCase(name, what, outcome, expected, lambda: {f"{name}.gguf": content()})
