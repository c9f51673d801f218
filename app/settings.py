"""Settings of one person: loaded, checked, saved in one JSON file."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from app.files import PathKind, free_name, path_kind, read_regular, write_atomically
from app.findings import Finding, FindingCode, FindingError, warning
from app.options import OptionError, SamplingOptions
from app.texts import LANGUAGES

FORMAT: Final = 1
"""Fields may be added under one number: an absent one takes its default."""

SYSTEM_THEME: Final = "system"
THEMES: Final = (SYSTEM_THEME, "light", "dark")
ZOOM_BOUNDS: Final = (0.8, 2.0)
RECENT_MODELS_KEPT: Final = 12
LONGEST_TEXT: Final = 100_000
LARGEST_FILE_BYTES: Final = 4 * 1024**2


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
        library_paths: Files and folders the person added to the list of models.
        excluded_gpus: Keys of cards engines are kept from (`hardware/gpu_choice.py`).
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
    library_paths: tuple[str, ...] = ()
    excluded_gpus: tuple[str, ...] = ()
    window_geometry: str | None = None
    system_prompt: str = ""
    sampling: SamplingOptions = field(default_factory=SamplingOptions)


class _UnfitError(ValueError):
    """A value is not one this setting takes."""


def load_settings(file: Path) -> tuple[Settings, tuple[Finding, ...]]:
    """Read the settings; whatever cannot be read falls back to its default with a finding."""
    data = _stored(file)
    if data is None:
        return Settings(), ((_invalid(file, "*"),) if _is_there(file) else ())
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


def save_settings(file: Path, settings: Settings) -> tuple[Finding, ...]:
    """Write the settings so that a crash leaves the old or the new file, never half of one.

    What a newer version keeps in the file stays in it. A file with anything in it that cannot be used is
    kept under another name first, and `SETTINGS_SET_ASIDE` returned.

    Raises:
        FindingError: `DISK_FULL`, `STORE_READ_ONLY` or `NOT_A_FILE`.
    """
    stored = _stored(file) or {}
    findings = _set_aside(file) if load_settings(file)[1] else ()
    data = _with_strangers(stored, {"format": FORMAT, **asdict(settings)})
    write_atomically(file, json.dumps(data, ensure_ascii=True, indent=2).encode("ascii"))
    return findings


def _stored(file: Path) -> Mapping[str, Any] | None:
    """Return what the file says; None for no file and for one that makes no sense."""
    try:
        data = json.loads(read_regular(file, LARGEST_FILE_BYTES).decode("utf-8"))
    except (FindingError, ValueError, RecursionError):
        return None
    return data if isinstance(data, Mapping) else None


def _is_there(file: Path) -> bool:
    try:
        return path_kind(file) is not None
    except FindingError:
        return True


def _with_strangers(stored: Mapping[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    """Return `data` with those fields of `stored` that this version does not know."""
    inner = stored.get("sampling")
    if isinstance(inner, Mapping):
        data["sampling"] = {**inner, **data["sampling"]}
    newer = stored.get("format")
    if isinstance(newer, int) and newer > FORMAT:
        data["format"] = newer
    return {**stored, **data}


def _set_aside(file: Path) -> tuple[Finding, ...]:
    """Copy a file that is about to lose something; an empty or endless one has nothing to lose."""
    if path_kind(file) is not PathKind.FILE:
        return ()
    content = read_regular(file, LARGEST_FILE_BYTES)
    if not content:
        return ()
    kept_as = free_name(file, datetime.now())
    write_atomically(kept_as, content)
    return (warning(FindingCode.SETTINGS_SET_ASIDE, path=str(file), kept_as=str(kept_as)),)


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
    "library_paths": _texts,
    "excluded_gpus": _texts,
    "window_geometry": _text,
    "system_prompt": _text,
}
