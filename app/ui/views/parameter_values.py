"""What is written into a field becomes a value, or the sentence that says what to write. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from app.options import BOUNDS
from app.ui.views.words import Words

WHOLE: Final = "whole"
DECIMAL: Final = "decimal"
_GROUPING: Final = str.maketrans("", "", ", \u00a0\u202f，_'")


class ValueRefused(Exception):
    """The text is no value of the field.

    Attributes:
        words: What to write instead.
    """

    def __init__(self, words: Words) -> None:
        super().__init__(words.key)
        self.words = words


@dataclass(frozen=True, slots=True)
class NumberField:
    """A number that is written.

    Attributes:
        name: Of the option; its bounds are in `BOUNDS`.
        kind: `WHOLE` or `DECIMAL`.
        empty: What an empty field means, as the end of a text key; None when it must not be empty.
    """

    name: str
    kind: str
    empty: str | None = None


def read_number(field: NumberField, text: str) -> int | float | None:
    """Return the number written; None for an empty field where that means something.

    Raises:
        ValueRefused: no number, or one out of bounds.
    """
    text = text.strip()
    low, high = BOUNDS[field.name]
    if not text and field.empty is not None:
        return None
    try:
        value = _number(field.kind, text)
    except ValueError:
        raise ValueRefused(_range_words(field, low, high)) from None
    if not low <= value <= high:  # also refuses nan
        raise ValueRefused(_range_words(field, low, high))
    return value


def number_text(value: float | None) -> str:
    """Return a value as it is written into its field."""
    if value is None:
        return ""
    return str(value) if isinstance(value, int) else f"{value:g}"


def read_stop(text: str) -> tuple[str, ...]:
    """Return the texts that end an answer, one a line; `\\n` and `\\t` as in program code."""
    lines = (line.replace("\\n", "\n").replace("\\t", "\t") for line in text.split("\n"))
    return tuple(dict.fromkeys(line for line in lines if line))


def stop_text(stop: tuple[str, ...]) -> str:
    """Return what `read_stop` reads back."""
    return "\n".join(text.replace("\n", "\\n").replace("\t", "\\t") for text in stop)


def creativity(temperature: float) -> str:
    """Return which word fits a temperature, as the end of a text key."""
    for limit, word in _CREATIVITY.items():
        if temperature <= limit:
            return word
    return "wild"


_CREATIVITY: Final[Mapping[float, str]] = {0.0: "exact", 0.35: "careful", 0.85: "balanced", 1.3: "creative"}

ANSWER_LENGTHS: Final[tuple[int | None, ...]] = (128, 256, 512, 1024, 2048, 4096, 8192, None)
CONTEXTS: Final = (2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288, 1048576)


def context_stops(context_length: int | None, *others: int | None) -> tuple[int, ...]:
    """Return what the context slider offers, sizes up to the model's own, and `others` wherever they lie."""
    most = context_length or CONTEXTS[-1]
    sizes = {size for size in CONTEXTS if size < most} | ({context_length} if context_length else set())
    return tuple(sorted(sizes | {size for size in others if size is not None}))


def length_stops(wished: int | None) -> tuple[int | None, ...]:
    """Return what the slider of the answer's length offers; the last is "no limit"."""
    sizes: set[int] = {size for size in (*ANSWER_LENGTHS, wished) if size is not None}
    return (*sorted(sizes), None)


def _number(kind: str, text: str) -> int | float:
    if kind == WHOLE:
        return int(text.translate(_GROUPING))
    if "," in text and "." not in text:
        text = text.replace(",", ".")
    return float(text)


def _range_words(field: NumberField, low: float, high: float) -> Words:
    values: dict[str, Any] = {"low": low, "high": high}
    if field.kind == WHOLE:
        values = {"low": int(low), "high": int(high)}
    if field.empty is None:
        return Words(f"ui.parameters.wrong.{field.kind}", values)
    values["empty"] = Words(f"ui.parameters.empty.{field.empty}")
    return Words(f"ui.parameters.wrong.{field.kind}_or_empty", values)
