"""`--set NAME=VALUE` and `--flags`: options fixed by hand, for `moxie plan` and `moxie chat`."""

import argparse
from typing import Any, Final

from app.cli.context import UsageError
from app.cli.numbers import given_text, shown, whole_number
from app.engine.extra_flags import split_flags
from app.options import CHOICES
from app.planner.facts import ExpertWishes
from app.texts import Texts

_WORDS: Final = {"on": True, "off": False}
SWITCHES: Final = ("swa_full", "op_offload", "check_tensors")
NUMBERS: Final = ("n_gpu_layers", "n_batch", "n_ubatch", "n_threads_batch")
NAMES: Final = (*NUMBERS, *SWITCHES, "flash_attn", "load_mode", "chat_template")


def add_expert_arguments(parser: argparse.ArgumentParser, texts: Texts) -> None:
    """Declare both."""
    words = texts.text("cli.set.help", names=NAMES)
    parser.add_argument(
        "--set", metavar="NAME=VALUE", type=given_text(texts), action="append", default=[], help=words
    )
    parser.add_argument("--flags", metavar="TEXT", type=given_text(texts), help=texts.text("cli.flags.help"))


def expert_wishes(args: argparse.Namespace, texts: Texts) -> ExpertWishes:
    """Return what was fixed by hand.

    Raises:
        UsageError: no such option, or no such value of it.
    """
    values: dict[str, Any] = {}
    for given in args.set:
        name, separator, value = given.partition("=")
        if name not in NAMES or not separator:
            raise UsageError(texts.text("cli.set.unknown", value=shown(given), names=NAMES))
        values[name] = _value(name, value, texts)
    if args.flags is not None:
        try:
            values["extra_flags"] = split_flags(args.flags)
        except ValueError:
            raise UsageError(texts.text("cli.flags.bad", value=shown(args.flags))) from None
    return ExpertWishes(**values)


def _value(name: str, value: str, texts: Texts) -> object:
    if name in NUMBERS:
        return whole_number(f"--set {name}", value, name, texts)
    accepted = tuple(_WORDS) if name in SWITCHES else CHOICES[name]
    if value not in accepted:
        raise UsageError(texts.text("cli.set.bad", name=name, value=shown(value), accepted=accepted))
    return _WORDS[value] if name in SWITCHES else value
