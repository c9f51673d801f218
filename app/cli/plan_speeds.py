"""What `moxie plan` knows of speeds, measures of them on request, and says about them."""

from dataclasses import dataclass
from typing import Final

from app.cli.context import CliContext
from app.engine.spec import EngineSpec
from app.gguf.facts import ModelFacts
from app.hardware.facts import HardwareFacts
from app.library.plan_memory import PlanMemory
from app.planner.facts import LadderStep, MemoryBudget, OffloadPlan, SpeedForecast, Wishes
from app.planner.plan import plan_offload
from app.planner.speed_gains import GainKind, SpeedGain

_MOST_ROUNDS: Final = 4
"""Processor, cards, and once more each where the plan moved by what was measured."""


@dataclass(frozen=True, slots=True)
class EngineHere:
    """An engine on this machine, and what is known of both."""

    memory: PlanMemory
    spec: EngineSpec
    hardware: HardwareFacts


def measure_speeds(
    context: CliContext, here: EngineHere, model: ModelFacts, budget: MemoryBudget, wishes: Wishes
) -> MemoryBudget:
    """Calibrate the engine for a model, as far as that is missing; return the budget with it.

    Raises:
        FindingError: the engine does not start.
    """
    for _ in range(_MOST_ROUNDS):
        budget = here.memory.taught(budget, model, here.spec, here.hardware)
        plan = plan_offload(model, budget, wishes)
        request = here.memory.to_measure(here.spec, here.hardware, model, plan)
        if request is None:
            break
        names = tuple(dict.fromkeys(name for name, _ in request.groups))
        context.tell("cli.plan.measuring", engine=here.spec.name, types=names)
        here.memory.measure(here.hardware, request)
    return budget


def say_speed(plan: OffloadPlan, context: CliContext) -> None:
    """Print how fast the plan will be, and what that rests on."""
    told = plan.forecast
    if told is None:
        context.say("cli.plan.speed_unknown")
        return
    basis = context.texts.text(f"plan.basis.{told.basis.value}")
    context.say("cli.plan.speed", low=told.decode.low, high=told.decode.high, basis=basis)
    if told.prefill is not None and told.first_answer_seconds is not None:
        soonest, latest = told.first_answer_seconds
        context.say(
            "cli.plan.prefill",
            low=told.prefill.low,
            high=told.prefill.high,
            tokens=told.prompt_tokens,
            soonest=soonest,
            latest=latest,
        )
    _say_disk(told, context)


def say_gains(gains: tuple[SpeedGain, ...], context: CliContext) -> None:
    """Print what more of something would bring."""
    for gain in gains:
        speed = gain.tokens_per_second
        key = f"plan.gain.{gain.kind.value}"
        amount = gain.amount / 1e9 if gain.kind is GainKind.DRIVE else round(gain.amount)
        words = context.texts.text(key, amount=amount)
        context.say("cli.plan.gain", what=words, low=speed.low, high=speed.high, factor=gain.factor)


def say_steps(plan: OffloadPlan, context: CliContext) -> None:
    """Print the safer plans, and the one with the bigger context."""
    for step in plan.ladder[1:]:
        _say_step("cli.plan.ladder", step, context)
    if plan.bigger_context is not None:
        _say_step("cli.plan.bigger", plan.bigger_context, context)


def _say_step(key: str, step: LadderStep, context: CliContext) -> None:
    texts = context.texts
    values = step.options.to_json()
    changes = tuple(f"{name} {values[name]}" for name in step.changes)
    context.say(
        key,
        name=texts.text(f"plan.ladder.{step.name}"),
        changes=changes,
        vram=step.vram_bytes,
        ram=step.ram_bytes,
    )
    if step.sacrifices:
        lost = tuple(texts.text(f"plan.sacrifice.{lost.value}") for lost in step.sacrifices)
        context.say("cli.plan.sacrifices", lost=lost)


def _say_disk(told: SpeedForecast, context: CliContext) -> None:
    disk = told.disk
    if disk is None:
        return
    context.say(
        "cli.plan.cycle_below" if disk.is_below_cliff else "cli.plan.cycle",
        cycle=disk.token_cycle_bytes,
        cache=disk.cache_bytes,
        missed=disk.missed_bytes,
        hits=disk.hit_share,
    )
    if disk.bytes_per_second:
        stated = "stated" if disk.is_hit_stated else "reported"
        hits = context.texts.text(f"plan.hits.{stated}")
        context.say("cli.plan.drive", speed=disk.bytes_per_second, hits=hits)
