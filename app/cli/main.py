"""`moxie ...`: picks the subcommand, the language and the exit status."""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Final, NoReturn

from app import __version__
from app.cli.context import EXIT_FAILED, EXIT_USAGE, UsageError, default_context
from app.cli.streams import OutputError, abandon, fill_closed_descriptors
from app.cli.usage import complaint
from app.files import system_finding
from app.findings import FindingCode, FindingError, error
from app.paths import settings_file
from app.settings import load_settings
from app.texts import LANGUAGES, Texts, system_language

SUBCOMMANDS: Final = ("inspect", "repair", "plan", "doctor", "chat", "engines", "selftest")
"""Each is a module of this package with `add_arguments(parser, texts)` and `run(args, context) -> int`."""

EXIT_INTERRUPTED: Final = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand and return the exit status."""
    fill_closed_descriptors()
    arguments = list(sys.argv[1:] if argv is None else argv)
    settings, findings = load_settings(settings_file())
    language = _asked_language(arguments) or settings.language or system_language()
    context = default_context(Texts(language), settings)
    context.print_findings(findings, to_err=True)
    try:
        _look_for_path(context.texts, arguments)
        args = _parser(context.texts, arguments).parse_args(arguments)
        status: int = _module(args.subcommand).run(args, context)
        context.out.flush()
    except UsageError as reason:
        context.print_line(str(reason), to_err=True)
        return EXIT_USAGE
    except FindingError as reason:
        context.print_findings([reason.finding], to_err=True)
        return EXIT_FAILED
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        abandon(sys.stdout)  # as `head` does: the rest of the output has nowhere to go
        return EXIT_FAILED
    except OutputError as reason:
        abandon(sys.stdout)
        context.print_findings([error(FindingCode.OUTPUT_FAILED, detail=str(reason))], to_err=True)
        return EXIT_FAILED
    except OSError as reason:
        context.print_findings([system_finding(reason)], to_err=True)
        return EXIT_FAILED
    return status


def tell(key: str, **values: object) -> None:
    """Print one sentence of the catalogue to stderr, in the person's language."""
    settings, _ = load_settings(settings_file())
    default_context(Texts(settings.language or system_language()), settings).tell(key, **values)


def _look_for_path(texts: Texts, arguments: Sequence[str]) -> None:
    """Complain of a path that is not there, given where a subcommand is expected."""
    given = arguments[0] if arguments else ""
    is_path = given.lower().endswith(".gguf") or any(mark in given for mark in ("/", os.sep))
    if is_path and not given.startswith("-") and not os.path.lexists(given):
        raise UsageError(texts.finding(error(FindingCode.PATH_MISSING, path=repr(given))).message)


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"app.cli.{name}")


def _asked_language(arguments: Sequence[str]) -> str | None:
    for before, value in zip(["", *arguments], arguments, strict=False):
        asked = value.removeprefix("--lang=") if value.startswith("--lang=") else value
        if asked in LANGUAGES and (before == "--lang" or asked != value):
            return asked
    return None


def _parser(texts: Texts, arguments: Sequence[str]) -> argparse.ArgumentParser:
    # only the module that will run is imported: a start costs what it uses
    parser = _Parser(texts, prog="moxie", description=texts.text("cli.description"))
    parser.add_argument("--version", action="version", version=f"Moxie {__version__}")
    subparsers = parser.add_subparsers(dest="subcommand", required=True, metavar="COMMAND")
    for name in SUBCOMMANDS:
        words = texts.text(f"cli.{name}.help")
        subparser = subparsers.add_parser(name, help=words, description=words, texts=texts)
        subparser.add_argument("--lang", choices=LANGUAGES, help=texts.text("cli.lang.help"))
        if name in arguments:
            _module(name).add_arguments(subparser, texts)
    parser.add_argument("--lang", choices=LANGUAGES, help=texts.text("cli.lang.help"))
    return parser


class _Parser(argparse.ArgumentParser):
    """Complains in one sentence instead of a usage text."""

    def __init__(self, texts: Texts, **kwargs: object) -> None:
        super().__init__(**kwargs, add_help=False)  # type: ignore[arg-type]  # passed through unseen
        self._texts = texts
        self._positionals.title = texts.text("cli.arguments.title")
        self._optionals.title = texts.text("cli.options.title")
        self.add_argument("-h", "--help", action="help", help=texts.text("cli.help.help"))

    def format_help(self) -> str:
        # argparse has no port for its own words but gettext's process-wide catalogue
        text, usage = super().format_help(), self._texts.text("cli.usage.title")
        for title in (self._positionals.title, self._optionals.title):
            text = text.replace(f"\n{title}:\n", f"\n{self._texts.text('cli.heading', title=title)}\n", 1)
        return text.replace("usage: ", usage if usage.endswith("：") else f"{usage} ", 1)

    def error(self, message: str) -> NoReturn:
        raise UsageError(self._texts.text("cli.bad_usage", detail=complaint(message, self._texts)))
