"""Values a person gives for keys of a header: `--set KEY=VALUE`, and the answer to a question."""

import re
from typing import Final

from app.cli.context import UsageError
from app.cli.numbers import shown
from app.gguf.facts import ModelFacts
from app.gguf.header_patch import stored_value
from app.gguf.inspect_file import InspectedFile
from app.gguf.key_types import expected_type
from app.gguf.repair_facts import RepairChoice, RightValue
from app.options import KvOverrideValue
from app.texts import Texts

_COMMON_PREFIXES: Final = ("general.", "tokenizer.")
_WHOLE: Final = re.compile(r"-?\d{1,19}", re.ASCII)
_DECIMAL: Final = re.compile(r"-?\d{1,18}(?:\.\d{1,18})?(?:e-?\d{1,2})?", re.ASCII | re.IGNORECASE)
_CLAIMS: Final = {"true": True, "false": False}


def with_values_set(
    choice: RepairChoice, pairs: list[str], inspected: InspectedFile, texts: Texts
) -> RepairChoice:
    """Return the decision with each `KEY=VALUE` in it; a key needs no architecture in front.

    Raises:
        UsageError: one is no such pair, or the value does not fit the key.
    """
    chosen = dict(choice.chosen)
    for pair in pairs:
        name, mark, value = pair.partition("=")
        if not mark or not name.strip():
            raise UsageError(texts.text("cli.repair.bad_pair", pair=shown(pair)))
        key = full_key(name.strip(), inspected.facts)
        chosen[key] = value_of(key, value.strip(), inspected, texts)
    keys = {key for key in chosen if key not in dict(choice.chosen)}
    return RepairChoice(choice.off - keys, tuple(chosen.items()))


def full_key(name: str, facts: ModelFacts) -> str:
    """Return a key with the architecture in front, where it has none and is no common one."""
    if facts.architecture is None or name.startswith((*_COMMON_PREFIXES, f"{facts.architecture}.")):
        return name
    return f"{facts.architecture}.{name}"


def value_of(key: str, value: str, inspected: InspectedFile, texts: Texts) -> KvOverrideValue:
    """Return a text as the value of a key.

    Raises:
        UsageError: it does not fit the type of the key, or is beyond what makes sense.
    """
    right = next((right for right in inspected.right_values if right.key == key), None)
    type_name = _type_name(key, right, inspected)
    read = _read(value, type_name)
    is_too_large = (
        right is not None and right.most is not None and isinstance(read, int) and read > right.most
    )
    try:
        if read is None or is_too_large or (right is not None and right.most is not None and read == 0):
            raise ValueError(value)
        stored_value(type_name or _type_of(read), read)
    except ValueError:
        words = texts.text("cli.repair.bad_value", key=key, value=shown(value), most=right and right.most)
        raise UsageError(words) from None
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
