"""A path -> what is there, as facts and findings. Reads headers only and changes nothing."""

import stat
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from app.files import PathKind, reading_finding
from app.findings import Finding, FindingCode, FindingError, Severity, error
from app.gguf.describe import describe
from app.gguf.downloads import download_findings
from app.gguf.facts import FileKind, ModelFacts
from app.gguf.folder import models_in
from app.gguf.lookalikes import looks_like
from app.gguf.override_findings import with_chosen, with_overrides
from app.gguf.reader import GgufError, GgufHeader, read_header
from app.gguf.repair_facts import NO_CHOICE, RepairChoice, RightValue
from app.gguf.right_values import overrides_of, right_values, with_values
from app.gguf.shards import ShardSet, find_shards, shard_findings
from app.gguf.validate import validate

_CLOSED: Final = (
    *(FindingCode.ACCESS_DENIED, FindingCode.FILE_LOCKED, FindingCode.FILE_IN_CLOUD),
    *(FindingCode.DRIVE_GONE, FindingCode.PATH_MISSING),
)
"""What keeps a file from being read says nothing about what it holds."""


@dataclass(frozen=True, slots=True)
class InspectedFile:
    """What a path holds.

    Attributes:
        facts: Of the whole model, all its parts; `path` is what the engine must be given.
        findings: In the order found.
        headers: Of the readable parts in order; empty where none could be read.
        right_values: What the header should say instead (`repair.py`); `facts` hold what is given at load.
        choice: What the person decided for this file.
    """

    facts: ModelFacts
    findings: tuple[Finding, ...]
    headers: tuple[GgufHeader, ...] = ()
    right_values: tuple[RightValue, ...] = ()
    choice: RepairChoice = NO_CHOICE

    @property
    def loadable(self) -> bool:
        """The header's verdict: no finding is an error."""
        return all(finding.severity is not Severity.ERROR for finding in self.findings)


def findings_for_chat(inspected: InspectedFile) -> tuple[Finding, ...]:
    """Return the file's findings as they weigh for a chat: what is no chat model stops it."""
    facts, findings = inspected.facts, inspected.findings
    if inspected.loadable and not facts.layers:
        kind = facts.kind.value
        findings = (*findings, error(FindingCode.NOT_A_CHAT_MODEL, file=facts.path.name, kind=kind))
    return tuple(
        replace(finding, severity=Severity.ERROR) if finding.code is FindingCode.NOT_A_CHAT_MODEL else finding
        for finding in findings
    )


def inspect_path(path: Path, choice: RepairChoice = NO_CHOICE) -> InspectedFile:
    """Return what is at `path`: a model, any part of a split one, a folder with one model, or any other file.

    Never raises; what cannot be read becomes a finding (`PATH_MISSING`, `ACCESS_DENIED`, `NOT_GGUF`, ...),
    and a folder without exactly one model becomes `FOLDER_AMBIGUOUS`. Paths in the answer are absolute.
    """
    try:
        path = path.absolute()
        if path.is_dir():
            models = models_in(path)
            if len(models) != 1:
                return _folder_refused(path, models)
            path = models[0]
        inspected = _inspect_file(path, choice)
        downloads = download_findings(inspected.facts.path, inspected.findings)
        return replace(inspected, findings=(*inspected.findings, *downloads))
    except FindingError as reason:
        return _without_header(path, FileKind.NOT_GGUF, reason.finding)
    except OSError as reason:
        return _without_header(path, FileKind.UNKNOWN, reading_finding(reason, path))
    except ValueError:  # a path with a NUL byte names nothing
        return _without_header(path, FileKind.UNKNOWN, error(FindingCode.PATH_MISSING, path=repr(str(path))))


def _inspect_file(path: Path, choice: RepairChoice) -> InspectedFile:
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        finding = error(FindingCode.NOT_A_FILE, path=str(path), kind=PathKind.OTHER.value)
        return _without_header(path, FileKind.NOT_GGUF, finding)
    if status.st_size == 0:
        return _without_header(path, FileKind.NOT_GGUF, error(FindingCode.FILE_EMPTY, file=path.name))
    try:
        opened = read_header(path)
    except GgufError as reason:
        finding = _finding_of(path, reason)
        is_gguf = finding.code in (FindingCode.HEADER_BROKEN, FindingCode.FILE_INCOMPLETE)
        is_closed = finding.code in _CLOSED
        kind = FileKind.UNKNOWN if is_gguf or is_closed else FileKind.NOT_GGUF
        return _without_header(path, kind, finding)
    return _inspect_shards(opened, find_shards(opened), choice)


def _inspect_shards(opened: GgufHeader, shards: ShardSet, choice: RepairChoice) -> InspectedFile:
    headers, findings = [], []
    for index, file in enumerate(shards.files):
        try:
            is_opened = index == 0 and file == opened.path
            headers.append(opened if is_opened else read_header(file, index))
        except GgufError as reason:
            findings.append(_finding_of(file, reason))
    headers = headers or [opened]
    files = shards.files or (opened.path,)
    facts = describe(headers, files)
    rights = right_values(headers, facts, choice)
    overrides = overrides_of(rights, choice)
    findings += shard_findings(shards, headers)
    findings += with_overrides(validate(headers, facts), headers[0], rights, choice)
    if overrides:
        given = [with_values(headers[0], overrides), *headers[1:]]
        in_force = describe(given, files)
        if choice.chosen:
            findings = [*with_chosen(findings, validate(given, in_force), choice)]
        key = facts.expert_count_key  # what the file itself says
        facts = replace(in_force, kv_overrides=overrides, expert_count_key=key)
    return InspectedFile(facts, tuple(findings), tuple(headers), rights, choice)


def _finding_of(path: Path, reason: GgufError) -> Finding:
    values = reason.values
    match reason.reason:
        case "access-denied" | "unreadable" if isinstance(reason.__cause__, OSError):
            return reading_finding(reason.__cause__, path)
        case "elsewhere":
            return error(FindingCode.FILE_IN_CLOUD, path=str(path), size_bytes=values["size_bytes"])
        case "not-a-file":
            return error(FindingCode.NOT_A_FILE, path=str(path), kind=values["kind"])
        case "not-gguf":
            return error(FindingCode.NOT_GGUF, file=path.name, looks_like=looks_like(path))
        case "truncated":
            actual, needed = path.stat().st_size, int(values["needed_bytes"])
            return error(
                FindingCode.FILE_INCOMPLETE,
                file=path.name,
                expected_bytes=needed,
                actual_bytes=actual,
                missing_bytes=needed - actual,
            )
    detail = ", ".join(f"{name} {value}" for name, value in values.items())
    return error(FindingCode.HEADER_BROKEN, file=path.name, reason=reason.reason, detail=detail)


def _folder_refused(path: Path, models: Sequence[Path]) -> InspectedFile:
    names = tuple(model.name for model in models)
    return _without_header(
        path,
        FileKind.UNKNOWN,
        error(FindingCode.FOLDER_AMBIGUOUS, path=str(path), models=names, found=len(names)),
    )


def _without_header(path: Path, kind: FileKind, finding: Finding) -> InspectedFile:
    try:
        size = path.stat().st_size if path.is_file() else 0
    except (OSError, ValueError):
        size = 0
    return InspectedFile(ModelFacts(path, kind, files=(path,), size_bytes=size), (finding,))
