"""What engines, files and servers say, made safe to quote: no control characters, nothing else changed."""

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final, TypeVar

from app.engine.protocol import Event, Token

Said = TypeVar("Said")

_SEQUENCE: Final = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-_]")
"""Colours, cursor moves and window titles of ECMA-48 terminals."""

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""C0, DEL, C1, line separators, and marks that turn the direction of what follows."""


def plain(text: str) -> str:
    """Return `text` as one line without control characters; a tab or line break becomes a blank."""
    if text.isprintable() and text.isascii():
        return text
    return _CONTROL.sub(_substitute, _SEQUENCE.sub("", text))


def plain_event(event: Event) -> Event:
    """Return an event whose texts are plain. An answer's own text stays as the model wrote it."""
    return event if isinstance(event, Token) else _plain_values(event)


def _substitute(match: re.Match[str]) -> str:
    return " " if match.group() in "\t\n\r\u2028\u2029" else ""


def _plain_values(value: Said) -> Said:
    plainer: Any = value
    match value:
        case str():  # a member of an enumeration is one of ours
            plainer = plain(value) if type(value) is str else value
        case tuple() | list():
            plainer = type(value)(_plain_values(item) for item in value)
        case Mapping():
            plainer = {name: _plain_values(item) for name, item in value.items()}
        case _ if is_dataclass(value) and not isinstance(value, type):
            changed = {field.name: _plain_values(getattr(value, field.name)) for field in fields(value)}
            plainer = replace(value, **changed)
    typed: Said = plainer
    return typed
