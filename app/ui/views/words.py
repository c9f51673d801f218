"""A sentence not yet said: its key and values. What is shown can so be decided without a language."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from app.texts import Texts


@dataclass(frozen=True, slots=True)
class Words:
    """An entry of the catalogue with what it is filled with.

    Attributes:
        values: By placeholder; one may be `Words` itself, said in the same language.
    """

    key: str
    values: Mapping[str, object] = field(default_factory=dict)


def say(texts: Texts, words: Words) -> str:
    """Return the sentence."""
    values = {name: say(texts, v) if isinstance(v, Words) else v for name, v in words.values.items()}
    return texts.text(words.key, **values)
