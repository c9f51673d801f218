"""How fast a plan will be, what that rests on, and what would be faster, as sentences not yet said. Pure."""

from collections.abc import Iterator
from typing import Final

from app.planner.facts import DiskReads, ExpertCacheOutlook, OffloadPlan, SpeedForecast
from app.planner.speed_gains import GainKind, SpeedGain
from app.ui.views.state_words import speed_figure
from app.ui.views.words import Words

_GB: Final = 1e9
"""Of drives, as they are sold."""


def speed_lines(plan: OffloadPlan) -> tuple[Words, ...]:
    """Return what there is to say beside the range itself; nothing where no speed is known."""
    told = plan.forecast
    return () if told is None else tuple(_lines(told))


def basis_words(told: SpeedForecast) -> Words:
    """Return what a forecast rests on."""
    return Words(f"plan.basis.{told.basis.value}")


def gain_lines(gains: tuple[SpeedGain, ...], cache: ExpertCacheOutlook | None) -> tuple[Words, ...]:
    """Return what more of something would bring; and an engine's own cache, where it would read less."""
    lines = [_gain(gain) for gain in gains]
    if cache is not None and cache.reads_fewer_from_ram:
        lines.append(
            Words(
                "ui.plan.gains.cache",
                {"share": cache.cached_share, "low": cache.hit_share_low, "high": cache.hit_share_high},
            )
        )
    return tuple(lines)


def _lines(told: SpeedForecast) -> Iterator[Words]:
    if told.prefill is not None and told.first_answer_seconds is not None:
        soonest, latest = map(_seconds, told.first_answer_seconds)
        yield Words(
            "ui.plan.speed.prompt",
            {
                "low": speed_figure(told.prefill.low),
                "high": speed_figure(told.prefill.high),
                "tokens": told.prompt_tokens,
                "soonest": soonest,
                "latest": latest,
            },
        )
    if told.disk is not None:
        yield from _of_disk(told.disk)


def _of_disk(disk: DiskReads) -> Iterator[Words]:
    yield Words(
        "ui.plan.cycle.below" if disk.is_below_cliff else "ui.plan.cycle.above",
        {
            "cycle": disk.token_cycle_bytes,
            "cache": disk.cache_bytes,
            "hits": disk.hit_share,
            "missed": disk.missed_bytes,
        },
    )
    if disk.bytes_per_second is None:
        yield Words("ui.plan.cycle.drive_unknown")
        return
    hits = Words("plan.hits.stated" if disk.is_hit_stated else "plan.hits.reported")
    yield Words("ui.plan.cycle.drive", {"speed": disk.bytes_per_second, "hits": hits})


def _gain(gain: SpeedGain) -> Words:
    speed = gain.tokens_per_second
    amount = gain.amount / _GB if gain.kind is GainKind.DRIVE else round(gain.amount)
    return Words(
        "ui.plan.gains.line",
        {
            "what": Words(f"plan.gain.{gain.kind.value}", {"amount": amount}),
            "low": speed_figure(speed.low),
            "high": speed_figure(speed.high),
            "factor": gain.factor,
        },
    )


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f}" if seconds < 10 else f"{seconds:.0f}"
