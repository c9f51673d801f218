"""The ways NVML says "no value": errors, sentinels, missing functions; each field on its own, logged once."""

import logging
from collections.abc import Callable, Sequence
from typing import Any, Final

_log = logging.getLogger(__name__)

_NO_VALUE: Final = frozenset((2**32 - 1, 2**64 - 1))
"""NVML_VALUE_NOT_AVAILABLE as unsigned 32 and 64 bit."""


LARGEST_COUNT: Final = 2**48
"""256 TiB, or a frequency no card will have: more is rubbish."""

LONGEST_NAME: Final = 256


class Answers:
    """Asks one library. Any thread.

    Attributes:
        lost: Cards that said of themselves, or the driver of them, that they do not answer any more.
    """

    def __init__(self) -> None:
        self.lost: set[int] = set()
        self._logged: set[tuple[int | None, str]] = set()

    def value(self, nvml: Any, index: int | None, field: str, *calls: Callable[[], Any]) -> Any:
        """Return the first call's answer that is one; None, and one log line ever, when none is."""
        reason: Exception | None = None
        for call in calls:
            try:
                return call()
            except Exception as failure:  # noqa: BLE001  # a driver's fault in any shape costs this field only
                reason = failure
                if index is not None and getattr(failure, "value", None) == nvml.NVML_ERROR_GPU_IS_LOST:
                    self.lost.add(index)
        if (index, field) not in self._logged:
            self._logged.add((index, field))
            _log.info("NVML gives no %s for GPU %s: %s", field, index, reason)
        return None


def calls_named(nvml: Any, *names: str) -> Sequence[Callable[..., Any]]:
    """Return the functions of these names that this nvidia-ml-py has."""
    return [getattr(nvml, name) for name in names if hasattr(nvml, name)]


def text(value: Any) -> str | None:
    """Return a name; older versions give bytes."""
    words = value.decode("utf-8", errors="replace") if isinstance(value, bytes) else value
    if not isinstance(words, str):
        return None
    return words.partition("\0")[0].strip()[:LONGEST_NAME].encode("utf-8", "replace").decode() or None


def field_of(record: Any, name: str) -> int | None:
    """Return a count out of a structure."""
    return number(getattr(record, name, None))


def number(value: Any, most: int = LARGEST_COUNT) -> int | None:
    """Return a count; None for NVML's ways to say "not available", and for what counts nothing."""
    if not isinstance(value, int) or value in _NO_VALUE:
        return None
    return int(value) if 0 <= value <= most else None


def pair(value: Any) -> tuple[int, int] | None:
    """Return two counts, as of a compute capability."""
    if not isinstance(value, list | tuple) or len(value) != 2:
        return None
    first, second = number(value[0]), number(value[1])
    return None if first is None or second is None else (first, second)
