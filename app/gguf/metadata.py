"""Typed look-ups in the key-values of a header. `None` = absent, or not of the type asked for."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from app.gguf.reader import MetadataValue, SkippedValue

LARGEST_COUNT: Final = 2**31 - 1
"""Everything the keys count (blocks, heads, tokens, widths) is far below; more is no value."""


class Metadata:
    """The key-values of a model; architecture keys are asked for without their prefix."""

    def __init__(self, keys: Mapping[str, MetadataValue]) -> None:
        """Wrap the keys of the first shard."""
        self._keys = keys
        self.architecture = self.string("general.architecture") or None

    def full_name(self, name: str) -> str:
        """Return `name` with the prefix of this model's architecture."""
        return f"{self.architecture}.{name}"

    def raw(self, name: str) -> MetadataValue | None:
        """Return an architecture key as stored."""
        return self._keys.get(self.full_name(name))

    def has(self, name: str) -> bool:
        """Return whether the architecture key is there, whatever it holds."""
        return self.full_name(name) in self._keys

    def integer(self, name: str) -> int | None:
        """Return an architecture key as one number up to `LARGEST_COUNT`; of an array the largest."""
        numbers = _counts(self.raw(name))
        return max(numbers) if numbers else None

    def per_layer(self, name: str, count: int) -> tuple[int, ...]:
        """Return an architecture key for each of `count` layers; a short array repeats its last value.

        Empty when the key is absent or holds anything but numbers from 0 to `LARGEST_COUNT`.
        """
        numbers = _counts(self.raw(name))
        if not numbers:
            return ()
        return (numbers + numbers[-1:] * max(0, count - len(numbers)))[:count]

    def string(self, full_name: str) -> str | None:
        """Return a text key by its full name."""
        value = self._keys.get(full_name)
        return value if isinstance(value, str) else None

    def number(self, full_name: str) -> int | None:
        """Return one whole number by its full name."""
        numbers = _integers(self._keys.get(full_name))
        return numbers[0] if len(numbers) == 1 else None

    def length(self, full_name: str) -> int | None:
        """Return how many elements an array has, kept or skipped."""
        value = self._keys.get(full_name)
        return (
            value.length
            if isinstance(value, SkippedValue)
            else len(value)
            if isinstance(value, tuple)
            else None
        )

    def has_texts(self, full_name: str) -> bool:
        """Return whether an array is there that holds texts, or nothing."""
        value = self._keys.get(full_name)
        if isinstance(value, SkippedValue):
            return value.type_name == "str"
        return isinstance(value, tuple) and all(isinstance(item, str) for item in value)

    def impossible_counts(self, names: Iterable[str]) -> Iterator[tuple[str, int]]:
        """Yield those of the architecture keys `names` that hold a number `integer` does not take."""
        for name in names:
            for number in _integers(self.raw(name)):
                if not 0 <= number <= LARGEST_COUNT:
                    yield name, number
                    break

    def names_ending(self, suffix: str) -> tuple[str, ...]:
        """Return the full names of keys that end so, e.g. a count under a wrong prefix."""
        return tuple(name for name in self._keys if name.endswith(suffix))

    def has_prefix(self, prefix: str) -> bool:
        """Return whether any key starts so."""
        return any(name.startswith(prefix) for name in self._keys)


def _counts(value: MetadataValue | None) -> tuple[int, ...]:
    numbers = _integers(value)
    return numbers if all(0 <= number <= LARGEST_COUNT for number in numbers) else ()


def _integers(value: MetadataValue | None) -> tuple[int, ...]:
    if isinstance(value, bool | str | float):
        return ()
    if isinstance(value, int):
        return (value,)
    if isinstance(value, tuple):
        return tuple(int(item) for item in value if isinstance(item, int))
    return ()
