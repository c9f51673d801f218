"""Reads groups of files side by side, each in a limited child: faster, and no file can hurt this process."""

import os
import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

from app.findings import FindingCode, error
from app.gguf.facts import FileKind, ModelFacts
from app.gguf.inspect_file import InspectedFile
from app.library.child_jobs import MODEL_ROWS
from app.library.group_rows import GREETING, question_of, rows_of
from app.library.model_files import FileGroup
from app.library.model_summary import ModelSummary
from app.parsing.child import ChildError, ChildReason, LimitedChild

READERS_MAX: Final = 4
_AHEAD: Final = 4
"""Groups per reader that are taken in before their rows must be fetched."""

_LOOK_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class ReadGroup:
    """The rows of a group.

    Attributes:
        is_lasting: False when the file was not read to its end: the next try may show more.
    """

    group: FileGroup
    rows: tuple[ModelSummary, ...]
    is_lasting: bool = True


def readers_here() -> int:
    """Return how many readers pay on this machine; 0 with one core, where they would only take turns."""
    usable = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    return min(len(usable), READERS_MAX) if len(usable) > 1 else 0


def _new_child() -> LimitedChild:
    return LimitedChild(MODEL_ROWS)


class RowReaders:
    """Threads with a limited child each. For one thread at a time; leaving it ends them all.

    A child that gives no answer costs the one file, which becomes a row with a finding, and is replaced. One
    that cannot even be started is done without: its thread reads by itself.
    """

    def __init__(
        self, count: int, is_cancelled: Callable[[], bool], new_child: Callable[[], LimitedChild] = _new_child
    ) -> None:
        """Start `count` readers; `new_child` makes what they ask."""
        self._is_cancelled = is_cancelled
        self._new_child = new_child
        self._ended = threading.Event()
        self._waiting: queue.SimpleQueue[FileGroup | None] = queue.SimpleQueue()
        self._read: queue.SimpleQueue[ReadGroup] = queue.SimpleQueue()
        self._open = 0
        self._most_open = count * _AHEAD
        self._threads = [
            threading.Thread(target=self._work, name=f"row-reader-{number}", daemon=True)
            for number in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, reason: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        for _ in self._threads:
            self._waiting.put(None)
        for thread in self._threads:
            thread.join()

    def read(self, group: FileGroup) -> Iterator[ReadGroup]:
        """Have a group read, and yield what is ready; waits only while too much is under way."""
        self._waiting.put(group)
        self._open += 1
        return self._ready(self._most_open)

    def rest(self) -> Iterator[ReadGroup]:
        """Yield everything that is still under way; less when it is cancelled meanwhile."""
        return self._ready(0)

    def _ready(self, most_open: int) -> Iterator[ReadGroup]:
        while self._open:
            try:
                if self._open <= most_open:
                    ready = self._read.get_nowait()
                else:
                    ready = self._read.get(timeout=_LOOK_SECONDS)
            except queue.Empty:
                if self._open <= most_open or self._is_cancelled():
                    return
                continue
            self._open -= 1
            yield ready

    def _work(self) -> None:
        child = self._new_child()
        answers = self._greets(child)
        while (group := self._waiting.get()) is not None and not self._ended.is_set():
            if not answers:
                self._read.put(ReadGroup(group, rows_of(group)))
                continue
            try:
                rows = child.ask(question_of(group), is_cancelled=self._ended.is_set)
                self._read.put(ReadGroup(group, tuple(map(ModelSummary.from_json, rows))))
                continue
            except ChildError as failure:
                reason = failure.reason
            except (KeyError, TypeError, ValueError):  # no rows of ours: foreign bytes speak there
                reason = ChildReason.DIED
                child.close()
            self._read.put(ReadGroup(group, (_unread(group, reason),), is_lasting=False))
            answers = self._greets(child)
        child.close()

    def _greets(self, child: LimitedChild) -> bool:
        """Say whether a child answers at all, before a file is blamed for its silence."""
        if self._ended.is_set():
            return False
        try:
            child.ask(GREETING, is_cancelled=self._ended.is_set)
        except ChildError:
            return False
        return True


def _unread(group: FileGroup, reason: ChildReason) -> ModelSummary:
    path = group.first
    files = tuple(part.path for part in group.parts)
    size = sum(part.size_bytes or 0 for part in group.parts)
    finding = error(FindingCode.HEADER_UNREAD, file=path.name, reason=f"child-{reason.value}")
    facts = ModelFacts(path, FileKind.UNKNOWN, files=files, size_bytes=size)
    times = [part.modified_ns for part in group.parts if part.modified_ns is not None]
    return ModelSummary.from_inspected(InspectedFile(facts, (finding,)), max(times, default=None))
