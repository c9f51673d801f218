"""A text that a person wrote, as the value of a key of a header."""

import re
from typing import Final

from app.gguf.header_patch import stored_value
from app.gguf.inspect_file import InspectedFile
from app.gguf.key_types import expected_type
from app.gguf.repair_facts import RightValue
from app.options import KvOverrideValue

_WHOLE: Final = re.compile(r"-?\d{1,19}", re.ASCII)
_DECIMAL: Final = re.compile(r"-?\d{1,18}(?:\.\d{1,18})?(?:e-?\d{1,2})?", re.ASCII | re.IGNORECASE)
_OF_THE_CONTAINER: Final = ("general.alignment", "split.count", "split.no", "split.tensors.count")
"""They say where the weights lie, and no other value moves those."""

_CLAIMS: Final = {"true": True, "false": False}


def value_of_text(key: str, text: str, inspected: InspectedFile) -> KvOverrideValue:
    """Return a text as the value of a key.

    Raises:
        ValueError: it does not fit the type of the key, or is beyond what makes sense.
    """
    if key in _OF_THE_CONTAINER:
        raise ValueError(text)
    right = next((right for right in inspected.right_values if right.key == key), None)
    type_name = _type_name(key, right, inspected)
    read = _read(text, type_name)
    if read is None:
        raise ValueError(text)
    if (
        right is not None
        and right.most is not None
        and not (isinstance(read, int) and 0 < read <= right.most)
    ):
        raise ValueError(text)
    stored_value(type_name or _type_of(read), read)
    return read


def _type_name(key: str, right: RightValue | None, inspected: InspectedFile) -> str | None:
    if right is not None:
        return right.type_name
    stored = inspected.headers[0].key_types.get(key) if inspected.headers else None
    known = expected_type(key, inspected.facts.architecture)
    return known or (stored if stored not in (None, "arr") else None)


def _read(value: str, type_name: str | None) -> KvOverrideValue | None:
    if type_name == "str":
        return value
    if type_name == "bool" or (type_name is None and value.lower() in _CLAIMS):
        return _CLAIMS.get(value.lower())
    if type_name in ("f32", "f64"):
        return float(value) if _DECIMAL.fullmatch(value) else None
    if _WHOLE.fullmatch(value):
        return int(value)
    if type_name is not None:
        return None
    return float(value) if _DECIMAL.fullmatch(value) else value


def _type_of(value: KvOverrideValue) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "u32" if 0 <= value < 2**32 else "i64"
    return "f32" if isinstance(value, float) else "str"
