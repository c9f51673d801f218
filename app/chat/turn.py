"""One answer while it arrives: text, reasoning and figures, saved again and again."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from app.chat.conversation import Message, MessageState
from app.chat.reasoning import Piece, PieceKind, ReasoningSplitter
from app.engine.protocol import Failed, Finished, PromptProgress, Timings, Token
from app.findings import Finding, FindingError, Severity

AUTOSAVE_SECONDS: Final = 2.0

Number = TypeVar("Number", int | None, float | None)

TurnEvent = PromptProgress | Token | Finished | Failed
SaveMessage = Callable[[Message], None]
"""Saves a message, or raises `FindingError`: `ConversationStore.update`."""


@dataclass(frozen=True, slots=True)
class TurnFigures:
    """How fast an answer comes. `None` = not known yet.

    Attributes:
        timings: The engine's own where it gives them, else measured here.
        first_token_ms: From the question to the first text, reasoning included.
        tokens_per_second: Generation alone, without the time the prompt took.
    """

    timings: Timings
    first_token_ms: float | None
    tokens_per_second: float | None


class Turn:
    """Takes the engine's events of one answer. One thread.

    A save that fails does not stop the answer: its finding becomes a warning, and the next save tries
    again; when that one works the warning is gone.
    """

    def __init__(
        self,
        message: Message,
        save: SaveMessage,
        *,
        splitter: ReasoningSplitter | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start with `message`, the empty one that is to hold the answer."""
        self._failure: tuple[Finding, ...] = ()
        self._unsaved: tuple[Finding, ...] = ()
        self._message = message
        self._save_message = save
        self._splitter = splitter or ReasoningSplitter()
        self._clock = clock
        self._stopwatch = _Stopwatch(clock())
        self._saved_at = clock()
        self._answer: list[str] = []
        self._reasoning: list[str] = []

    @property
    def message(self) -> Message:
        """The answer as it is now. Costs as much as it is long: for saving and for the end."""
        return replace(
            self._message,
            content="".join(self._answer),
            reasoning="".join(self._reasoning).strip(),
            timings=self.figures.timings,
        )

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Why the answer failed, and why it is not saved."""
        return (*self._failure, *self._unsaved)

    @property
    def failure(self) -> Finding | None:
        """Why the answer failed."""
        return self._failure[0] if self._failure else None

    @property
    def is_done(self) -> bool:
        """True once it is complete, cancelled or failed."""
        return self._message.state is not MessageState.PARTIAL

    @property
    def figures(self) -> TurnFigures:
        """Speeds by now; cheap."""
        return self._stopwatch.figures(self._message.timings)

    def feed(self, event: TurnEvent) -> list[Piece]:
        """Take one event and return what can be shown now."""
        match event:
            case PromptProgress():
                self._stopwatch.prompt_tokens = event.total_tokens
                return []
            case Token():
                return self._token(event)
            case Finished():
                is_cancelled = event.finish_reason == "cancelled"
                state = MessageState.CANCELLED if is_cancelled else MessageState.COMPLETE
                return self._end(state, event.finish_reason, event.timings)
            case Failed():
                return self.fail(event.finding)

    def fail(self, finding: Finding) -> list[Piece]:
        """End because the engine could not go on; what came so far is kept."""
        if not self.is_done:
            self._failure = (finding,)
        return self._end(MessageState.FAILED, None, Timings())

    def cancel(self) -> list[Piece]:
        """End because the person does not want more, without the engine's word."""
        return self._end(MessageState.CANCELLED, "cancelled", Timings())

    def _token(self, event: Token) -> list[Piece]:
        now = self._clock()
        self._stopwatch.count(event.token_count, now)
        pieces = self._splitter.feed(event.text, is_reasoning=event.is_reasoning)
        self._collect(pieces)
        if now - self._saved_at >= AUTOSAVE_SECONDS:
            self._save()
        return pieces

    def _end(self, state: MessageState, finish_reason: str | None, timings: Timings) -> list[Piece]:
        if self.is_done:
            return []
        pieces = self._splitter.finish()
        self._collect(pieces)
        self._message = replace(self._message, state=state, finish_reason=finish_reason, timings=timings)
        self._save()
        return pieces

    def _collect(self, pieces: list[Piece]) -> None:
        for kind, text in pieces:
            match kind:
                case PieceKind.ANSWER:
                    self._answer.append(text)
                case PieceKind.REASONING:
                    self._reasoning.append(text)
                case PieceKind.MOVED:
                    self._reasoning += self._answer
                    self._answer = []

    def _save(self) -> None:
        self._saved_at = self._clock()
        try:
            self._save_message(self.message)
        except FindingError as reason:
            self._unsaved = (replace(reason.finding, severity=Severity.WARNING),)
        else:
            self._unsaved = ()


class _Stopwatch:
    """Times text as it arrives. The first piece ends the prompt; speed is what came after it."""

    def __init__(self, started: float) -> None:
        self.prompt_tokens: int | None = None
        self._started = started
        self._first = self._last = started
        self._first_tokens = 0
        self._tokens = 0

    def count(self, tokens: int, now: float) -> None:
        if not self._tokens:
            self._first, self._first_tokens = now, tokens
        self._tokens += tokens
        self._last = now

    def figures(self, engine: Timings) -> TurnFigures:
        first_ms = (self._first - self._started) * 1000.0 if self._tokens else None
        per_token_ms = self._per_token_ms()
        # the first piece was made while the prompt's time ran: it is given the average of the others
        measured_ms = None if per_token_ms is None else per_token_ms * self._tokens
        timings = Timings(
            _known(engine.prompt_tokens, self.prompt_tokens),
            _known(engine.prompt_ms, first_ms),
            _known(engine.predicted_tokens, self._tokens or None),
            _known(engine.predicted_ms, measured_ms),
            engine.cached_tokens,
        )
        return TurnFigures(timings, first_ms, timings.predicted_tokens_per_second)

    def _per_token_ms(self) -> float | None:
        later = self._tokens - self._first_tokens
        span_ms = (self._last - self._first) * 1000.0
        return span_ms / later if later > 0 and span_ms > 0 else None


def _known(given: Number, measured: Number) -> Number:
    return measured if given is None else given
