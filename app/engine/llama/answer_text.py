"""Bytes of tokens to text: whole characters only, ended by stop texts."""

import codecs
from collections.abc import Sequence


class AnswerText:
    """Collects token bytes and gives out text that is safe to show.

    Attributes:
        is_stopped: A stop text has been reached; it and what follows is not given out.
    """

    def __init__(self, stop: Sequence[str] = ()) -> None:
        """Start an answer that ends at any text of `stop`."""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._stop = tuple(text for text in stop if text)
        self._held = ""
        self.is_stopped = False

    def feed(self, piece: bytes) -> str:
        """Return what can be shown now; the rest may be half a character or the start of a stop text."""
        self._held += self._decoder.decode(piece)
        found = [position for text in self._stop if (position := self._held.find(text)) >= 0]
        if found:
            self.is_stopped = True
            return self._take(min(found))
        return self._take(len(self._held) - self._suspicious())

    def rest(self) -> str:
        """Return text held back for a stop text that never came; half a character is dropped."""
        return "" if self.is_stopped else self._take(len(self._held))

    def _take(self, count: int) -> str:
        ready, self._held = self._held[:count], self._held[count:]
        return ready

    def _suspicious(self) -> int:
        """Return how many characters at the end could begin a stop text."""
        longest = max((len(text) for text in self._stop), default=1) - 1
        for count in range(min(longest, len(self._held)), 0, -1):
            tail = self._held[-count:]
            if any(text.startswith(tail) for text in self._stop):
                return count
        return 0
