"""What is known of the weights of models: looked at once, until a file changes."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from app.findings import Finding, FindingCode
from app.gguf.facts import ModelFacts
from app.gguf.weights_scan import can_scan, scan_weights

KEPT: Final = 1000
"""Models; the ones looked at last."""

_Key = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, slots=True)
class WeightsCheck:
    """What was found in the weights of a model.

    Attributes:
        is_full: Every byte was read, not only a sample.
    """

    findings: tuple[Finding, ...] = ()
    is_full: bool = False


class WeightsMemory:
    """Remembers by path, size and time of all parts, while the program runs. Any thread."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._lock = threading.Lock()
        self._known: dict[_Key, WeightsCheck] = {}

    def known(self, facts: ModelFacts) -> WeightsCheck | None:
        """Return what was found before in these very files; asks the drive for their sizes and times."""
        key = _key_of(facts)
        with self._lock:
            return None if key is None else self._known.get(key)

    def sample(
        self, facts: ModelFacts, is_cancelled: Callable[[], bool] = lambda: False
    ) -> WeightsCheck | None:
        """Return what is known, else look at a sample: half a second at most on a drive that answers.

        None where there is nothing to look at, and when cancelled.
        """
        return self.known(facts) or self._look(facts, lambda _share: None, is_cancelled, is_full=False)

    def check_all(
        self, facts: ModelFacts, on_progress: Callable[[float], None], is_cancelled: Callable[[], bool]
    ) -> WeightsCheck | None:
        """Read every byte, for as long as the drive takes; None as `sample`."""
        return self._look(facts, on_progress, is_cancelled, is_full=True)

    def _look(
        self,
        facts: ModelFacts,
        on_progress: Callable[[float], None],
        is_cancelled: Callable[[], bool],
        *,
        is_full: bool,
    ) -> WeightsCheck | None:
        key = _key_of(facts)
        if key is None or not can_scan(facts):
            return None
        findings = scan_weights(facts, is_full=is_full, on_progress=on_progress, is_cancelled=is_cancelled)
        if is_cancelled():
            return None
        check = WeightsCheck(findings, is_full)
        if all(finding.code is not FindingCode.WEIGHTS_UNREAD for finding in findings):
            self._keep(key, check)
        return check

    def _keep(self, key: _Key, check: WeightsCheck) -> None:
        with self._lock:
            self._known.pop(key, None)
            self._known[key] = check
            while len(self._known) > KEPT:
                del self._known[next(iter(self._known))]


WEIGHTS: Final = WeightsMemory()
"""Of this process: whoever looks at a file first spares everybody else the reading."""


def _key_of(facts: ModelFacts) -> _Key | None:
    try:
        stamps = [(file, file.stat()) for file in facts.files]
    except (OSError, ValueError):
        return None
    return tuple((str(file), status.st_size, status.st_mtime_ns) for file, status in stamps) or None
