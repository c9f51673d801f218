"""Frozen facts <-> plain JSON values, checked field by field."""

import json
import math
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields, is_dataclass
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, Final, NoReturn, get_args, get_origin, get_type_hints

from app.findings import Finding, FindingCode, Severity

LARGEST_NUMBER: Final = 2**63 - 1

_KINDS: Final[Mapping[type, str]] = {str: "text", int: "whole number", float: "number", bool: "true or false"}


class UnfitError(Exception):
    """A document is not what was wanted.

    Attributes:
        field: Where, e.g. `facts.gpus[0].name`; `$` for the whole document.
        expected: What belongs there.
    """

    def __init__(self, field: str, expected: str) -> None:
        super().__init__(f"{field}: {expected}")
        self.field = field
        self.expected = expected


def to_plain(value: Any) -> Any:
    """Return facts as plain JSON; a field without a value, or empty as it is by itself, is left out.

    An empty list where None means something else stays.
    """
    if isinstance(value, Finding):
        return asdict(value)  # its None is a statement
    if is_dataclass(value):
        named = ((f, getattr(value, f.name)) for f in fields(value))
        return {f.name: to_plain(item) for f, item in named if not (item is None or item == f.default == ())}
    return [to_plain(item) for item in value] if isinstance(value, tuple) else value


def parse_json(content: bytes, most_bytes: int) -> object:
    """Return what bytes of JSON say.

    Raises:
        UnfitError: they are not JSON in UTF-8, or too many.
    """
    if len(content) > most_bytes:
        raise UnfitError("$", f"at most {most_bytes} bytes")
    try:
        return json.loads(content.decode("utf-8-sig"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as reason:
        raise UnfitError("$", "JSON in UTF-8") from reason


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def read_fact(kind: Any, value: object, at: str) -> Any:
    """Return the fact of a kind that a JSON value holds; `at` is what an error calls the place.

    Raises:
        UnfitError: it holds something else.
    """
    if kind is Finding:
        return _read_finding(value, at)
    if is_dataclass(kind):
        return _read_record(kind, value, at)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return _read_choice(kind, value, at)
    if get_origin(kind) is UnionType:
        return None if value is None else read_fact(_without_none(kind), value, at)
    if get_origin(kind) is tuple:
        return _read_tuple(get_args(kind), value, at)
    return _read_scalar(kind, value, at)


def _without_none(kind: Any) -> Any:
    (wanted,) = (k for k in get_args(kind) if k is not NoneType)
    return wanted


def _read_record(kind: Any, value: object, at: str) -> Any:
    if not isinstance(value, dict):
        raise UnfitError(at, "an object")
    hints = get_type_hints(kind)
    for name in value:
        if name not in hints:
            raise UnfitError(_within(at, name[:80]), "a known field")
    values: dict[str, Any] = {}
    for f in fields(kind):
        place = _within(at, f.name)
        if f.name in value:
            values[f.name] = read_fact(hints[f.name], value[f.name], place)
        elif f.default is MISSING:
            if NoneType not in get_args(hints[f.name]):
                raise UnfitError(place, "a value")
            values[f.name] = None
    return kind(**values)


def _read_tuple(kinds: tuple[Any, ...], value: object, at: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise UnfitError(at, "a list")
    is_open = kinds[-1] is Ellipsis
    if not is_open and len(value) != len(kinds):
        raise UnfitError(at, f"a list of {len(kinds)}")
    wanted = [kinds[0]] * len(value) if is_open else kinds
    return tuple(
        read_fact(kind, item, f"{at}[{i}]") for i, (kind, item) in enumerate(zip(wanted, value, strict=True))
    )


def _read_choice(kind: type[StrEnum], value: object, at: str) -> StrEnum:
    if not isinstance(value, str) or value not in list(kind):
        raise UnfitError(at, ", ".join(kind))
    return kind(value)


def _read_scalar(kind: Any, value: object, at: str) -> object:
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value) if abs(value) <= LARGEST_NUMBER else math.inf
    if type(value) is not kind:
        raise UnfitError(at, _KINDS[kind])
    _check_scalar(value, at, least=0)
    return value


def _check_scalar(value: object, at: str, *, least: float) -> None:
    # every number of the facts counts something, so none is below zero
    if isinstance(value, int | float) and not least <= value <= LARGEST_NUMBER:
        raise UnfitError(at, f"{least:.0f} to {LARGEST_NUMBER}")
    if isinstance(value, str) and not value.isascii() and not _is_unicode(value):
        raise UnfitError(at, "text in Unicode")


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _read_finding(value: object, at: str) -> Finding:
    if not isinstance(value, dict) or set(value) != {"code", "severity", "values"}:
        raise UnfitError(at, "code, severity and values")
    if not isinstance(value["values"], dict):
        raise UnfitError(_within(at, "values"), "an object")
    for name, item in value["values"].items():
        for part in item if isinstance(item, list) else [item]:
            if part is not None and type(part) not in _KINDS:
                raise UnfitError(_within(at, "values"), "plain values")
            _check_scalar(part, _within(at, "values"), least=-LARGEST_NUMBER)
        _check_scalar(name, _within(at, "values"), least=0)
    if value["code"] not in list(FindingCode):
        raise UnfitError(_within(at, "code"), "a code of this version")
    if value["severity"] not in list(Severity):
        raise UnfitError(_within(at, "severity"), ", ".join(Severity))
    return Finding.from_json(value)


def _within(at: str, name: str) -> str:
    return f"{at}.{name}" if at else name
