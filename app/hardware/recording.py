"""Facts, samples, raw answers, the engine <-> JSON: bug reports, replays, tests. Personal names stay out."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from app.files import read_regular, write_atomically
from app.findings import FindingCode, FindingError, error
from app.hardware.engine_facts import EngineBuildFacts
from app.hardware.fact_json import UnfitError, parse_json, read_fact, to_plain
from app.hardware.facts import HardwareFacts, Sample
from app.hardware.pseudonyms import (
    PersonalNames,
    cleaner_for,
    engine_without_personal_names,
    without_personal_names,
)
from app.hardware.raw_answers import RawAnswer, RawAnswers

FORMAT_NAME: Final = "moxie-machine"
FORMAT_VERSION: Final = 3
KNOWN_VERSIONS: Final = (1, 2, 3)
"""The first has facts and samples only, the second raw answers, the third an engine; the oldest that holds
everything is written.
"""

LARGEST_FILE_BYTES: Final = 64 * 1024**2


@dataclass(frozen=True, slots=True)
class Recording:
    """All a recording holds.

    Attributes:
        samples: What the machine did afterwards.
        raw: What its sources said.
        engine: The build that was in use.
        excluded_gpus: Indices of the GPUs it was kept from.
    """

    facts: HardwareFacts
    samples: tuple[Sample, ...] = ()
    raw: tuple[RawAnswer, ...] = ()
    engine: EngineBuildFacts | None = None
    excluded_gpus: tuple[int, ...] = ()


def save_recording(
    recording: Recording | HardwareFacts,
    file: Path,
    *,
    raw: RawAnswers | None = None,
    names: PersonalNames | None = None,
) -> None:
    """Write a recording; names default to those of this user and machine.

    Args:
        raw: Replaces what the recording has as raw answers.

    Raises:
        FindingError: `DISK_FULL` or `STORE_READ_ONLY`.
    """
    whole = recording if isinstance(recording, Recording) else Recording(recording)
    said = whole.raw if raw is None else raw.told(cleaner_for(whole.facts, names))
    clean = replace(
        whole,
        facts=without_personal_names(whole.facts, names),
        raw=said,
        engine=engine_without_personal_names(whole.engine, whole.facts, names),
    )
    write_atomically(file, to_text(clean).encode("utf-8"))


def load_recording(file: Path) -> HardwareFacts:
    """Return the machine of a recording.

    Raises:
        FindingError: `PATH_MISSING`, `ACCESS_DENIED`, `NOT_A_FILE` or `RECORDING_INVALID`.
    """
    return read_recording(file).facts


def read_recording(file: Path) -> Recording:
    """Return all of a recording.

    Raises:
        FindingError: `PATH_MISSING`, `ACCESS_DENIED`, `NOT_A_FILE` or `RECORDING_INVALID`.
    """
    return parse_recording(read_regular(file, LARGEST_FILE_BYTES + 1), str(file))


def parse_recording(content: bytes, path: str) -> Recording:
    """Read the bytes of a recording.

    Raises:
        FindingError: `RECORDING_INVALID` with `path`, `field` and what was `expected` there.
    """
    try:
        return _read_document(parse_json(content, LARGEST_FILE_BYTES))
    except UnfitError as reason:
        finding = error(
            FindingCode.RECORDING_INVALID, path=path, field=reason.field, expected=reason.expected
        )
        raise FindingError(finding) from reason


def to_text(recording: Recording) -> str:
    """Return a recording as JSON; fields without a value are left out."""
    document: dict[str, Any] = {"format": FORMAT_NAME, "version": _version(recording)}
    document |= to_plain(recording)
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _version(recording: Recording) -> int:
    if recording.engine is not None or recording.excluded_gpus:
        return FORMAT_VERSION
    return 2 if recording.raw else 1


def _read_document(document: object) -> Recording:
    if not isinstance(document, dict) or document.get("format") != FORMAT_NAME:
        raise UnfitError("format", FORMAT_NAME)
    version = document.get("version")
    if type(version) is not int or version not in KNOWN_VERSIONS:
        raise UnfitError("version", f"{FORMAT_VERSION} or older")
    rest = {name: value for name, value in document.items() if name not in ("format", "version")}
    recording: Recording = read_fact(Recording, rest, "")
    return recording
