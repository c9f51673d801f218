"""Values a person gives for keys of a header: `--set KEY=VALUE`, and the answer to a question."""

from typing import Final

from app.cli.context import UsageError
from app.cli.numbers import shown
from app.gguf.facts import ModelFacts
from app.gguf.inspect_file import InspectedFile
from app.gguf.repair_facts import RepairChoice
from app.gguf.value_text import value_of_text
from app.options import KvOverrideValue
from app.texts import Texts

_COMMON_PREFIXES: Final = ("general.", "tokenizer.", "split.")


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
    try:
        return value_of_text(key, value, inspected)
    except ValueError:
        right = next((right for right in inspected.right_values if right.key == key), None)
        most = None if right is None else right.most
        words = texts.text("cli.repair.bad_value", key=key, value=shown(value), most=most)
        raise UsageError(words) from None
