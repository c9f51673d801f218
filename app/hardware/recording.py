"""HardwareFacts and Samples <-> JSON: bug reports, replays, tests. Personal names do not get in."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, NoReturn, get_args, get_origin, get_type_hints

from app.files import read_regular, write_atomically
from app.findings import Finding, FindingCode, FindingError, Severity, error
from app.hardware.facts import HardwareFacts, Sample
from app.hardware.pseudonyms import PersonalNames, without_personal_names

FORMAT_NAME: Final = "moxie-machine"
FORMAT_VERSION: Final = 1
LARGEST_FILE_BYTES: Final = 64 * 1024**2
LARGEST_NUMBER: Final = 2**63 - 1

_KINDS: Final[Mapping[type, str]] = {str: "text", int: "whole number", float: "number", bool: "true or false"}


class _Unfit(Exception):
    """The document is not a recording.

    Attributes:
        field: Where, e.g. `facts.gpus[0].name`; `$` for the whole document.
        expected: What belongs there.
    """

    def __init__(self, field: str, expected: str) -> None:
        super().__init__(f"{field}: {expected}")
        self.field = field
        self.expected = expected


@dataclass(frozen=True, slots=True)
class Recording:
    """All a recording holds: one look at a machine, and what it did afterwards."""

    facts: HardwareFacts
    samples: tuple[Sample, ...] = ()


def save_recording(
    facts: HardwareFacts,
    file: Path,
    *,
    samples: Sequence[Sample] = (),
    names: PersonalNames | None = None,
) -> None:
    """Write a recording; names default to those of this user and machine.

    Raises:
        FindingError: `DISK_FULL` or `STORE_READ_ONLY`.
    """
    recording = Recording(without_personal_names(facts, names), tuple(samples))
    write_atomically(file, to_text(recording).encode("utf-8"))


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
        return _read_document(_parse_json(content))
    except _Unfit as reason:
        finding = error(
            FindingCode.RECORDING_INVALID, path=path, field=reason.field, expected=reason.expected
        )
        raise FindingError(finding) from reason


def to_text(recording: Recording) -> str:
    """Return a recording as JSON; fields without a value are left out."""
    document: dict[str, Any] = {"format": FORMAT_NAME, "version": FORMAT_VERSION}
    document |= _without_absent(asdict(recording))
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _without_absent(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: item if name == "values" else _without_absent(item)  # a finding's None is a statement
            for name, item in value.items()
            if item is not None and item != ()
        }
    if isinstance(value, tuple):
        return [_without_absent(item) for item in value]
    return value


def _parse_json(content: bytes) -> object:
    if len(content) > LARGEST_FILE_BYTES:
        raise _Unfit("$", f"at most {LARGEST_FILE_BYTES} bytes")
    try:
        return json.loads(content.decode("utf-8-sig"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as reason:
        raise _Unfit("$", "JSON in UTF-8") from reason


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _read_document(document: object) -> Recording:
    if not isinstance(document, dict) or document.get("format") != FORMAT_NAME:
        raise _Unfit("format", FORMAT_NAME)
    version = document.get("version")
    if version != FORMAT_VERSION or not isinstance(version, int) or isinstance(version, bool):
        raise _Unfit("version", str(FORMAT_VERSION))
    rest = {name: value for name, value in document.items() if name not in ("format", "version")}
    recording: Recording = _read_record(Recording, rest, "")
    return recording


def _read(kind: Any, value: object, at: str) -> Any:
    if kind is Finding:
        return _read_finding(value, at)
    if is_dataclass(kind):
        return _read_record(kind, value, at)
    if get_origin(kind) is UnionType:
        return None if value is None else _read(_without_none(kind), value, at)
    if get_origin(kind) is tuple:
        return _read_tuple(get_args(kind), value, at)
    return _read_scalar(kind, value, at)


def _without_none(kind: Any) -> Any:
    (wanted,) = (k for k in get_args(kind) if k is not NoneType)
    return wanted


def _read_record(kind: Any, value: object, at: str) -> Any:
    if not isinstance(value, dict):
        raise _Unfit(at, "an object")
    hints = get_type_hints(kind)
    for name in value:
        if name not in hints:
            raise _Unfit(_within(at, name[:80]), "a known field")
    values: dict[str, Any] = {}
    for f in fields(kind):
        place = _within(at, f.name)
        if f.name in value:
            values[f.name] = _read(hints[f.name], value[f.name], place)
        elif f.default is MISSING:
            if NoneType not in get_args(hints[f.name]):
                raise _Unfit(place, "a value")
            values[f.name] = None
    return kind(**values)


def _read_tuple(kinds: tuple[Any, ...], value: object, at: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise _Unfit(at, "a list")
    is_open = kinds[-1] is Ellipsis
    if not is_open and len(value) != len(kinds):
        raise _Unfit(at, f"a list of {len(kinds)}")
    wanted = [kinds[0]] * len(value) if is_open else kinds
    return tuple(
        _read(kind, item, f"{at}[{i}]") for i, (kind, item) in enumerate(zip(wanted, value, strict=True))
    )


def _read_scalar(kind: Any, value: object, at: str) -> object:
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value) if abs(value) <= LARGEST_NUMBER else math.inf
    if type(value) is not kind:
        raise _Unfit(at, _KINDS[kind])
    _check_scalar(value, at, least=0)
    return value


def _check_scalar(value: object, at: str, *, least: float) -> None:
    # every number of the facts counts something, so none is below zero
    if isinstance(value, int | float) and not least <= value <= LARGEST_NUMBER:
        raise _Unfit(at, f"{least:.0f} to {LARGEST_NUMBER}")
    if isinstance(value, str) and not value.isascii() and not _is_unicode(value):
        raise _Unfit(at, "text in Unicode")


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _read_finding(value: object, at: str) -> Finding:
    if not isinstance(value, dict) or set(value) != {"code", "severity", "values"}:
        raise _Unfit(at, "code, severity and values")
    if not isinstance(value["values"], dict):
        raise _Unfit(_within(at, "values"), "an object")
    for name, item in value["values"].items():
        for part in item if isinstance(item, list) else [item]:
            if part is not None and type(part) not in _KINDS:
                raise _Unfit(_within(at, "values"), "plain values")
            _check_scalar(part, _within(at, "values"), least=-LARGEST_NUMBER)
        _check_scalar(name, _within(at, "values"), least=0)
    if value["code"] not in list(FindingCode):
        raise _Unfit(_within(at, "code"), "a code of this version")
    if value["severity"] not in list(Severity):
        raise _Unfit(_within(at, "severity"), ", ".join(Severity))
    return Finding.from_json(value)


def _within(at: str, name: str) -> str:
    return f"{at}.{name}" if at else name
