"""`--gpu`: which GPUs this run may use, and the engine looked at with them."""

import argparse
from collections.abc import Collection
from typing import Final

from app.cli.context import CliContext, UsageError
from app.cli.numbers import given_text, shown
from app.engine.engine_devices import EngineReader
from app.engine.engine_on_machine import EngineOnMachine, build_on_machine, engine_on_machine
from app.engine.packs import EngineEntry, list_engines
from app.hardware.facts import HardwareFacts
from app.hardware.gpu_choice import gpu_key, named_gpus
from app.hardware.recording import Recording
from app.paths import engine_devices_file
from app.texts import Texts

ALL: Final = "all"
NONE: Final = "none"


def add_gpu_argument(parser: argparse.ArgumentParser, texts: Texts) -> None:
    """Declare `--gpu`."""
    parser.add_argument(
        "--gpu", metavar="GPU[,GPU]|all|none", type=given_text(texts), help=texts.text("cli.gpu.help")
    )


def excluded_gpus(word: str | None, hardware: HardwareFacts, context: CliContext) -> frozenset[str]:
    """Return the keys of the cards this run is kept from: as `--gpu` says, else as the settings say.

    Raises:
        UsageError: a word names no card, or several.
    """
    if word is None:
        return frozenset(context.settings.excluded_gpus)
    if word == ALL:
        return frozenset()
    everything = frozenset(map(gpu_key, hardware.gpus))
    if word == NONE:
        return everything
    chosen = named_gpus(word.split(","), hardware.gpus)
    if chosen is None:
        known = tuple(f"{gpu.index}: {gpu.name}" for gpu in hardware.gpus) or None
        raise UsageError(context.texts.text("cli.gpu.unknown", value=shown(word), known=known))
    return everything - {gpu_key(gpu) for gpu in chosen}


def chosen_entry(context: CliContext) -> EngineEntry | None:
    """Return the engine a chat without `--engine` gets; None when there is none."""
    return next((entry for entry in list_engines(context.settings.engine) if entry.is_selected), None)


def look_at_engine(
    entry: EngineEntry | None, hardware: HardwareFacts, excluded: Collection[str] = ()
) -> EngineOnMachine:
    """Return what an engine can do with this machine."""
    return engine_on_machine(EngineReader(engine_devices_file()), entry, hardware, excluded)


def look_at_recorded_engine(recording: Recording, excluded: Collection[str] | None = None) -> EngineOnMachine:
    """Return what the engine of a recording can do with its machine.

    Args:
        excluded: Instead of the GPUs that were excluded there.
    """
    facts = recording.facts
    there = frozenset(gpu_key(gpu) for gpu in facts.gpus if gpu.index in recording.excluded_gpus)
    return build_on_machine(recording.engine, facts, there if excluded is None else excluded)
