"""What every subcommand gets, and how it answers."""

import json
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from app.cli.streams import ProgressStream, ResultStream, Writer, use_utf8
from app.findings import Finding, Severity
from app.settings import Settings
from app.texts import Texts

EXIT_OK: Final = 0
EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2

_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_BREAKS: Final = re.compile(r"[\t\n\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_NOT_FOR_TERMINALS: Final = re.compile(r"[\x7f-\x9f\ud800-\udfff]")


class UsageError(Exception):
    """Bad usage or a missing path: exit 2 with this one sentence, already in the person's language."""


@dataclass(frozen=True, slots=True)
class CliContext:
    """One run of the command line.

    Attributes:
        out: Results. err: Progress and complaints; never mixed with results.
    """

    texts: Texts
    settings: Settings
    out: Writer
    err: Writer

    def print_json(self, data: Any) -> None:
        """Print one JSON document. A path that is no Unicode is escaped so that it can be used again."""
        print(_for_terminals(json.dumps(data, ensure_ascii=False, indent=2)), file=self.out)

    def print_json_line(self, data: Any) -> None:
        """Print one JSON document of many on one line, at once."""
        print(_for_terminals(json.dumps(data, ensure_ascii=False)), file=self.out)
        self.out.flush()

    def print_line(self, text: str = "", *, to_err: bool = False) -> None:
        """Print one line. Whatever a file, a path or an engine says, it neither steers the terminal nor
        makes a second line."""
        stream = self.err if to_err else self.out
        print(one_line(text), file=stream)
        if to_err:
            stream.flush()

    def say(self, key: str, /, **values: object) -> None:
        """Print one sentence of the catalogue as a result."""
        self.print_line(self.texts.text(key, **values))

    def tell(self, key: str, /, **values: object) -> None:
        """Print one sentence of the catalogue beside the results."""
        self.print_line(self.texts.text(key, **values), to_err=True)

    def print_findings(self, findings: Iterable[Finding], *, to_err: bool = False) -> None:
        """Print findings, the gravest first, a line each."""
        order = list(Severity)
        for finding in sorted(findings, key=lambda f: order.index(f.severity)):
            self.print_line(self.texts.finding_line(finding), to_err=to_err)


def safe_for_terminal(text: str) -> str:
    """Return `text` without control characters: a model's output must not steer the terminal."""
    return _CONTROLS.sub("\ufffd", text)


def one_line(text: str) -> str:
    """Return `text` safe for a terminal and on one line, read in the order it is written."""
    return _BREAKS.sub("\ufffd", safe_for_terminal(text))


def _for_terminals(text: str) -> str:
    return _NOT_FOR_TERMINALS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def default_context(texts: Texts, settings: Settings) -> CliContext:
    """Return a context on the process's own streams."""
    use_utf8()
    return CliContext(texts, settings, ResultStream(sys.stdout), ProgressStream(sys.stderr))
