"""Separates what a model thinks from what it answers, while the text is still arriving."""

from collections.abc import Callable, Mapping
from enum import Enum, StrEnum, auto
from typing import Final, NamedTuple

from app.chat.marks import (
    CHANNEL,
    CLOSERS,
    MESSAGE,
    MESSAGE_ENDS,
    NEXT_MESSAGE,
    OPENERS,
    START,
    TAG_PAIRS,
    first_mark,
    mark_at_start,
    may_become_mark,
    shown_length,
    without_space,
)

_LONGEST_HEADER: Final = 256
"""Characters of a gpt-oss message header; text that goes on longer is none."""


class PieceKind(StrEnum):
    """What a piece of streamed text is."""

    ANSWER = "answer"
    REASONING = "reasoning"
    MOVED = "moved"


class Piece(NamedTuple):
    """Text to show. `MOVED` has none: it says that everything shown as answer so far was reasoning."""

    kind: PieceKind
    text: str


class ReasoningSplitter:
    """Splits one answer; the result does not depend on where the stream is cut.

    Rules:

    1. Text the engine marked is reasoning as it stands, and what follows it is answer as it stands.
    2. A block counts only before the answer began: first thing in the stream, or right after another block.
       White space (no-break and zero-width too) may precede its opener. Later tags are plain text.
    3. gpt-oss channels: `final`, and `commentary` that calls no tool, are answer; the others are reasoning.
    4. A closer without an opener ends reasoning that the prompt had opened. What stood before it may be on
       screen as answer already, so `MOVED` is sent, once. Not when an opener stood in that text, and not
       for a closer between backticks: then the model is writing about tags.
    5. White space beside a tag is layout and is dropped. Every other character comes out, at `finish` at
       the latest; only what may still become a mark is held back.
    """

    def __init__(self, opened_by_prompt: str | None = None) -> None:
        """Start a stream.

        Args:
            opened_by_prompt: The opener the prompt ended with (`opener_in_template`), if it did.
        """
        self._held = ""
        self._last_shown = ""
        self._closer = TAG_PAIRS[opened_by_prompt] if opened_by_prompt else None
        self._state = _State.BEGIN
        self._pieces: list[Piece] = []

    def feed(self, text: str, *, is_reasoning: bool = False) -> list[Piece]:
        """Take more of the stream and return what can be shown now."""
        if is_reasoning:
            self._held = self._held if without_space(self._held) else ""
            self._flush()
            self._show(PieceKind.REASONING, text)
            self._state = _State.ANSWER
        else:
            self._held += text
            while self._held and _STEPS[self._state](self):
                pass
        return self._taken()

    def finish(self) -> list[Piece]:
        """End the stream and return what was held back."""
        if self._state is _State.OPEN_ANSWER and self._held in CLOSERS:
            self._move(0, self._held)
        self._flush()
        return self._taken()

    def _flush(self) -> None:
        held, self._held = self._held, ""
        match self._state:
            case _State.REASONING | _State.CHANNEL_REASONING:
                self._show(PieceKind.REASONING, held)
            case _State.BEGIN if self._closer:
                self._show(PieceKind.REASONING, held)
            case _State.AFTER:
                self._show(PieceKind.ANSWER, without_space(held))
            case _State.CHANNEL_ANSWER if _is_message_end(held):
                pass
            case _State.CHANNEL_HEADER | _State.BETWEEN_CHANNELS:
                pass
            case _:
                self._show(PieceKind.ANSWER, held)

    def _show(self, kind: PieceKind, text: str) -> None:
        if text:
            self._last_shown = text[-1]
            self._pieces.append(Piece(kind, text))

    def _taken(self) -> list[Piece]:
        taken, self._pieces = self._pieces, []
        return taken

    # One step per state. True: look again, there may be more to do with what is held.

    def _begin(self) -> bool:
        """Nothing shown yet, or only blocks: the next thing decides."""
        text = without_space(self._held)
        if opener := mark_at_start(text, OPENERS):
            self._closer = TAG_PAIRS[opener]
            return self._go(_State.OPENED, text[len(opener) :])
        if mark_at_start(text, (CHANNEL, START)):
            return self._go(_State.BETWEEN_CHANNELS, text)
        if may_become_mark(text, (*OPENERS, CHANNEL, START)):
            return False
        if self._state is _State.AFTER:
            return self._go(_State.ANSWER, text)
        return self._go(_State.OPENED if self._closer else _State.OPEN_ANSWER, self._held)

    def _opened(self) -> bool:
        text = without_space(self._held)
        return self._go(_State.REASONING if text else _State.OPENED, text)

    def _reasoning(self) -> bool:
        closer = self._closer or CLOSERS[0]
        found = first_mark(self._held, (closer,))
        if found is None:
            return self._show_safe(PieceKind.REASONING, (closer,))
        self._show(PieceKind.REASONING, self._held[: found[0]])
        return self._go(_State.AFTER, self._held[found[0] + len(closer) :])

    def _open_answer(self) -> bool:
        """An answer in which a closer may still show that it was reasoning."""
        found = first_mark(self._held, (*OPENERS, *CLOSERS))
        if found is None:
            return self._show_safe(PieceKind.ANSWER, (*OPENERS, *CLOSERS))
        position, tag = found
        before = self._held[position - 1] if position else self._last_shown
        after = self._held[position + len(tag) :][:1]
        if tag in OPENERS or (before == "`" and after == "`"):
            return self._go(_State.ANSWER, self._held)
        if before == "`" and not after:
            self._show(PieceKind.ANSWER, self._held[:position])
            self._held = tag
            return False
        return self._move(position, tag)

    def _move(self, position: int, closer: str) -> bool:
        self._pieces.append(Piece(PieceKind.MOVED, ""))
        self._show(PieceKind.REASONING, self._held[:position])
        return self._go(_State.AFTER, self._held[position + len(closer) :])

    def _answer(self) -> bool:
        self._show(PieceKind.ANSWER, self._held)
        return self._go(_State.ANSWER, "")

    def _between_channels(self) -> bool:
        """Before a message of gpt-oss: end marks, a role, a channel; anything else is an answer."""
        text = without_space(self._held)
        if mark := mark_at_start(text, (CHANNEL, *MESSAGE_ENDS)):
            state = _State.CHANNEL_HEADER if mark == CHANNEL else _State.BETWEEN_CHANNELS
            return self._go(state, text[len(mark) :])
        if text.startswith(START):
            return self._role(text)
        if may_become_mark(text, (CHANNEL, START, *MESSAGE_ENDS)):
            return False
        return self._go(_State.ANSWER, text)

    def _role(self, text: str) -> bool:
        found = first_mark(text, (CHANNEL, MESSAGE))
        if found is None or found[0] > _LONGEST_HEADER:
            return self._is_no_header(text)
        position, mark = found
        if mark == MESSAGE:
            return self._go(_State.CHANNEL_ANSWER, text[position + len(mark) :])
        return self._go(_State.BETWEEN_CHANNELS, text[position:])

    def _channel_header(self) -> bool:
        position = self._held.find(MESSAGE)
        if not 0 <= position <= _LONGEST_HEADER:
            return self._is_no_header(self._held)
        name = self._held[:position].strip()
        is_answer = name.startswith("final") or (name.startswith("commentary") and "to=" not in name)
        state = _State.CHANNEL_ANSWER if is_answer else _State.CHANNEL_REASONING
        return self._go(state, self._held[position + len(MESSAGE) :])

    def _channel_reasoning(self) -> bool:
        marks = (*MESSAGE_ENDS, START, CHANNEL)
        found = first_mark(self._held, marks)
        if found is None:
            return self._show_safe(PieceKind.REASONING, marks)
        self._show(PieceKind.REASONING, self._held[: found[0]])
        return self._go(_State.BETWEEN_CHANNELS, self._held[found[0] :])

    def _channel_answer(self) -> bool:
        """An end mark ends the answer only before another message or at the end of the stream."""
        marks = (*MESSAGE_ENDS, NEXT_MESSAGE)
        found = first_mark(self._held, marks)
        if found is None:
            return self._show_safe(PieceKind.ANSWER, marks)
        position, mark = found
        self._show(PieceKind.ANSWER, self._held[:position])
        self._held = self._held[position:]
        if mark == NEXT_MESSAGE:
            return self._go(_State.BETWEEN_CHANNELS, self._held)
        if _is_message_end(self._held):
            return False
        if without_space(self._held[len(mark) :]).startswith(START):
            return self._go(_State.BETWEEN_CHANNELS, self._held)
        self._show(PieceKind.ANSWER, mark)
        return self._go(_State.CHANNEL_ANSWER, self._held[len(mark) :])

    def _is_no_header(self, text: str) -> bool:
        """Give up on a header without end, so that no text is held back for ever."""
        return len(text) > _LONGEST_HEADER + len(MESSAGE) and self._go(_State.ANSWER, text)

    def _go(self, state: "_State", rest: str) -> bool:
        self._state, self._held = state, rest
        return bool(rest)

    def _show_safe(self, kind: PieceKind, marks: tuple[str, ...]) -> bool:
        length = shown_length(self._held, marks)
        self._show(kind, self._held[:length])
        self._held = self._held[length:]
        return False


def _is_message_end(text: str) -> bool:
    """Say whether `text` is an end mark with nothing after it that could not become another message."""
    mark = mark_at_start(text, MESSAGE_ENDS)
    return (
        mark is not None
        and may_become_mark(without_space(text[len(mark) :]), (START,))
        and (not text.endswith(START))
    )


class _State(Enum):
    BEGIN = auto()
    AFTER = auto()
    OPENED = auto()
    REASONING = auto()
    OPEN_ANSWER = auto()
    ANSWER = auto()
    BETWEEN_CHANNELS = auto()
    CHANNEL_HEADER = auto()
    CHANNEL_REASONING = auto()
    CHANNEL_ANSWER = auto()


_STEPS: Final[Mapping[_State, Callable[[ReasoningSplitter], bool]]] = {
    _State.BEGIN: ReasoningSplitter._begin,
    _State.AFTER: ReasoningSplitter._begin,
    _State.OPENED: ReasoningSplitter._opened,
    _State.REASONING: ReasoningSplitter._reasoning,
    _State.OPEN_ANSWER: ReasoningSplitter._open_answer,
    _State.ANSWER: ReasoningSplitter._answer,
    _State.BETWEEN_CHANNELS: ReasoningSplitter._between_channels,
    _State.CHANNEL_HEADER: ReasoningSplitter._channel_header,
    _State.CHANNEL_REASONING: ReasoningSplitter._channel_reasoning,
    _State.CHANNEL_ANSWER: ReasoningSplitter._channel_answer,
}
