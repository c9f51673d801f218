"""Codes and values become sentences here, in the chosen language, for window and command line alike."""

import json
import locale
import os
import re
import string
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from app.findings import Finding
from app.paths import resource_path

LANGUAGES = ("en", "zh_CN")
NO_VALUE = "—"

_OPTIONAL: Final = re.compile(r"\[\[((?:(?!\[\[|\]\]).)*)\]\]", re.S)


@dataclass(frozen=True, slots=True)
class FindingText:
    """A finding in words: what happened and why, and the one action that helps."""

    message: str
    action: str


class Texts:
    """The catalogue of one language.

    Placeholders are `{name}`; `{name:bytes}` shows GB = 1024^3 bytes as Windows does,
    `{name:percent}` a share 0..1, `{name:speed}` bytes per second, `{name:count}` a grouped number,
    `{name:word}` the catalogue's entry `word.VALUE`, or the value itself where there is none.
    `[[...]]` is left out where a value in it is missing; such a part may hold another one.
    """

    def __init__(self, language: str) -> None:
        """Read the catalogue of `language`, one of `LANGUAGES`."""
        self.language = language
        self._entries = _catalogue(language)
        self._formatter = _Formatter(self._entries)

    def text(self, key: str, /, **values: object) -> str:
        """Return the sentence for `key`. A missing value shows as a dash.

        Raises:
            KeyError: no such key.
        """
        return self._formatter.vformat(_without_unknown(self._entries[key], values), (), values)

    def finding(self, finding: Finding) -> FindingText:
        """Return message and action of a finding."""
        key = f"finding.{finding.code.value}"
        return FindingText(self.text(key, **finding.values), self.text(f"{key}.action", **finding.values))

    def finding_line(self, finding: Finding) -> str:
        """Return a finding as one line: severity, message, action."""
        words = self.finding(finding)
        severity = self.text(f"severity.{finding.severity.value}")
        return self.text("finding_line", severity=severity, message=words.message, action=words.action)


def system_language() -> str:
    """Return the catalogue that fits the system's language; English when none does."""
    for variable in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if value := os.environ.get(variable):
            return "zh_CN" if value.lower().startswith("zh") else "en"
    name = _windows_language() if sys.platform == "win32" else locale.getlocale()[0]
    return "zh_CN" if (name or "").lower().startswith(("zh", "chinese")) else "en"


def format_bytes(size_bytes: float) -> str:
    """Return bytes in the largest fitting unit, 1024-based, as Windows shows them."""
    for unit, digits in (("B", 0), ("KB", 0), ("MB", 0)):
        if abs(size_bytes) < 1024 or (unit == "MB" and abs(size_bytes) < 1000):
            return f"{size_bytes:.{digits}f} {unit}"
        size_bytes /= 1024
    return f"{size_bytes:.1f} GB"


@cache
def _catalogue(language: str) -> Mapping[str, str]:
    entries: Mapping[str, str] = json.loads(
        resource_path("i18n", f"{language}.json").read_text(encoding="utf-8")
    )
    return entries


def _windows_language() -> str | None:
    if sys.platform != "win32":
        return None
    import ctypes

    language_id = ctypes.windll.kernel32.GetUserDefaultUILanguage()
    return locale.windows_locale.get(language_id)


def _without_unknown(template: str, values: Mapping[str, object]) -> str:
    """Return the template without the parts in `[[...]]` that lack a value; the innermost come first."""
    while "[[" in template:
        template = _OPTIONAL.sub(lambda part: part[1] if _is_known(part[1], values) else "", template)
    return template


def _is_known(template: str, values: Mapping[str, object]) -> bool:
    names = (name for _, name, _, _ in string.Formatter().parse(template) if name)
    return all(values.get(name) not in (None, ()) for name in names)


class _Formatter(string.Formatter):
    def __init__(self, entries: Mapping[str, str]) -> None:
        self._entries = entries

    def get_value(self, key: int | str, args: Any, kwargs: Mapping[str, Any]) -> Any:  # noqa: ARG002 the base class's signature
        return kwargs.get(str(key))

    def format_field(self, value: Any, format_spec: str) -> str:
        if value is None or value == ():
            return NO_VALUE
        if isinstance(value, tuple | list):
            return ", ".join(self.format_field(item, format_spec) for item in value)
        match format_spec:
            case "bytes":
                return format_bytes(value)
            case "percent":
                return f"{value * 100:.0f}%"
            case "speed":
                return f"{format_bytes(value)}/s"
            case "count":
                return f"{value:,}"
            case "word":
                return self._entries.get(f"word.{value}", str(value))
        return str(format(value, format_spec))
