"""Looks at every sample while answers come: whether a driver moved part of the model to RAM. No Qt."""

from collections.abc import Iterable

from app.findings import Finding, FindingCode
from app.hardware.facts import GpuInfo, GpuSample, Sample
from app.hardware.verdicts_memory import Speeds, judge_use


class UseWatch:
    """Of one load; says each thing once, however long it stays so."""

    def __init__(self) -> None:
        """Begin with a model that was just loaded."""
        self._at_load: dict[int, GpuSample] = {}
        self._best: float | None = None
        self._last: float | None = None
        self._told: set[tuple[FindingCode, int]] = set()

    def add_speed(self, tokens_per_second: float) -> None:
        """Take the speed of an answer."""
        self._last = tokens_per_second
        self._best = max(self._best or 0.0, tokens_per_second)

    def add_sample(self, sample: Sample, gpus: Iterable[GpuInfo]) -> tuple[Finding, ...]:
        """Take a reading of the machine; return what is new in it. The first is the one to compare with."""
        now = {reading.index: reading for reading in sample.gpus}
        speeds = None if self._best is None or self._last is None else Speeds(self._best, self._last)
        found: list[Finding] = []
        for gpu in gpus:
            reading = now.get(gpu.index)
            if reading is None:
                continue
            before = self._at_load.setdefault(gpu.index, reading)
            for finding in judge_use(gpu, before, reading, speeds):
                if (finding.code, gpu.index) not in self._told:
                    self._told.add((finding.code, gpu.index))
                    found.append(finding)
        return tuple(found)
