"""What every subcommand gets, and how it answers."""

import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, TextIO

from app.findings import Finding, Severity
from app.settings import Settings
from app.texts import Texts

EXIT_OK: Final = 0
EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2


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
    out: TextIO
    err: TextIO

    def print_json(self, data: Any) -> None:
        """Print one JSON document."""
        print(json.dumps(data, ensure_ascii=False, indent=2), file=self.out)

    def say(self, key: str, /, **values: object) -> None:
        """Print one sentence of the catalogue as a result."""
        print(self.texts.text(key, **values), file=self.out)

    def tell(self, key: str, /, **values: object) -> None:
        """Print one sentence of the catalogue beside the results."""
        print(self.texts.text(key, **values), file=self.err, flush=True)

    def print_findings(self, findings: Iterable[Finding], *, to_err: bool = False) -> None:
        """Print findings, the gravest first, a line each."""
        order = list(Severity)
        for finding in sorted(findings, key=lambda f: order.index(f.severity)):
            print(self.texts.finding_line(finding), file=self.err if to_err else self.out)


def default_context(texts: Texts, settings: Settings) -> CliContext:
    """Return a context on the process's own streams, in UTF-8 on every system."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="replace")
    return CliContext(texts, settings, sys.stdout, sys.stderr)
