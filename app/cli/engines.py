"""`moxie engines list|add|test|use`: the engines of this machine."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Final

from app.cli.context import EXIT_FAILED, EXIT_OK, CliContext, UsageError
from app.cli.gpu_option import look_at_engine
from app.cli.numbers import given_text
from app.engine.pack_install import add_pack
from app.engine.pack_smoke import smoke_test
from app.engine.packs import ECHO, EngineEntry, choose_engine, find_engine, list_engines
from app.files import path_kind
from app.findings import Finding, FindingCode, FindingError, Severity, error
from app.hardware.this_machine import detect_this_machine
from app.paths import settings_file
from app.settings import save_settings
from app.texts import LANGUAGES, Texts

_OF_THE_CHOSEN: Final = (FindingCode.ENGINE_FLAVOUR_UNFIT, FindingCode.GPU_UNSEEN_BY_ENGINE)


def add_arguments(parser: argparse.ArgumentParser, texts: Texts) -> None:
    """Describe the four actions."""
    given = given_text(texts)
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    def action(name: str) -> argparse.ArgumentParser:
        words = texts.text(f"cli.engines.{name}.help")
        subparser = actions.add_parser(name, help=words, description=words, texts=texts)
        subparser.add_argument("--lang", choices=LANGUAGES, help=texts.text("cli.lang.help"))
        return subparser

    listing = action("list")
    listing.add_argument("--json", action="store_true", help=texts.text("cli.engines.json.help"))
    listing.add_argument("--all", action="store_true", help=texts.text("cli.engines.all.help"))
    adding = action("add")
    adding.add_argument("path", metavar="PATH", type=given, help=texts.text("cli.engines.path.help"))
    adding.add_argument("--name", metavar="NAME", type=given, help=texts.text("cli.engines.new_name.help"))
    testing = action("test")
    testing.add_argument(
        "name", metavar="NAME", nargs="?", type=given, help=texts.text("cli.engines.name.help")
    )
    using = action("use")
    using.add_argument("name", metavar="NAME", type=given, help=texts.text("cli.engines.name.help"))


def run(args: argparse.Namespace, context: CliContext) -> int:
    """Run one action."""
    match args.action:
        case "list":
            return _list(context, as_json=args.json, with_echo=args.all)
        case "add":
            return _add(context, Path(args.path), args.name)
        case "test":
            return _test(context, _entry(context, args.name))
    return _use(context, args.name)


def _list(context: CliContext, *, as_json: bool, with_echo: bool) -> int:
    entries = list_engines(context.settings.engine, with_echo=with_echo)
    findings = (*_complaints(context, entries), *_verdicts(entries))
    if as_json:
        context.print_json(
            {
                "engines": [entry.to_json() for entry in entries],
                "findings": [finding.to_json() for finding in findings],
            }
        )
        return EXIT_OK
    for entry in entries:
        record = entry.record
        context.say(
            "cli.engines.line",
            mark="*" if entry.is_selected else " ",
            name=entry.name,
            state=context.texts.text(f"cli.engines.state.{_state(entry)}"),
            build=entry.build,
            devices=record.devices if record else None,
        )
    context.print_findings(findings)
    return EXIT_OK


def _verdicts(entries: tuple[EngineEntry, ...]) -> tuple[Finding, ...]:
    """Return what keeps engines and this machine from working together: the chosen one first."""
    hardware = detect_this_machine()
    found: list[Finding] = []
    for entry in sorted(entries, key=lambda entry: not entry.is_selected):
        seen = look_at_engine(entry, hardware)
        # another engine may well be for other hardware
        wanted = (f for f in seen.findings if entry.is_selected or f.code not in _OF_THE_CHOSEN)
        found += (finding for finding in wanted if finding not in found)
    return tuple(found)


def _complaints(context: CliContext, entries: tuple[EngineEntry, ...]) -> tuple[Finding, ...]:
    if any(entry.is_selected for entry in entries):
        return ()
    chosen = context.settings.engine
    if chosen is None:
        return (error(FindingCode.ENGINE_MISSING, name=None),)
    known = tuple(entry.name for entry in entries)
    return (error(FindingCode.ENGINE_NOT_FOUND, name=chosen, known=known or None),)


def _add(context: CliContext, path: Path, name: str | None) -> int:
    if path_kind(path) is None:
        raise UsageError(context.texts.text("cli.engines.no_path", path=path))
    context.tell("cli.engines.unpacking", path=path)
    entry = add_pack(path, name)
    context.tell("cli.engines.added", name=entry.name, build=entry.build)
    return _test(context, entry)


def _test(context: CliContext, entry: EngineEntry) -> int:
    context.tell("cli.engines.testing", name=entry.name)
    findings = smoke_test(entry)
    context.print_findings(findings)
    if any(finding.severity is Severity.ERROR for finding in findings):
        context.print_findings(f for f in look_at_engine(entry, detect_this_machine()).findings)
        return EXIT_FAILED
    context.say("cli.engines.passed", name=entry.name)
    return EXIT_OK


def _use(context: CliContext, name: str) -> int:
    if name == ECHO.name:  # for tests: nothing anybody would want all chats to use
        known = tuple(entry.name for entry in list_engines())
        raise FindingError(error(FindingCode.ENGINE_NOT_FOUND, name=name, known=known or None))
    entry = find_engine(name)
    findings = save_settings(settings_file(), replace(context.settings, engine=entry.name))
    context.print_findings(findings, to_err=True)
    context.say("cli.engines.using", name=entry.name)
    if not entry.has_passed:
        context.tell("cli.engines.untested", name=entry.name)
    return EXIT_OK


def _entry(context: CliContext, name: str | None) -> EngineEntry:
    return find_engine(choose_engine(name, context.settings.engine).name)


def _state(entry: EngineEntry) -> str:
    if entry.spec.pack_folder is None:
        return "built_in"
    if entry.record is None or entry.record.smoke is None:
        return "untested"
    return "passed" if entry.record.smoke.passed else "failed"
