"""`moxie repair PATH`: make a file load that engines refuse, by values given at load or by a patched copy."""

import argparse
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from app.cli.context import EXIT_FAILED, EXIT_OK, CliContext
from app.cli.inspected import inspect_argument
from app.cli.numbers import given_text
from app.cli.repair_report import RepairAnswer, print_check, print_plan, print_repairs, to_json
from app.cli.repair_values import value_of, with_values_set
from app.findings import Finding, FindingCode, FindingError, Severity, error
from app.gguf.copy_writer import write_copy
from app.gguf.inspect_file import InspectedFile, inspect_path
from app.gguf.patched_copy import CopyPlan, plan_copy
from app.gguf.repair import RepairKind, choice_at_load, repairs_for
from app.gguf.repair_facts import RepairChoice, RightValue, ValueSource
from app.hardware.this_machine import detect_this_machine
from app.library.repair_check import check_copy
from app.library.repair_memory import RepairMemory
from app.parsing.template_findings import with_template_checked
from app.texts import Texts

_TOLD_SECONDS: Final = 0.5


def add_arguments(parser: argparse.ArgumentParser, texts: Texts) -> None:
    """Declare what `repair` takes."""
    given = given_text(texts)
    parser.add_argument("path", metavar="PATH", type=given, help=texts.text("cli.repair.path.help"))
    parser.add_argument("--json", action="store_true", help=texts.text("cli.repair.json.help"))
    parser.add_argument("--plan", action="store_true", help=texts.text("cli.repair.plan.help"))
    parser.add_argument("--copy", action="store_true", help=texts.text("cli.repair.copy.help"))
    parser.add_argument("--out", metavar="FILE", type=given, help=texts.text("cli.repair.out.help"))
    parser.add_argument(
        "--set", metavar="KEY=VALUE", action="append", default=[], help=texts.text("cli.repair.set.help")
    )
    overrides = parser.add_mutually_exclusive_group()
    overrides.add_argument("--with-override", action="store_true", help=texts.text("cli.repair.with.help"))
    overrides.add_argument(
        "--without-override", action="store_true", help=texts.text("cli.repair.without.help")
    )
    parser.add_argument("--yes", action="store_true", help=texts.text("cli.repair.yes.help"))


def run(args: argparse.Namespace, context: CliContext) -> int:
    """Show every repair first; write only what was agreed to. Exit 0 when the model loads as it is asked for.

    Raises:
        UsageError: nothing at the path, or a value that does not fit.
    """
    inspected = _decided(args, inspect_argument(args.path, context.texts), context)
    answer = RepairAnswer(inspected, repairs_for(inspected))
    wants_copy = args.copy or args.out is not None
    if not args.json:
        print_repairs(answer.repairs, context)
    if wants_copy or any(repair.kind is RepairKind.PATCHED_COPY for repair in answer.repairs):
        answer = _with_copy(args, answer, context)
    else:
        answer = _without_copy(answer, context, as_lines=not args.json)
    if args.json:
        context.print_json(to_json(answer))
    else:
        context.print_findings(answer.findings)
    return EXIT_FAILED if any(f.severity is Severity.ERROR for f in answer.findings) else EXIT_OK


def _decided(args: argparse.Namespace, inspected: InspectedFile, context: CliContext) -> InspectedFile:
    """Remember what was decided on the command line, and look at the file again with it."""
    choice = with_values_set(inspected.choice, args.set, inspected, context.texts)
    if args.without_override:
        rights = with_template_checked(inspected).inspected.right_values
        choice = replace(choice, off=frozenset(r.key for r in rights if r.is_overridable and r.is_decided))
    elif args.with_override:
        choice = replace(choice, off=frozenset())
    if choice != inspected.choice:
        before, inspected = inspected.choice, inspect_path(inspected.facts.path, choice)
        kept = choice_at_load(inspected)
        is_for_copy = args.copy or args.out is not None
        if kept != before and not args.plan and not is_for_copy:
            context.print_findings(RepairMemory().remember(inspected.facts.path, kept), to_err=True)
    return with_template_checked(inspected).inspected


def _without_copy(answer: RepairAnswer, context: CliContext, *, as_lines: bool) -> RepairAnswer:
    inspected = answer.inspected
    if as_lines and inspected.loadable:
        context.say("cli.repair.at_load" if inspected.facts.kv_overrides else "cli.repair.nothing_to_do")
    findings = tuple(finding for finding in inspected.findings if finding.severity is Severity.ERROR)
    needed = tuple(
        _value_needed(inspected, right) for right in inspected.right_values if _is_needed(right, findings)
    )
    return replace(answer, findings=(*findings, *needed))


def _with_copy(args: argparse.Namespace, answer: RepairAnswer, context: CliContext) -> RepairAnswer:
    target = None if args.out is None else Path(args.out).absolute()
    is_asking = (
        not args.json and not args.yes and not args.plan and sys.stdin is not None and sys.stdin.isatty()
    )
    try:
        plan = plan_copy(answer.inspected, target)
        if plan.undecided and is_asking:
            plan = plan_copy(_asked(answer.inspected, plan.undecided, context), target)
    except FindingError as reason:
        return replace(answer, findings=(*answer.findings, reason.finding))
    answer = replace(answer, plan=plan)
    if not args.json:
        print_plan(plan, context)
    if plan.left:
        codes = tuple(dict.fromkeys(finding.code.value for finding in plan.left))
        impossible = error(FindingCode.REPAIR_IMPOSSIBLE, file=plan.source.name, codes=codes)
        return replace(answer, findings=(*plan.left, impossible))
    if plan.undecided:
        needed = tuple(_value_needed(answer.inspected, right) for right in plan.undecided)
        return replace(answer, findings=needed)
    if args.plan or not (args.yes or (is_asking and _is_yes(context))):
        if not args.json and not args.plan:
            context.tell("cli.repair.not_made")
        return answer
    return _made(answer, plan, context, as_lines=not args.json)


def _made(answer: RepairAnswer, plan: CopyPlan, context: CliContext, *, as_lines: bool) -> RepairAnswer:
    try:
        write_copy(plan, _teller(context) if as_lines else None)
    except FindingError as reason:
        return replace(answer, findings=(reason.finding,))
    host = detect_this_machine().host
    check = check_copy(plan.model, host.ram_available_bytes if host else None)
    if as_lines:
        print_check(check, context)
    if check.failure is None:
        if as_lines:
            context.say("cli.repair.made", path=str(plan.model))
        return replace(answer, is_written=True, check=check)
    _remove(plan)
    if as_lines:
        context.say("cli.repair.removed", path=str(plan.target))
    return replace(
        answer, check=check, findings=(*check.findings, check.failure) if not as_lines else (check.failure,)
    )


def _remove(plan: CopyPlan) -> None:
    if plan.is_split:
        shutil.rmtree(plan.target)
    else:
        plan.target.unlink()


def _teller(context: CliContext) -> Callable[[int, int], None]:
    last = time.monotonic()

    def tell(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= _TOLD_SECONDS:
            last = time.monotonic()
            context.tell("cli.repair.progress", done=done, total=total)

    return tell


def _asked(inspected: InspectedFile, undecided: tuple[RightValue, ...], context: CliContext) -> InspectedFile:
    """Ask for each value nobody can know; an empty answer takes the proposal."""
    choice = inspected.choice
    for right in undecided:
        context.say(
            "cli.repair.ask_value", key=right.key, proposed=right.value, model=right.model, most=right.most
        )
        line = (sys.stdin.readline() or "").strip()
        if line or right.value is not None:
            value = value_of(right.key, line, inspected, context.texts) if line else right.value
            assert value is not None
            choice = RepairChoice(choice.off, (*choice.chosen, (right.key, value)))
    return inspect_path(inspected.facts.path, choice)


def _is_yes(context: CliContext) -> bool:
    context.say("cli.repair.ask")
    return (sys.stdin.readline() or "").strip().lower() in ("y", "yes", "是", "j", "ja")


def _is_needed(right: RightValue, findings: tuple[Finding, ...]) -> bool:
    return not right.is_decided and any(map(right.mends, findings))


def _value_needed(inspected: InspectedFile, right: RightValue) -> Finding:
    proposals = {"elsewhere": ValueSource.OTHER_PREFIX, "safe": ValueSource.SAFE}
    return error(
        FindingCode.REPAIR_VALUE_NEEDED,
        file=inspected.facts.path.name,
        key=right.key,
        proposed=right.value,
        model=right.model,
        **{name: right.value if right.source is source else None for name, source in proposals.items()},
    )
