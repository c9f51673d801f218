"""What sessions told, until the GUI thread takes it: tokens that come faster than it wakes come together."""

from collections.abc import Iterator
from dataclasses import dataclass
from threading import Lock

from app.engine.protocol import Token
from app.engine.session_state import SessionEvent


@dataclass(frozen=True, slots=True)
class SessionNews:
    """What a session told.

    Attributes:
        session: Number its owner gave it: news of one that was let go can still be under way.
    """

    session: int
    event: SessionEvent


class NewsQueue:
    """Keeps the order. Neighbouring tokens of one answer become one, which counts as many."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: list[SessionNews] = []
        self._is_woken = False
        self._is_resting = False

    def put(self, news: SessionNews) -> bool:
        """Add news; True when the GUI thread is to be woken. Any thread."""
        with self._lock:
            self._waiting.append(news)
            if self._is_woken or (self._is_resting and isinstance(news.event, Token)):
                return False
            self._is_woken = True
            return True

    def take(self) -> tuple[list[SessionNews], bool]:
        """Return all news, and whether tokens are among them: until the next call more tokens wake nobody."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
            self._is_woken = False
            self._is_resting = is_resting = any(isinstance(news.event, Token) for news in waiting)
        return list(_joined(waiting)), is_resting


def _joined(waiting: list[SessionNews]) -> Iterator[SessionNews]:
    start = 0
    while start < len(waiting):
        stop = start + 1
        while stop < len(waiting) and _is_same_answer(waiting[start], waiting[stop]):
            stop += 1
        yield _as_one(waiting[start:stop])
        start = stop


def _is_same_answer(one: SessionNews, other: SessionNews) -> bool:
    first, second = one.event, other.event
    return (
        isinstance(first, Token)
        and isinstance(second, Token)
        and (one.session, first.request_id, first.is_reasoning)
        == (other.session, second.request_id, second.is_reasoning)
    )


def _as_one(run: list[SessionNews]) -> SessionNews:
    if len(run) == 1:
        return run[0]
    tokens = [news.event for news in run if isinstance(news.event, Token)]
    text = "".join(token.text for token in tokens)
    count = sum(token.token_count for token in tokens)
    first = tokens[0]
    return SessionNews(run[0].session, Token(first.request_id, text, first.is_reasoning, count))
