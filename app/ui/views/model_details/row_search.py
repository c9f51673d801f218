"""Finds rows in short pieces of work, so that typing never waits for a long table."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from PySide6.QtCore import QObject, Signal

from app.ui.views.slices import Slices

_STEP: Final = 64
"""Rows between two looks at the clock."""

_FIRST_SECONDS: Final = 0.003


class RowSearch(QObject):
    """Goes through indices and keeps those that match.

    Signals:
        found: the matching indices in the order they were given, as a list.
    """

    found = Signal(object)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._slices = Slices(self)

    @property
    def is_running(self) -> bool:
        """The answer is still to come."""
        return self._slices.is_running

    def start(self, order: Sequence[int], matches: Callable[[int], bool] | None) -> None:
        """Search anew; an unfinished search is forgotten. None matches everything, at once."""
        self._slices.stop()
        if matches is None:
            self.found.emit(order)
            return
        kept: list[int] = []
        self._slices.start(_steps(order, matches, kept), lambda: self.found.emit(kept), _FIRST_SECONDS)

    def stop(self) -> None:
        """Forget an unfinished search."""
        self._slices.stop()


def _steps(order: Sequence[int], matches: Callable[[int], bool], kept: list[int]) -> Iterator[None]:
    for start in range(0, len(order), _STEP):
        kept.extend(index for index in order[start : start + _STEP] if matches(index))
        yield
