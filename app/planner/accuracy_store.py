"""Keeps engines' figures from one start to the next, in one small file."""

import json
import threading
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from app.files import read_regular, write_atomically
from app.findings import FindingError
from app.planner.accuracy import Measured, Source
from app.planner.corrections import PartGroup

LARGEST_FILE_BYTES: Final = 1024**2
MOST_FIGURES: Final = 1500
"""Some 250 bytes each, so the file stays below its limit."""

LONGEST_NAME: Final = 100
LARGEST_SIZE_BYTES: Final = 2**62


class AccuracyStore:
    """The figures in order, oldest first. Any thread; blocks for the file."""

    def __init__(self, file: Path | None) -> None:
        """Read nothing yet.

        Args:
            file: None keeps them in memory only.
        """
        self._file = file
        self._lock = threading.Lock()
        self._figures: tuple[Measured, ...] | None = None

    def figures(self) -> tuple[Measured, ...]:
        """Return all; a file that is missing or damaged holds none."""
        with self._lock:
            return self._read()

    def add(self, figures: Iterable[Measured]) -> None:
        """Append what is new; the same figure again becomes the newest, and the oldest go.

        Raises:
            FindingError: the file cannot be written. The figures count all the same until the program ends.
        """
        with self._lock:
            merged = dict.fromkeys(self._read())
            for figure in filter(_is_sane, figures):
                merged.pop(figure, None)
                merged[figure] = None
            self._figures = tuple(merged)[-MOST_FIGURES:]
            if self._file is not None:
                text = json.dumps([asdict(figure) for figure in self._figures])
                write_atomically(self._file, text.encode("ascii"))

    def _read(self) -> tuple[Measured, ...]:
        if self._figures is None:
            self._figures = () if self._file is None else _figures_in(self._file)
        return self._figures


def read_figures(content: bytes) -> tuple[Measured, ...]:
    """Return the figures a file holds; what is no figure is left out. Never raises."""
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        return ()
    if not isinstance(data, list):
        return ()
    found = (_figure(value) for value in data[-MOST_FIGURES:])
    return tuple(figure for figure in found if figure is not None)


def _figures_in(file: Path) -> tuple[Measured, ...]:
    try:
        return read_figures(read_regular(file, LARGEST_FILE_BYTES))
    except FindingError:
        return ()


def _figure(value: Any) -> Measured | None:
    try:
        figure = Measured(
            build=str(value["build"]),
            architecture=str(value["architecture"]),
            device=str(value["device"]),
            part=PartGroup(value["part"]),
            planned_bytes=value["planned_bytes"],
            engine_bytes=value["engine_bytes"],
            source=Source(value["source"]),
        )
    except (LookupError, TypeError, ValueError):
        return None
    return figure if _is_sane(figure) else None


def _is_sane(figure: Measured) -> bool:
    sizes = (figure.planned_bytes, figure.engine_bytes)
    names = (figure.build, figure.architecture, figure.device)
    are_sizes = all(type(size) is int and 0 <= size < LARGEST_SIZE_BYTES for size in sizes)
    return are_sizes and all(0 < len(name) <= LONGEST_NAME for name in names)
