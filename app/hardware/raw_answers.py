"""What sources were asked and what they said, word for word, beside the facts made of it: for bug reports."""

import ctypes
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any, Final, TypeVar, cast

MOST_ANSWERS: Final = 5000
LONGEST_ANSWER: Final = 16 * 1024
"""Characters; a longer one is cut, and says so."""

_DEEPEST: Final = 6
_LONGEST_LIST: Final = 500
_SECRET: Final = "serial"
"""In the name of a question or a field: its answer names one single part."""

T = TypeVar("T")
Clean = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """One question.

    Attributes:
        source: `nvml`, `dxgi`, `pdh`, `files` ...
        question: A function with its arguments, or a file.
        answer: JSON, or the file's text; None when there was none.
        error: What was raised instead.
    """

    source: str
    question: str
    answer: str | None = None
    error: str | None = None


class RawAnswers:
    """Collects answers. Any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._told: list[tuple[str, str, Any, str | None]] = []

    def add(self, source: str, question: str, answer: Any, failure: str | None = None) -> None:
        """Keep one answer; what comes after the first thousands is dropped."""
        if _SECRET in question.lower():
            return
        told = (source, question, plain(answer), failure)
        with self._lock:
            if len(self._told) < MOST_ANSWERS:
                self._told.append(told)

    def watched(self, source: str, thing: T) -> T:
        """Return a stand-in for a module or object, that passes every call on and keeps its answer."""
        return cast(T, _Watched(self, source, thing))

    def told(self, clean: Clean) -> tuple[RawAnswer, ...]:
        """Return everything, each text in it cleaned of names."""
        with self._lock:
            told = list(self._told)
        return tuple(
            RawAnswer(
                source,
                clean(question),
                None if answer is None else _text(_cleaned(answer, clean)),
                None if failure is None else clean(failure),
            )
            for source, question, answer, failure in told
        )


class NoAnswers(RawAnswers):
    """Keeps nothing, and stands between nobody."""

    def watched(self, source: str, thing: T) -> T:  # noqa: ARG002  # the base class's signature
        """Return the thing itself."""
        return thing


class _Watched:
    def __init__(self, answers: RawAnswers, source: str, thing: Any) -> None:
        self._answers = answers
        self._source = source
        self._thing = thing

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._thing, name)
        if not callable(found) or isinstance(found, type) or name.startswith("_"):
            return found

        def ask(*values: Any, **named: Any) -> Any:
            question = _question(name, values, named)
            try:
                answer = found(*values, **named)
            except Exception as reason:
                self._answers.add(self._source, question, None, f"{type(reason).__name__}: {reason}")
                raise
            self._answers.add(self._source, question, answer)
            return answer

        return ask


def plain(value: Any, depth: int = 0) -> Any:
    """Return anything as what JSON has; what is neither text, number nor made of them becomes its kind."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes):
        return value.split(b"\0", 1)[0].decode("utf-8", errors="replace")
    if depth >= _DEEPEST:
        return f"<{type(value).__name__}>"
    if isinstance(value, ctypes.Structure):
        fields = [field[0] for field in getattr(value, "_fields_", ())]
        value = {name: getattr(value, name) for name in fields}
    elif is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, Mapping):
        named = {str(name): item for name, item in value.items() if _SECRET not in str(name).lower()}
        return {name: plain(item, depth + 1) for name, item in named.items()}
    if isinstance(value, list | tuple | set | frozenset | ctypes.Array):
        return [plain(item, depth + 1) for item in list(value)[:_LONGEST_LIST]]
    if hasattr(value, "__dict__") and type(value).__name__ == "nvmlFriendlyObject":
        return plain(vars(value), depth)
    return f"<{type(value).__name__}>"


def _cleaned(value: Any, clean: Clean) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(name): _cleaned(item, clean) for name, item in value.items()}
    return [_cleaned(item, clean) for item in value] if isinstance(value, list) else value


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = "".join(c if not "\ud800" <= c <= "\udfff" else "\ufffd" for c in text)
    return text if len(text) <= LONGEST_ANSWER else f"{text[:LONGEST_ANSWER]} ... ({len(text)})"


def _question(name: str, values: tuple[Any, ...], named: Mapping[str, Any]) -> str:
    told = [str(plain(value)) for value in values]
    told += [f"{key}={plain(value)}" for key, value in named.items()]
    return f"{name}({', '.join(told)})"[:500]
