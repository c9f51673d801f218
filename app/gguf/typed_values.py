"""Values stored in the wrong type, as the type that engines want, where they mean one."""

from collections.abc import Callable, Mapping
from typing import Final

from app.gguf.reader import MetadataValue
from app.options import KvOverrideValue

MOST_U32: Final = 2**32 - 1
MOST_F32: Final = (2 - 2**-23) * 2.0**127
LEAST_F32: Final = 2.0**-149


def as_type(type_name: str, stored: MetadataValue | None) -> KvOverrideValue | None:
    """Return a value as `u32`, `f32`, `bool` or `str`; None when it means none."""
    return _CONVERSIONS[type_name](stored)


def only_value(stored: tuple[MetadataValue, ...]) -> MetadataValue | None:
    """Return what a list holds again and again; None when it holds different values, or none."""
    return stored[0] if len(set(stored)) == 1 else None


def as_whole(stored: MetadataValue | None) -> int | None:
    """Return a value as the u32 it means; None when it means none."""
    if isinstance(stored, str) and stored.strip().isdecimal() and len(stored) < 12:
        stored = int(stored)
    if isinstance(stored, bool) or not isinstance(stored, int | float):
        return None
    return int(stored) if stored == stored // 1 and 0 <= stored <= MOST_U32 else None


def _real(stored: MetadataValue | None) -> float | None:
    if isinstance(stored, bool) or not isinstance(stored, int | float | str):
        return None
    try:
        number = float(stored)
    except (ValueError, OverflowError):
        return None
    return number if _fits_f32(number) else None


def _fits_f32(number: float) -> bool:
    """Return whether engines can hold it: neither endless nor, unlike what is stored, nothing."""
    return number == 0.0 or LEAST_F32 <= abs(number) <= MOST_F32


def _claim(stored: MetadataValue | None) -> bool | None:
    return bool(stored) if isinstance(stored, int) and stored in (0, 1) else None


def _words(stored: MetadataValue | None) -> str | None:
    return str(stored) if isinstance(stored, int | float) else None


_CONVERSIONS: Final[Mapping[str, Callable[[MetadataValue | None], KvOverrideValue | None]]] = {
    "u32": as_whole,
    "f32": _real,
    "bool": _claim,
    "str": _words,
}
