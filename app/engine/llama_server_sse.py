"""Server-sent events of a chat completion: bytes, cut anywhere, become parts of an answer."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from app.engine.protocol import Timings

EVENT_LIMIT_BYTES: Final = 16 * 1024**2
DONE: Final = "[DONE]"


class SseError(Exception):
    """The stream is not what an OpenAI-style server sends."""


@dataclass(frozen=True, slots=True)
class AnswerPart:
    """One event of the stream. `None` = the event does not speak of it.

    Attributes:
        prompt_progress: Tokens of the prompt read so far (cached ones included), and of all of it.
        finish_reason: The server's own word, in the last part.
        error: What the server reports instead of an answer.
    """

    content: str = ""
    reasoning: str = ""
    prompt_progress: tuple[int, int] | None = None
    timings: Timings | None = None
    finish_reason: str | None = None
    error: Mapping[str, Any] | None = None


class EventReader:
    """Collects bytes until an event is whole."""

    def __init__(self) -> None:
        self._pending = b""
        self._data: list[bytes] = []
        self._size_bytes = 0

    def feed(self, chunk: bytes) -> Iterator[str]:
        """Yield the data of every event that `chunk` completes.

        Raises:
            SseError: an event is larger than `EVENT_LIMIT_BYTES`, or not UTF-8.
        """
        lines = (self._pending + chunk).splitlines(keepends=True)
        # a CR at the very end may be half of a CRLF
        self._pending = lines.pop() if lines and not lines[-1].endswith(b"\n") else b""
        if len(self._pending) + self._size_bytes > EVENT_LIMIT_BYTES:
            raise SseError(f"an event exceeds {EVENT_LIMIT_BYTES} bytes")
        for line in lines:
            event = self._take(line.rstrip(b"\r\n"))
            if event is not None:
                yield event

    def _take(self, line: bytes) -> str | None:
        if not line:
            data, self._data, self._size_bytes = self._data, [], 0
            return _decoded(b"\n".join(data)) if data else None
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
            self._size_bytes += len(value)
            if self._size_bytes > EVENT_LIMIT_BYTES:
                raise SseError(f"an event exceeds {EVENT_LIMIT_BYTES} bytes")
        elif name == b"error":  # older servers send errors as a field of their own
            self._data.append(b'{"error":' + value + b"}")
        return None


def read_part(data: str) -> AnswerPart:
    """Read the data of one event other than `DONE`.

    Raises:
        SseError: it is no JSON object of the expected shape.
    """
    try:
        chunk = json.loads(data)
        if chunk.get("error") is not None:
            return AnswerPart(error=_error(chunk["error"]))
        choices = chunk.get("choices") or [{}]
        delta = choices[0].get("delta") or {}
        return AnswerPart(
            content=_text(delta.get("content")),
            reasoning=_text(delta.get("reasoning_content")),
            prompt_progress=_progress(chunk.get("prompt_progress")),
            timings=_timings(chunk.get("timings")),
            finish_reason=_optional_text(choices[0].get("finish_reason")),
        )
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as reason:
        raise SseError(f"{type(reason).__name__}: {reason}") from reason


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as reason:
        raise SseError(str(reason)) from reason


def _text(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TypeError(f"text is {value!r:.80}")
    # JSON can spell half a surrogate pair, which no UTF-8 line can carry on
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _optional_text(value: object) -> str | None:
    return None if value is None else _text(value)


def _error(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {"message": str(value)}


def _progress(value: Any) -> tuple[int, int] | None:
    return None if value is None else (int(value["processed"]), int(value["total"]))


def _timings(value: Any) -> Timings | None:
    if value is None:
        return None
    return Timings(
        prompt_tokens=_optional_int(value.get("prompt_n")),
        prompt_ms=_optional_float(value.get("prompt_ms")),
        predicted_tokens=_optional_int(value.get("predicted_n")),
        predicted_ms=_optional_float(value.get("predicted_ms")),
        cached_tokens=_optional_int(value.get("cache_n")),
    )


def _optional_int(value: Any) -> int | None:
    return None if value is None else int(value)


def _optional_float(value: Any) -> float | None:
    return None if value is None else float(value)
