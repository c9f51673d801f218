"""`moxie plan PATH`: what of a model goes into VRAM, RAM and disk."""

import argparse
import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from app.cli.context import EXIT_OK, CliContext, UsageError
from app.cli.expert_options import add_expert_arguments, expert_wishes
from app.cli.gpu_option import (
    add_gpu_argument,
    chosen_entry,
    excluded_gpus,
    look_at_engine,
    look_at_recorded_engine,
)
from app.cli.inspected import inspect_argument
from app.cli.numbers import given_text, moe_wish, shown, whole_number
from app.cli.placed import blocks_in_ram
from app.cli.plan_speeds import EngineHere, measure_speeds, say_gains, say_speed, say_steps
from app.engine.effective_command import command_lines, line_changes
from app.engine.engine_on_machine import EngineOnMachine
from app.engine.packs import choose_engine
from app.findings import Finding, FindingCode, FindingError
from app.gguf.facts import ModelFacts
from app.hardware.recording import Recording, read_recording
from app.library.plan_memory import PlanMemory, recorded_speeds
from app.options import ALL_LAYERS, EngineOptions
from app.planner.facts import DevicePlan, ExpertWishes, LadderStep, MemoryBudget, OffloadPlan, Wishes
from app.planner.plan import plan_offload
from app.planner.report import ModelReport, judge_place, report_of
from app.planner.speed_gains import SpeedGain, speed_gains
from app.texts import Texts, format_bytes

KV_TYPES: Final = ("f16", "q8_0", "q4_0")
LARGEST_SIZE_BYTES: Final = 2**60

_SIZE: Final = re.compile(r"(\d{1,20}(?:\.\d{1,6})?) ?(?:([kmgt])(?:i?b)?|b)?", re.IGNORECASE | re.ASCII)
_EXPONENTS: Final = {"k": 1, "m": 2, "g": 3, "t": 4}


def add_arguments(parser: argparse.ArgumentParser, texts: Texts) -> None:
    """Declare what `moxie plan` takes."""
    parser.add_argument("path", metavar="PATH", type=given_text(texts), help=texts.text("cli.plan.path.help"))
    parser.add_argument("--vram", metavar="SIZE[,SIZE]", help=texts.text("cli.plan.vram.help"))
    parser.add_argument("--ram", metavar="SIZE", help=texts.text("cli.plan.ram.help"))
    parser.add_argument("--context", metavar="N", help=texts.text("cli.plan.context.help"))
    parser.add_argument(
        "--moe", metavar="auto|off|all|N", default="auto", help=texts.text("cli.plan.moe.help")
    )
    parser.add_argument("--kv", choices=KV_TYPES, help=texts.text("cli.plan.kv.help"))
    machine_help = texts.text("cli.plan.machine.help")
    parser.add_argument("--machine", metavar="FILE", type=given_text(texts), help=machine_help)
    add_gpu_argument(parser, texts)
    add_expert_arguments(parser, texts)
    parser.add_argument("--command", action="store_true", help=texts.text("cli.plan.command.help"))
    parser.add_argument("--measure", action="store_true", help=texts.text("cli.plan.measure.help"))
    parser.add_argument("--json", action="store_true", help=texts.text("cli.plan.json.help"))


def run(args: argparse.Namespace, context: CliContext) -> int:
    """Plan and print.

    Raises:
        UsageError: a value cannot be understood, or nothing is at the path.
    """
    wishes = Wishes(
        moe=moe_wish(args.moe, context.texts),
        n_ctx=whole_number("--context", args.context, "n_ctx", context.texts),
        kv_type=args.kv,
        expert=expert_wishes(args, context.texts),
    )
    inspected = inspect_argument(args.path, context.texts)
    budget, seen = _budget(args, context)
    if args.measure and (args.machine is not None or args.vram is not None):
        raise UsageError(context.texts.text("cli.plan.measure_here"))
    report = report_of(inspected, budget, wishes)
    if report.plan is not None:
        budget = _with_speeds(args, context, inspected.facts, budget, seen, wishes)
        report = report_of(inspected, budget, wishes)
    gains = speed_gains(report.facts, budget, wishes, report.plan) if report.plan else ()
    report = replace(report, findings=(*report.findings, *_of_machine(args, seen, report)))
    if args.json:
        document = to_json(report, gains)
        if args.command:
            told = _command(report, budget, wishes, context)
            document["command"] = [{"mark": mark, "line": line} for mark, line in told]
        context.print_json(document)
    elif args.command:
        context.say("cli.plan.command.title", engine=choose_engine(None, context.settings.engine).name)
        for mark, line in _command(report, budget, wishes, context):
            context.print_line(f"{mark} {line}")
    else:
        _print_report(report, gains, context)
    return EXIT_OK


def _command(
    report: ModelReport, budget: MemoryBudget, wishes: Wishes, context: CliContext
) -> tuple[tuple[str, str], ...]:
    """Return what the chosen engine is told, and what of it is not the plan's own choice."""
    spec = choose_engine(None, context.settings.engine)
    if report.plan is None:
        return ()
    path = report.facts.path
    usual = plan_offload(report.facts, budget, replace(wishes, expert=ExpertWishes()))
    return line_changes(
        command_lines(spec, path, usual.options), command_lines(spec, path, report.plan.options)
    )


def to_json(report: ModelReport, gains: tuple[SpeedGain, ...] = ()) -> dict[str, Any]:
    """Return the contract's document; without a plan its values are null."""
    plan = report.plan
    findings = [*report.findings, *(plan.findings if plan else ())]
    return {
        "path": str(report.facts.path),
        "options": plan.options.to_json() if plan else None,
        "devices": [_device_json(device) for device in plan.devices] if plan else [],
        "ram_bytes": plan.ram_bytes if plan else None,
        "disk_bytes": plan.disk_bytes if plan else None,
        "kv_cache_bytes": plan.kv_cache_bytes if plan else None,
        "compute_bytes": plan.compute_bytes if plan else None,
        "tokens_per_second": _speed_json(plan),
        "ladder": [_step_json(step) for step in (plan.ladder if plan else ())],
        "bigger_context": _step_json(plan.bigger_context) if plan and plan.bigger_context else None,
        "forecast": asdict(plan.forecast) if plan and plan.forecast else None,
        "expert_cache": asdict(plan.expert_cache) if plan and plan.expert_cache else None,
        "gains": [asdict(gain) for gain in gains],
        "findings": [finding.to_json() for finding in findings],
    }


def parse_size(value: str) -> int | None:
    """Return the bytes `value` names, units 1024-based; None when it names no size."""
    found = _SIZE.fullmatch(value.strip())
    if not found:
        return None
    size = round(float(found[1]) * 1024 ** _EXPONENTS.get((found[2] or "").lower(), 0))
    return size if size <= LARGEST_SIZE_BYTES else None


def _budget(args: argparse.Namespace, context: CliContext) -> tuple[MemoryBudget, EngineOnMachine]:
    """Return what to plan with, and what it was taken from."""
    texts = context.texts
    vram = None if args.vram is None else [_size(item, texts) for item in args.vram.split(",")]
    ram = None if args.ram is None else _size(args.ram, texts)
    seen = _look_here(args, context) if args.machine is None else _look_at_recorded(args, context)
    machine = seen.budget
    if ram is None and not machine.ram_free_bytes:
        raise UsageError(texts.text("cli.plan.ram_unknown"))
    budget = machine
    if ram is not None:
        budget = replace(budget, ram_free_bytes=ram, commit_left_bytes=None)
    if vram is not None:
        gpus = tuple(vram) if any(vram) else ()
        screens = tuple(i == 0 for i in range(len(gpus)))
        budget = replace(
            budget, vram_free_bytes=gpus, drives_display=screens, shared_vram_bytes=(), devices=()
        )
    return budget, seen


def _with_speeds(
    args: argparse.Namespace,
    context: CliContext,
    model: ModelFacts,
    budget: MemoryBudget,
    seen: EngineOnMachine,
    wishes: Wishes,
) -> MemoryBudget:
    """Return the budget with what was measured: here, or on the machine of a recording."""
    if args.machine is not None:
        return replace(budget, speeds=recorded_speeds(seen.hardware))
    if args.measure:
        choose_engine(None, context.settings.engine)  # says why, where there is none
    entry = chosen_entry(context)
    if args.vram is not None or entry is None:
        return budget
    memory, spec = PlanMemory(), seen.spec(entry.spec)
    if args.measure:
        return measure_speeds(context, EngineHere(memory, spec, seen.hardware), model, budget, wishes)
    return memory.taught(budget, model, spec, seen.hardware)


def _of_machine(args: argparse.Namespace, seen: EngineOnMachine, report: ModelReport) -> tuple[Finding, ...]:
    """Return what engine, memory and drive will cost, as far as they are those of the question."""
    hardware = seen.hardware
    if args.machine is not None and hardware.host is not None:
        hardware = replace(hardware, host=replace(hardware.host, disks=()))
    of_place = judge_place(hardware, report.plan, report.facts.path) if args.ram is None else ()
    return (*seen.findings, *of_place)


def _size(value: str, texts: Texts) -> int:
    size = parse_size(value)
    if size is None:
        raise UsageError(texts.text("cli.plan.bad_size", value=shown(value)))
    return size


def _look_here(args: argparse.Namespace, context: CliContext) -> EngineOnMachine:
    # imported here: a plan for a recorded machine needs no driver
    from app.hardware.this_machine import detect_this_machine

    hardware = detect_this_machine()
    # sizes given are to plan with whatever engine there is
    entry = chosen_entry(context) if args.vram is None else None
    return look_at_engine(entry, hardware, excluded_gpus(args.gpu, hardware, context))


def _look_at_recorded(args: argparse.Namespace, context: CliContext) -> EngineOnMachine:
    recording = _recording(args.machine, context.texts)
    if args.vram is not None:
        recording = replace(recording, engine=None)
    excluded = None if args.gpu is None else excluded_gpus(args.gpu, recording.facts, context)
    return look_at_recorded_engine(recording, excluded)


def _recording(file: str, texts: Texts) -> Recording:
    try:
        return read_recording(Path(file))
    except FindingError as reason:
        if reason.finding.code is not FindingCode.PATH_MISSING:
            raise
        raise UsageError(texts.finding(reason.finding).message) from reason


def _step_json(step: LadderStep) -> dict[str, Any]:
    speed = step.tokens_per_second
    return {
        "name": step.name,
        "options": step.options.to_json(),
        "changes": list(step.changes),
        "vram_bytes": step.vram_bytes,
        "ram_bytes": step.ram_bytes,
        "disk_bytes": step.disk_bytes,
        "tokens_per_second": asdict(speed) if speed else None,
        "sacrifices": [given_up.value for given_up in step.sacrifices],
    }


def _device_json(device: DevicePlan) -> dict[str, Any]:
    return {
        "name": device.name,
        "free_bytes": device.free_bytes,
        "planned_bytes": device.planned_bytes,
        "expected_error_bytes": device.expected_error_bytes,
        "parts": {part.value: size for part, size in device.parts.items()},
    }


def _speed_json(plan: OffloadPlan | None) -> dict[str, float] | None:
    speed = plan.tokens_per_second if plan else None
    return {"low": speed.low, "high": speed.high} if speed else None


def _print_report(report: ModelReport, gains: tuple[SpeedGain, ...], context: CliContext) -> None:
    facts, plan = report.facts, report.plan
    context.say("cli.plan.title", name=facts.name or facts.path.name, size=facts.size_bytes)
    if plan is None:
        context.say("cli.plan.none")
        context.print_findings(report.findings)
        return
    for device in plan.devices:
        context.say("cli.plan.device", name=device.name, planned=device.planned_bytes, free=device.free_bytes)
        for part, size in sorted(device.parts.items(), key=lambda item: -item[1]):
            words = context.texts.text(f"plan.part.{part.value}")
            context.say("cli.plan.part", size=format_bytes(size), part=words)
    if plan.disk_bytes:
        context.say("cli.plan.disk", disk=plan.disk_bytes)
    _print_options(facts, plan.options, context)
    say_speed(plan, context)
    say_steps(plan, context)
    say_gains(gains, context)
    context.print_findings([*report.findings, *plan.findings])


def _print_options(facts: ModelFacts, options: EngineOptions, context: CliContext) -> None:
    is_all = options.n_gpu_layers >= ALL_LAYERS
    context.say(
        "cli.plan.options",
        layers=context.texts.text("cli.plan.layers_all") if is_all else options.n_gpu_layers,
        experts_in_ram=blocks_in_ram(facts, options),
        expert_blocks=len(facts.expert_layers),
        n_ctx=options.n_ctx,
        kv_type=options.type_k,
        threads=options.n_threads,
    )
