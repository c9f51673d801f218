"""Several sources of GPUs as one: each card once, and a source that hangs costs its own values only."""

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, Protocol, runtime_checkable

from app.hardware.facts import DriverInfo, GpuInfo, GpuSample
from app.hardware.gpu_merge import Key, Place, filled, merge
from app.hardware.ports import GpuSource, SourceError
from app.hardware.probe import Outcome, Probe
from app.hardware.reading import Reading

LIST_TIMEOUT_SECONDS: Final = 5.0
CLOSE_TIMEOUT_SECONDS: Final = 1.0
READ_TIMEOUT_SECONDS: Final = 0.4
"""Below the sampler's own limit, so that it gets what the others answered."""

_log = logging.getLogger(__name__)


@runtime_checkable
class SleepAware(Protocol):
    """A source that knows, without asking its driver, whether a card is powered down."""

    def is_asleep(self, index: int) -> bool:
        """Return whether asking any driver about card `index` would wake it."""
        ...


class AllGpus:
    """The cards of all sources. Where two know a value, that of the source named first wins. Any thread.

    Attributes:
        members: The sources by name.
    """

    def __init__(
        self,
        members: Mapping[str, GpuSource],
        *,
        list_timeout_seconds: float = LIST_TIMEOUT_SECONDS,
        read_timeout_seconds: float = READ_TIMEOUT_SECONDS,
    ) -> None:
        """Ask nothing yet."""
        self.members = dict(members)
        self._list_timeout_seconds = list_timeout_seconds
        self._read_timeout_seconds = read_timeout_seconds
        self._lock = threading.Lock()
        self._indices: dict[Key, int] = {}
        self._places: dict[int, dict[str, Place]] = {}
        self._readings: dict[Place, Reading[GpuSample]] = {}

    def driver(self) -> DriverInfo | None:
        """Return the driver of the first source that names one.

        Raises:
            SourceError: none names one, and the first that refused says why.
        """
        refusal: SourceError | None = None
        for source in self.members.values():
            try:
                driver = source.driver()
            except SourceError as reason:
                refusal = refusal or reason
            else:
                if driver is not None:
                    return driver
        if refusal is not None:
            raise refusal
        return None

    def gpus(self) -> tuple[GpuInfo, ...]:
        """Return every card once, of the sources that answer in time.

        Raises:
            SourceError: no source answers, and the first that refused says why.
        """
        probes = {name: Probe(f"gpus {name}", source.gpus) for name, source in self.members.items()}
        deadline = time.monotonic() + self._list_timeout_seconds
        outcomes = {name: probe.outcome(deadline - time.monotonic()) for name, probe in probes.items()}
        lists = {name: outcome.value for name, outcome in outcomes.items() if outcome.value is not None}
        if not lists:
            raise _refusal(outcomes)
        return self.merged(lists)

    def merged(self, lists: Mapping[str, Sequence[GpuInfo]]) -> tuple[GpuInfo, ...]:
        """Return what sources listed as one list, and remember where to ask about each card.

        A card has the same index every time, whichever sources answer.
        """
        cards = merge([(name, lists[name]) for name in self.members if name in lists])
        with self._lock:
            found = []
            for card in cards:
                index = self._index(card.keys)
                self._places.setdefault(index, {}).update({place.source: place for place in card.places})
                found.append(replace(card.info, index=index))
        return tuple(found)

    def read(self, index: int) -> GpuSample:
        """Read a card once, at all sources that know it; one that sleeps is not asked about."""
        with self._lock:
            known = self._places.get(index, {})
            places = [known[name] for name in self.members if name in known]
        if any(self._sleeps(place) for place in places):
            return GpuSample(index)
        if len(places) == 1:
            sample = self.members[places[0].source].read(places[0].index)
            return replace(sample, index=index)
        answers = self._answers(places)
        sample = GpuSample(index)
        for answer in answers:
            sample = filled(sample, answer)
        return sample

    def close(self) -> None:
        """Let go of all drivers; one that fails or hangs is left alone."""
        closing = [Probe(f"close {name}", source.close) for name, source in self.members.items()]
        deadline = time.monotonic() + CLOSE_TIMEOUT_SECONDS
        for probe in closing:
            probe.outcome(deadline - time.monotonic())

    def _index(self, keys: Sequence[Key]) -> int:
        known = next((self._indices[key] for key in keys if key in self._indices), None)
        index = len(self._places) if known is None else known
        for key in keys:
            self._indices.setdefault(key, index)
        return index

    def _sleeps(self, place: Place) -> bool:
        source = self.members[place.source]
        return isinstance(source, SleepAware) and source.is_asleep(place.index)

    def _answers(self, places: Sequence[Place]) -> list[GpuSample]:
        readings = [self._reading(place) for place in places]
        for reading in readings:
            reading.ask()
        deadline = time.monotonic() + self._read_timeout_seconds
        answers = (reading.answer(deadline) for reading in readings)
        return [answer for answer in answers if answer is not None]

    def _reading(self, place: Place) -> Reading[GpuSample]:
        source = self.members[place.source]
        with self._lock:
            if place not in self._readings:
                name = f"{place.source} {place.index}"
                self._readings[place] = Reading(name, lambda: source.read(place.index))
            return self._readings[place]


def members_of(source: GpuSource) -> Mapping[str, GpuSource]:
    """Return the sources behind one, by the names findings call them."""
    return source.members if isinstance(source, AllGpus) else {"gpus": source}


def merged_by(source: GpuSource, lists: Mapping[str, Sequence[GpuInfo]]) -> tuple[GpuInfo, ...]:
    """Return the lists of `members_of(source)` as one."""
    if isinstance(source, AllGpus):
        return source.merged(lists)
    return tuple(gpu for gpus in lists.values() for gpu in gpus)


def _refusal(outcomes: Mapping[str, Outcome[tuple[GpuInfo, ...]]]) -> Exception:
    errors = [outcome.error for outcome in outcomes.values() if outcome.error is not None]
    return errors[0] if errors else SourceError("no-answer", ", ".join(outcomes))
