"""How fast an answer comes right now, a few times a second. No Qt."""

from dataclasses import dataclass
from typing import Final

from app.engine.protocol import PromptProgress, Token

INTERVAL_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class Speed:
    """A speed since the last one told.

    Attributes:
        tokens_per_second: None while there is nothing to divide.
        is_prefill: The prompt is being read.
    """

    tokens_per_second: float | None
    is_prefill: bool


class SpeedMeter:
    """Counts tokens between two tellings."""

    def __init__(self, now: float) -> None:
        """Begin with the prompt."""
        self._since = now
        self._tokens = 0
        self._read_tokens = 0
        self._is_prefill = True

    def feed(self, event: PromptProgress | Token, now: float) -> Speed | None:
        """Take an event; return a speed when it is time to tell one."""
        if isinstance(event, PromptProgress):
            self._tokens += max(0, event.processed_tokens - self._read_tokens)
            self._read_tokens = event.processed_tokens
        elif self._is_prefill:
            # the first text was made while the prompt's time ran
            self._begin(now, is_prefill=False)
            return Speed(None, is_prefill=False)
        else:
            self._tokens += event.token_count
        passed = now - self._since
        if passed < INTERVAL_SECONDS:
            return None
        speed = Speed(self._tokens / passed, self._is_prefill)
        self._begin(now, is_prefill=self._is_prefill)
        return speed

    def _begin(self, now: float, *, is_prefill: bool) -> None:
        self._since = now
        self._tokens = 0
        self._is_prefill = is_prefill
