"""Numbers and words as they come from the command line, for every subcommand alike."""

import argparse
import re
from collections.abc import Callable
from typing import Final

from app.cli.context import UsageError
from app.options import BOUNDS
from app.texts import Texts

MOE_WORDS: Final = ("auto", "off", "all")
SHOWN_CHARACTERS: Final = 40

_WHOLE: Final = re.compile(r"\d{1,12}", re.ASCII)
_DECIMAL: Final = re.compile(r"\d{1,9}(?:\.\d{0,9})?|\.\d{1,9}", re.ASCII)


def given_text(texts: Texts) -> Callable[[str], str]:
    """Return an argparse type that takes any text but an empty one."""

    def check(value: str) -> str:
        if not value:
            raise argparse.ArgumentTypeError(texts.text("cli.usage.empty"))
        return value

    return check


def moe_wish(value: str, texts: Texts) -> str | int:
    """Return a `--moe` value as the planner takes it.

    Raises:
        UsageError: neither one of the words nor a number of blocks.
    """
    if value in MOE_WORDS:
        return value
    if _WHOLE.fullmatch(value):
        return int(value)
    raise UsageError(texts.text("cli.bad_moe", value=shown(value)))


def whole_number(option: str, value: str | None, field_name: str, texts: Texts) -> int | None:
    """Return a value within the bounds of an option field; None for none.

    Raises:
        UsageError: no such number.
    """
    if value is None:
        return None
    low, high = BOUNDS[field_name]
    if _WHOLE.fullmatch(value) and low <= int(value) <= high:
        return int(value)
    raise _refused(option, value, field_name, texts)


def decimal_number(option: str, value: str | None, field_name: str, texts: Texts) -> float | None:
    """Return a value within the bounds of an option field; None for none.

    Raises:
        UsageError: no such number.
    """
    if value is None:
        return None
    low, high = BOUNDS[field_name]
    if _DECIMAL.fullmatch(value) and low <= float(value) <= high:
        return float(value)
    raise _refused(option, value, field_name, texts)


def shown(value: str) -> str:
    """Return a value as a complaint quotes it."""
    return value if len(value) <= SHOWN_CHARACTERS else f"{value[:SHOWN_CHARACTERS]}…"


def _refused(option: str, value: str, field_name: str, texts: Texts) -> UsageError:
    low, high = (int(bound) for bound in BOUNDS[field_name])
    return UsageError(texts.text("cli.bad_number", option=option, value=shown(value), low=low, high=high))
