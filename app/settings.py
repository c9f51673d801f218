"""What the person chose to keep: one JSON file, written atomically, bad values replaced by defaults."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

from app.files import write_atomically
from app.findings import Finding, FindingCode, warning
from app.texts import LANGUAGES

FORMAT = 1
ACCEPTED: Final[Mapping[str, tuple[str, ...]]] = {"language": LANGUAGES}


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings with their defaults.

    Attributes:
        language: `en` or `zh_CN`; None follows the system.
        engine: Name as `moxie engines list` shows it; None lets Moxie choose.
    """

    language: str | None = None
    engine: str | None = None


def load_settings(file: Path) -> tuple[Settings, tuple[Finding, ...]]:
    """Read the settings; whatever cannot be read falls back to its default with a finding."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Settings(), ()
    except (OSError, ValueError, RecursionError):
        return Settings(), (warning(FindingCode.SETTINGS_INVALID, path=str(file), name="*"),)
    if not isinstance(data, Mapping):
        return Settings(), (warning(FindingCode.SETTINGS_INVALID, path=str(file), name="*"),)
    values: dict[str, Any] = {}
    findings: list[Finding] = []
    for f in fields(Settings):
        value = data.get(f.name)
        if value is None or (isinstance(value, str) and value in ACCEPTED.get(f.name, (value,))):
            values[f.name] = value
        else:
            findings.append(warning(FindingCode.SETTINGS_INVALID, path=str(file), name=f.name))
    return Settings(**values), tuple(findings)


def save_settings(file: Path, settings: Settings) -> None:
    """Write the settings so that a crash leaves the old or the new file, never half of one.

    Raises:
        FindingError: `DISK_FULL` or `STORE_READ_ONLY`.
    """
    text = json.dumps({"format": FORMAT, **asdict(settings)}, ensure_ascii=False, indent=2)
    write_atomically(file, text.encode("utf-8"))
