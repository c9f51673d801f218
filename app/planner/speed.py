"""How fast a placement answers, as a range, from what was measured and nothing else."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from statistics import median
from typing import Final

from app.gguf.facts import ModelFacts
from app.options import EngineOptions, default_n_threads, default_repack
from app.planner.facts import DiskReads, MemoryBudget, SpeedForecast, SpeedRange
from app.planner.measured_speeds import Calibration, MachineSpeeds, SpeedBasis, SpeedCorrection, WeightKind
from app.planner.placement import Placement
from app.planner.speed_disk import disk_reads, missed_seconds
from app.planner.speed_history import place_key
from app.planner.speed_prefill import prefill_seconds
from app.planner.speed_reads import Group, Reads, TypeShares, cpu_reads, gpu_reads, type_shares

PROMPT_TOKENS: Final = 512
"""Of the prompt that the first answer is waited for."""

ENGINE_SHARE: Final = 0.5
"""Of the speed at which memory can be read, what engines reach: measured 0.34 to 0.49 (llama-cpp-python
0.3.36, one and two threads), others report up to 0.8 with all cores."""

UNCERTAIN: Final = 3**0.5
UNCERTAINTY: Final = {
    SpeedBasis.MEASURED_HERE: 1.2,
    SpeedBasis.CALIBRATED: 1.4,
    SpeedBasis.BANDWIDTH: UNCERTAIN,
}
"""The time may be so many times shorter or longer. None is above the root of 3: high / low <= 3."""

_ORDER: Final = tuple(SpeedBasis)


@dataclass(frozen=True, slots=True)
class Tier:
    """What one kind of device does for a token.

    Attributes:
        calibration: None where the engine was never measured on it.
        bytes_per_second: What to go by without.
    """

    name: str
    reads: Reads
    calibration: Calibration | None
    bytes_per_second: float | None
    basis: SpeedBasis

    @property
    def seconds(self) -> float | None:
        """What a token takes, blocks' own time left out; None when that was not measured."""
        total = 0.0
        for group, size in self.reads.weights.items():
            rate = self._rate(group)
            if not rate:
                return None
            total += size / rate
        if self.reads.cache:
            rate = self._rate(("F16", WeightKind.DENSE))
            if not rate:
                return None
            total += self.reads.cache / rate
        return total

    @property
    def overhead_seconds(self) -> float:
        """What its blocks take beside their weights."""
        return self.reads.blocks * self.calibration.block_seconds if self.calibration else 0.0

    def _rate(self, group: Group) -> float | None:
        if self.calibration is None or not self.calibration.types:
            return self.bytes_per_second
        name, kind = group
        types = self.calibration.types
        of_kind = [t for t in types if t.kind is kind] or list(types)
        exact = [t.decode_bytes_per_second for t in of_kind if t.type_name == name]
        return exact[0] if exact else median(t.decode_bytes_per_second for t in of_kind)


def tokens_per_second(
    model: ModelFacts,
    placement: Placement,
    disk_bytes: int,
    budget: MemoryBudget,
    options: EngineOptions | None = None,
    shares: TypeShares | None = None,
) -> SpeedRange | None:
    """Return the decode speed, or None when something the placement depends on was not measured."""
    told = forecast(model, placement, disk_bytes, budget, options, shares)
    return told.decode if told else None


def forecast(
    model: ModelFacts,
    placement: Placement,
    disk_bytes: int,
    budget: MemoryBudget,
    options: EngineOptions | None = None,
    shares: TypeShares | None = None,
) -> SpeedForecast | None:
    """Return how fast a placement answers in a short conversation; None as in `tokens_per_second`.

    Each token reads all weights outside the experts, the used share of the routed experts, and the cache so
    far; every block takes a little beside. What RAM cannot hold comes from the drive before it is used.

    Args:
        options: Those that will be in force; by default what a plan takes of its own accord.
        shares: Of the model, where they are known already.
    """
    speeds = budget.speeds or MachineSpeeds()
    correction = speeds.correction_of(place_key(options) if options else None)
    shares = type_shares(model) if shares is None else shares
    tiers = _tiers(model, placement, budget, options, shares)
    disk = disk_reads(model, placement.cpu_parts, disk_bytes, budget)
    seconds = _seconds(tiers, disk, _threads(budget, options))
    if seconds is None:
        return _measured_only(correction, disk)
    bases = [tier.basis for tier in tiers if tier.reads.total]
    told = _told(seconds, bases, correction, is_from_disk=disk is not None)
    prompt = prefill_seconds(model, placement, tiers, disk, budget, PROMPT_TOKENS)
    return _with_prompt(told, disk, prompt)


def _seconds(tiers: Iterable[Tier], disk: DiskReads | None, threads: int) -> dict[str, float] | None:
    """Return what a token takes, by tier; None when something was not measured."""
    seconds: dict[str, float] = {}
    for tier in tiers:
        taken = tier.seconds
        if taken is None:
            return None
        seconds[tier.name] = taken
    if disk is not None:
        missing = missed_seconds(disk, threads)
        if missing is None:
            return None
        seconds["disk"] = missing
    seconds["overhead"] = sum(tier.overhead_seconds for tier in tiers)
    return seconds if sum(seconds.values()) else None


def _measured_only(correction: SpeedCorrection | None, disk: DiskReads | None) -> SpeedForecast | None:
    """Return what answers took, where there is nothing to predict from."""
    speed = correction.tokens_per_second if correction else None
    if not speed:
        return None
    near = UNCERTAINTY[SpeedBasis.MEASURED_HERE]
    decode = SpeedRange(speed / near, speed * near)
    return SpeedForecast(decode, speed, SpeedBasis.MEASURED_HERE, {}, disk=disk)


def _told(
    seconds: dict[str, float],
    bases: Iterable[SpeedBasis],
    correction: SpeedCorrection | None,
    *,
    is_from_disk: bool,
) -> SpeedForecast:
    basis = max(bases, key=_ORDER.index)
    factor = 1.0
    if correction is not None:
        speed = correction.tokens_per_second
        factor = speed * sum(seconds.values()) if speed else correction.factor
        seconds = {name: taken / factor for name, taken in seconds.items()}
        if correction.is_same_plan:
            basis = SpeedBasis.MEASURED_HERE
    total = sum(seconds.values())
    near = UNCERTAINTY[basis]
    from_disk = seconds.get("disk", 0.0) if is_from_disk and basis is not SpeedBasis.MEASURED_HERE else 0.0
    shortest = (total - from_disk) / near + from_disk / UNCERTAIN
    longest = (total - from_disk) * near + from_disk * UNCERTAIN
    decode = SpeedRange(1 / longest, 1 / shortest)
    return SpeedForecast(decode, 1 / total, basis, seconds, correction_factor=factor)


def _with_prompt(told: SpeedForecast, disk: DiskReads | None, prompt: float | None) -> SpeedForecast:
    if prompt is None:
        return replace(told, disk=disk)
    near = UNCERTAIN if disk is not None else UNCERTAINTY[SpeedBasis.CALIBRATED]
    return replace(
        told,
        prefill=SpeedRange(PROMPT_TOKENS / prompt / near, PROMPT_TOKENS / prompt * near),
        prompt_tokens=PROMPT_TOKENS,
        first_answer_seconds=(prompt / near + 1 / told.decode.high, prompt * near + 1 / told.decode.low),
        disk=disk,
    )


def _tiers(
    model: ModelFacts,
    placement: Placement,
    budget: MemoryBudget,
    options: EngineOptions | None,
    shares: TypeShares,
) -> tuple[Tier, ...]:
    speeds = budget.speeds or MachineSpeeds()
    memory = speeds.memory_bytes_per_second
    plain = memory * ENGINE_SHARE if memory else None
    tiers = []
    if any(placement.gpu_items):
        found = speeds.calibration("GPU", 0, repack=False)
        is_shared = any(budget.shared_vram_bytes)  # its memory is RAM
        rate = budget.vram_bytes_per_second or (plain if is_shared else None)
        tiers.append(
            _tier("vram", gpu_reads(model, placement, shares), found, rate, budget.vram_bytes_per_second)
        )
    repack = options.repack if options else default_repack(model.routed_expert_bytes, budget.ram_free_bytes)
    found = speeds.calibration("CPU", _threads(budget, options), repack=repack)
    rate = budget.ram_bytes_per_second or plain
    tiers.append(_tier("ram", cpu_reads(model, placement, shares), found, rate, budget.ram_bytes_per_second))
    return tuple(tiers)


def _tier(
    name: str, reads: Reads, calibration: Calibration | None, rate: float | None, of_engine: float | None
) -> Tier:
    is_engines = of_engine is not None or (calibration is not None and bool(calibration.types))
    return Tier(name, reads, calibration, rate, SpeedBasis.CALIBRATED if is_engines else SpeedBasis.BANDWIDTH)


def _threads(budget: MemoryBudget, options: EngineOptions | None) -> int:
    return options.n_threads if options else default_n_threads(budget.performance_cores, budget.busy_cores)
