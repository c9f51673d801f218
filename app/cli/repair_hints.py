"""What helps with the findings on one file, said for the command line: where a repair exists, its command."""

import shlex
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from app.cli.context import CliContext
from app.findings import Finding, FindingCode, FindingError, Severity
from app.gguf.inspect_file import InspectedFile
from app.gguf.mended_header import mended_header
from app.gguf.part_names import gathered_parts
from app.gguf.repair import Repair, RepairKind, repairs_for
from app.gguf.shards import split_count
from app.texts import Texts

_GIVEN_AT_LOAD: Final = (FindingCode.OVERRIDE_IN_FORCE, FindingCode.OVERRIDE_CHOSEN)


def print_file_findings(
    findings: Iterable[Finding], inspected: InspectedFile, context: CliContext, *, to_err: bool = False
) -> None:
    """Print the findings on a file, the gravest first; one with a repair names the command with the file."""
    order, texts = list(Severity), context.texts
    hints = RepairHints(inspected, texts)
    for finding in sorted(findings, key=lambda f: order.index(f.severity)):
        words = texts.finding(finding)
        severity = texts.text(f"severity.{finding.severity.value}")
        action = hints.action(finding) or words.action
        context.print_line(
            texts.text("finding_line", severity=severity, message=words.message, action=action), to_err=to_err
        )


class RepairHints:
    """Which command mends what of one file."""

    def __init__(self, inspected: InspectedFile, texts: Texts) -> None:
        """Look for repairs; a copy is planned as far as its header."""
        self._texts = texts
        self._file = as_argument(inspected.facts.path)
        self._repairs = repairs_for(inspected)
        errors = [finding for finding in inspected.findings if finding.severity is Severity.ERROR]
        is_known = all(f.code is FindingCode.OVERRIDE_OFF or self._cures(f) for f in errors)
        self._is_mendable = is_known and self._is_copy_possible(inspected)

    def action(self, finding: Finding) -> str | None:
        """Return the sentence with the command; None where no repair makes the file load."""
        if finding.code in _GIVEN_AT_LOAD:
            return self._text("cli.hint.off")
        if finding.code is FindingCode.OVERRIDE_OFF:
            return self._text("cli.hint.on")
        repair = self._cures(finding)
        if repair is None or (finding.severity is Severity.ERROR and not self._is_mendable):
            return None
        if finding.severity is not Severity.ERROR:
            return self._text("cli.hint.mended") if repair.is_on else None
        if repair.needs_choice:
            (change,) = repair.changes
            proposed = change.value_after
            return self._text("cli.hint.value", key=change.key, proposed=proposed, model=repair.model)
        return self._text("cli.hint.copy") if repair.kind is RepairKind.PATCHED_COPY else None

    def _text(self, name: str, /, **values: object) -> str:
        return self._texts.text(name, file=self._file, **values)

    def _cures(self, finding: Finding) -> Repair | None:
        key = finding.values.get("key")
        for repair in self._repairs:
            keys = [change.key for change in repair.changes]
            if finding.code in repair.cures and (key is None or not keys or key in keys):
                return repair
        return None

    def _is_copy_possible(self, inspected: InspectedFile) -> bool:
        if all(repair.kind is not RepairKind.PATCHED_COPY for repair in self._repairs):
            return True
        if inspected.headers and split_count(inspected.headers[0]) > 1:
            return gathered_parts(inspected.headers[0]) is not None
        try:
            return not mended_header(inspected).left
        except (FindingError, ValueError):
            return False


def as_argument(path: Path) -> str:
    """Return a path as it is typed behind a command."""
    return subprocess.list2cmdline([str(path)]) if sys.platform == "win32" else shlex.quote(str(path))
