"""Complaints of argparse, in the person's language: it has no port for that but a process-wide catalogue."""

import re
from typing import Final

from app.cli.numbers import shown
from app.texts import Texts

_ABOUT: Final = re.compile(r"argument (?P<name>[^:]+): (?P<rest>.*)", re.DOTALL)
_COMPLAINTS: Final = (
    (re.compile(r"the following arguments are required: (?P<names>.*)", re.DOTALL), "cli.usage.required"),
    (re.compile(r"unrecognized arguments: (?P<names>.*)", re.DOTALL), "cli.usage.unrecognized"),
    (
        re.compile(
            r"invalid choice: (?P<value>.*?)(?:, maybe you meant .*)? \(choose from (?P<choices>.*)\)",
            re.DOTALL,
        ),
        "cli.usage.choice",
    ),
    (re.compile(r"invalid \S+ value: (?P<value>.*)", re.DOTALL), "cli.usage.value"),
    (re.compile(r"expected (?:one|at least one|\d+) arguments?"), "cli.usage.expected"),
    (re.compile(r"ignored explicit argument (?P<value>.*)", re.DOTALL), "cli.usage.explicit"),
    (
        re.compile(r"ambiguous option: (?P<value>.*) could match (?P<choices>.*)", re.DOTALL),
        "cli.usage.ambiguous",
    ),
)
"""What Python 3.11 to 3.14 say."""


def complaint(message: str, texts: Texts) -> str:
    """Return what argparse complains of, as part of a sentence; its own words where they are new to us."""
    about = _ABOUT.fullmatch(message)
    if about:
        return texts.text("cli.usage.about", name=about["name"], rest=complaint(about["rest"], texts))
    for pattern, key in _COMPLAINTS:
        if found := pattern.fullmatch(message):
            return texts.text(
                key, **{name: shown(value.strip("'")) for name, value in found.groupdict().items()}
            )
    return shown(message)
