"""`moxie selftest`: does this installation work? Everything is tried for real, a step at a time."""

import argparse
import importlib
import json
import pkgutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, Final

import app
from app.chat.database import check_database
from app.chat.store import ConversationStore
from app.cli.context import EXIT_FAILED, EXIT_OK, CliContext
from app.engine.pack_smoke import TINY_MODEL, smoke_test
from app.engine.packs import EngineEntry, list_engines
from app.files import system_finding, write_atomically
from app.findings import Finding, FindingCode, FindingError, Severity, error
from app.gguf.inspect_file import inspect_path
from app.paths import chats_file, data_folder, resource_path
from app.texts import LANGUAGES, Texts

_NOT_IN_THIS_PROCESS: Final = ("app.ui", "app.engine.llama", "app.__main__")
"""The window's libraries and the engine's are loaded in processes of their own."""

_ENGINE_STEP: Final = "engine"


class StepState(StrEnum):
    """How a step ended."""

    OK = "ok"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class StepResult:
    """One step.

    Attributes:
        name: Stable, e.g. `chat-store`, `engine:worker`.
        detail: What was looked at: a path, a number, a version; None when there is nothing to name.
    """

    name: str
    state: StepState
    ms: float
    detail: str | None = None
    findings: tuple[Finding, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the step as the command line prints it."""
        return {
            "name": self.name,
            "state": self.state.value,
            "ms": round(self.ms, 1),
            "detail": self.detail,
            "findings": [finding.to_json() for finding in self.findings],
        }


StepOutcome = tuple[str | None, tuple[Finding, ...]]
"""Detail, and what does not work."""

Check = Callable[[], StepOutcome]
"""Tries one thing; may also raise `FindingError` when it does not work."""


def add_arguments(parser: argparse.ArgumentParser, texts: Texts) -> None:
    """Declare what `selftest` takes."""
    parser.add_argument("--json", action="store_true", help=texts.text("cli.selftest.json.help"))


def run(args: argparse.Namespace, context: CliContext) -> int:
    """Try everything; a step that cannot be tried after another one failed is skipped."""
    steps: list[StepResult] = []
    for step in _steps(context):
        steps.append(step)
        if not args.json:
            _print(step, context)
    is_ok = all(step.state is StepState.OK for step in steps)
    if args.json:
        context.print_json({"ok": is_ok, "steps": [step.to_json() for step in steps]})
    else:
        context.say("cli.selftest.passed" if is_ok else "cli.selftest.failed")
    return EXIT_OK if is_ok else EXIT_FAILED


def _steps(context: CliContext) -> Iterator[StepResult]:
    yield _tried("imports", _import_everything)
    yield _tried("catalogues", _check_catalogues)
    folder = _tried("data-folder", _write_and_delete)
    yield folder
    yield _tried("chat-store", _save_and_read, needs=folder)
    header = _tried("tiny-model", _read_tiny_model)
    yield header
    entries = list_engines(context.settings.engine)
    for entry in entries:
        yield _tried(f"{_ENGINE_STEP}:{entry.name}", partial(_answer, entry), needs=header)
    if not entries:
        yield _tried(_ENGINE_STEP, _no_engine, needs=folder)


def _tried(name: str, check: Check, needs: StepResult | None = None) -> StepResult:
    if needs is not None and needs.state is not StepState.OK:
        return StepResult(name, StepState.SKIPPED, 0.0, needs.name)
    started = time.perf_counter()
    detail: str | None = None
    findings: tuple[Finding, ...] = ()
    try:
        detail, findings = check()
    except FindingError as reason:
        findings = (reason.finding,)
    except OSError as reason:
        findings = (system_finding(reason),)
    is_failed = any(finding.severity is Severity.ERROR for finding in findings)
    state = StepState.FAILED if is_failed else StepState.OK
    return StepResult(name, state, (time.perf_counter() - started) * 1000.0, detail, findings)


def _print(step: StepResult, context: CliContext) -> None:
    state = context.texts.text(f"cli.selftest.state.{step.state.value}")
    context.say("cli.selftest.step", state=state, name=step.name, ms=step.ms, detail=step.detail)
    context.print_findings(step.findings)


def _damaged(detail: str) -> FindingError:
    return FindingError(error(FindingCode.INSTALLATION_DAMAGED, detail=detail))


def _import_everything() -> StepOutcome:
    names = [
        module.name
        for module in pkgutil.walk_packages(app.__path__, "app.")
        if not module.name.startswith(_NOT_IN_THIS_PROCESS)
    ]
    for name in names:
        try:
            importlib.import_module(name)
        except (ImportError, OSError, AttributeError, SyntaxError) as reason:
            raise _damaged(f"{name}: {reason}") from reason
    return str(len(names)), ()


def _check_catalogues() -> StepOutcome:
    try:
        catalogues = {
            language: json.loads(resource_path("i18n", f"{language}.json").read_text(encoding="utf-8"))
            for language in LANGUAGES
        }
    except (OSError, ValueError) as reason:
        raise _damaged(str(reason)) from reason
    wanted = {f"finding.{code.value}{end}" for code in FindingCode for end in ("", ".action")}
    wanted |= {key for catalogue in catalogues.values() for key in catalogue}
    for language, catalogue in catalogues.items():
        if missing := sorted(wanted - catalogue.keys()):
            raise _damaged(f"{language}.json: {', '.join(missing)}")
    return str(len(wanted)), ()


def _write_and_delete() -> StepOutcome:
    file = data_folder() / ".selftest"
    write_atomically(file, b"selftest")
    file.unlink()
    return str(file.parent), ()


def _save_and_read() -> StepOutcome:
    with tempfile.TemporaryDirectory(dir=data_folder(), prefix=".selftest-") as folder:
        file = Path(folder) / "chats.sqlite3"
        store = ConversationStore(file)
        conversation_id = store.create()
        store.append(conversation_id, "user", "Moxie 魔匣")
        store.close()
        store = ConversationStore(file)
        conversation = store.read(conversation_id)
        store.close()
        if conversation is None or conversation.messages[0].content != "Moxie 魔匣":
            raise _damaged(f"SQLite {sqlite3.sqlite_version}")
    return f"SQLite {sqlite3.sqlite_version}", check_database(chats_file())


def _read_tiny_model() -> StepOutcome:
    inspected = inspect_path(resource_path(*TINY_MODEL))
    path = str(inspected.facts.path)
    if inspected.loadable and not inspected.facts.is_moe:
        raise _damaged(path)
    return path, tuple(finding for finding in inspected.findings if finding.severity is Severity.ERROR)


def _answer(entry: EngineEntry) -> StepOutcome:
    """Load the tiny model with its experts in CPU buffers and let it speak."""
    return entry.build, smoke_test(entry)


def _no_engine() -> StepOutcome:
    return None, (error(FindingCode.ENGINE_MISSING, name=None),)
