"""Settings of one person: loaded, checked, saved in one JSON file."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from app.files import write_atomically
from app.findings import Finding, FindingCode, warning
from app.options import OptionError, SamplingOptions
from app.texts import LANGUAGES

FORMAT: Final = 1
"""Fields may be added under one number: an absent one takes its default."""

SYSTEM_THEME: Final = "system"
THEMES: Final = (SYSTEM_THEME, "light", "dark")
ZOOM_BOUNDS: Final = (0.8, 2.0)
RECENT_MODELS_KEPT: Final = 12
LONGEST_TEXT: Final = 100_000


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings with their defaults.

    Attributes:
        language: `en` or `zh_CN`; None follows the system.
        engine: Name as `moxie engines list` shows it; None lets Moxie choose.
        theme: `light`, `dark`, or `system` to follow it.
        zoom: Text scale, 0.8 .. 2.0.
        reduced_motion: Nothing moves; None follows the system.
        is_expert: The parameters are shown in full.
        last_model: Path of the model picked last.
        recent_models: Paths of models that were loaded, the newest first, at most `RECENT_MODELS_KEPT`.
        window_geometry: As the window itself writes it down.
        system_prompt: First message of every prompt; empty for none.
        sampling: How answers are sampled unless a chat says otherwise.
    """

    language: str | None = None
    engine: str | None = None
    theme: str = SYSTEM_THEME
    zoom: float = 1.0
    reduced_motion: bool | None = None
    is_expert: bool = False
    last_model: str | None = None
    recent_models: tuple[str, ...] = ()
    window_geometry: str | None = None
    system_prompt: str = ""
    sampling: SamplingOptions = field(default_factory=SamplingOptions)


class _UnfitError(ValueError):
    """A value is not one this setting takes."""


def load_settings(file: Path) -> tuple[Settings, tuple[Finding, ...]]:
    """Read the settings; whatever cannot be read falls back to its default with a finding."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Settings(), ()
    except (OSError, ValueError, RecursionError):
        return Settings(), (_invalid(file, "*"),)
    if not isinstance(data, Mapping):
        return Settings(), (_invalid(file, "*"),)
    values: dict[str, Any] = {}
    findings: list[Finding] = []
    for name in (f.name for f in fields(Settings)):
        value = data.get(name)
        if value is None:
            continue
        if name == "sampling":
            values[name], unfit = _sampling(value)
            findings += [_invalid(file, unfit_name) for unfit_name in unfit]
            continue
        try:
            values[name] = _CHECKS[name](value)
        except _UnfitError:
            findings.append(_invalid(file, name))
    return Settings(**values), tuple(findings)


def save_settings(file: Path, settings: Settings) -> None:
    """Write the settings so that a crash leaves the old or the new file, never half of one.

    Raises:
        FindingError: `DISK_FULL` or `STORE_READ_ONLY`.
    """
    text = json.dumps({"format": FORMAT, **asdict(settings)}, ensure_ascii=True, indent=2)
    write_atomically(file, text.encode("ascii"))


def _invalid(file: Path, name: str) -> Finding:
    return warning(FindingCode.SETTINGS_INVALID, path=str(file), name=name)


def _sampling(value: Any) -> tuple[SamplingOptions, tuple[str, ...]]:
    """Return what of `value` can be used, and the names of what cannot."""
    if not isinstance(value, Mapping):
        return SamplingOptions(), ("sampling",)
    good: dict[str, Any] = {}
    unfit = []
    for name in (f.name for f in fields(SamplingOptions)):
        if value.get(name) is None:
            continue
        try:
            good |= _one_sampling_value(name, value[name])
        except (OptionError, _UnfitError):
            unfit.append(f"sampling.{name}")
    return SamplingOptions(**good), tuple(unfit)


def _one_sampling_value(name: str, value: Any) -> dict[str, Any]:
    if name == "stop":
        return {name: _texts(value)}
    if name in ("top_k", "seed", "max_tokens") and not isinstance(value, int):
        raise _UnfitError(name)
    one = {name: value}
    SamplingOptions(**one)  # knows the bounds
    return one


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_TEXT:
        raise _UnfitError(value)
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise _UnfitError(value)
    return tuple(_text(item) for item in value)


def _recent(value: Any) -> tuple[str, ...]:
    return _texts(value)[:RECENT_MODELS_KEPT]


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _UnfitError(value)
    return value


def _zoom(value: Any) -> float:
    low, high = ZOOM_BOUNDS
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise _UnfitError(value)
    return float(value)


def _one_of(accepted: tuple[str, ...]) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if value not in accepted:
            raise _UnfitError(value)
        return str(value)

    return check


_CHECKS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "language": _one_of(LANGUAGES),
    "engine": _text,
    "theme": _one_of(THEMES),
    "zoom": _zoom,
    "reduced_motion": _flag,
    "is_expert": _flag,
    "last_model": _text,
    "recent_models": _recent,
    "window_geometry": _text,
    "system_prompt": _text,
}
