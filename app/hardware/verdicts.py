"""A machine alone -> what a person should know about it. Pure."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from app.findings import Finding, FindingCode, note, warning
from app.hardware.facts import GpuInfo, HardwareFacts
from app.processes.environment import engine_environment

ALMOST_FULL_SHARE: Final = 0.20
"""A desktop with a browser holds 5 to 15 percent of a small card; above 80 percent, something else does."""

_VARIABLES_OF: Final = {
    "CUDA_VISIBLE_DEVICES": ("nvidia",),
    "HIP_VISIBLE_DEVICES": ("amd",),
    "ROCR_VISIBLE_DEVICES": ("amd",),
    "GGML_VK_VISIBLE_DEVICES": ("nvidia", "amd", "intel"),
}


def judge_machine(facts: HardwareFacts, *, engine_bytes: int = 0) -> tuple[Finding, ...]:
    """Return what the facts of a machine mean.

    Args:
        engine_bytes: What our own engine holds on the screen's card now: it is no one else's.
    """
    return (
        *_cards(facts),
        *_instances(facts),
        *_hidden(facts),
        *_display(facts, engine_bytes),
        *_surroundings(facts),
    )


def hidden_by(variable: str, value: str, gpus: tuple[GpuInfo, ...]) -> tuple[GpuInfo, ...]:
    """Return the cards that a variable hides from our engines: none when they never get to see it."""
    shown = _shown_by(variable, value, gpus)
    cards = _cards_of(variable, gpus)
    return () if shown is None else tuple(gpu for gpu in cards if gpu not in shown)


def visible_gpus(facts: HardwareFacts) -> tuple[GpuInfo, ...]:
    """Return the cards engines see, in the order they count them: an inherited list decides both."""
    gpus = facts.gpus
    for variable, value in facts.runtime.gpu_variables if facts.runtime else ():
        shown = _shown_by(variable, value, gpus)
        if shown is not None:
            others = tuple(gpu for gpu in gpus if gpu not in _cards_of(variable, gpus))
            gpus = (*shown, *others)
    return gpus


def only_visible(facts: HardwareFacts) -> HardwareFacts:
    """Return the machine as engines see it, with nothing left to hide: cards may be taken out of it then.

    A list that counts cards means others as soon as one is left out.
    """
    if facts.runtime is None or not facts.runtime.gpu_variables:
        return facts
    return replace(facts, gpus=visible_gpus(facts), runtime=replace(facts.runtime, gpu_variables=()))


def _cards_of(variable: str, gpus: tuple[GpuInfo, ...]) -> tuple[GpuInfo, ...]:
    return tuple(gpu for gpu in gpus if gpu.vendor in _VARIABLES_OF.get(variable, ()))


def _shown_by(variable: str, value: str, gpus: tuple[GpuInfo, ...]) -> tuple[GpuInfo, ...] | None:
    """Return the cards a variable names, in its order; None when it decides nothing."""
    if variable not in _VARIABLES_OF or variable not in engine_environment({variable: value}):
        return None
    cards = _cards_of(variable, gpus)
    shown: list[GpuInfo] = []
    for word in (part.strip() for part in value.split(",")):
        named = [gpu for place, gpu in enumerate(cards) if _is_named(word, place, gpu)]
        if not named:  # CUDA stops at the first name that is none
            break
        shown += [gpu for gpu in named if gpu not in shown]
    return tuple(shown)


def _is_named(word: str, place: int, gpu: GpuInfo) -> bool:
    if word.isdecimal():
        return int(word) == place
    return len(word) > len("GPU-") and (gpu.uuid or "").lower().startswith(word.lower())


def _cards(facts: HardwareFacts) -> Iterator[Finding]:
    for gpu in facts.gpus:
        if gpu.is_lost:
            yield warning(FindingCode.GPU_LOST, gpu=gpu.name)
        elif gpu.is_asleep and gpu.vram_total_bytes is None:
            yield note(FindingCode.GPU_ASLEEP, gpu=gpu.name)


def _instances(facts: HardwareFacts) -> Iterator[Finding]:
    instances = [gpu for gpu in facts.gpus if (gpu.uuid or "").startswith("MIG-")]
    if len(instances) > 1:
        first = instances[0]
        yield note(
            FindingCode.GPU_INSTANCES,
            gpu=first.name,
            count=len(instances),
            total_bytes=first.vram_total_bytes,
        )


def _hidden(facts: HardwareFacts) -> Iterator[Finding]:
    for variable, value in facts.runtime.gpu_variables if facts.runtime else ():
        hidden = hidden_by(variable, value, facts.gpus)
        if hidden:
            names = tuple(gpu.name for gpu in hidden)
            yield warning(FindingCode.GPU_HIDDEN, variable=variable, value=value, hidden=names)


def _display(facts: HardwareFacts, engine_bytes: int) -> Iterator[Finding]:
    for gpu in facts.gpus:
        total, free = gpu.vram_total_bytes, gpu.vram_free_bytes
        if not gpu.drives_display or gpu.is_integrated or not total or free is None:
            continue
        if free + engine_bytes < ALMOST_FULL_SHARE * total:
            yield warning(
                FindingCode.DISPLAY_GPU_FULL,
                gpu=gpu.name,
                used_bytes=total - free,
                free_bytes=free,
                total_bytes=total,
            )


def _surroundings(facts: HardwareFacts) -> Iterator[Finding]:
    system = facts.system
    if system is None:
        return
    if system.virtual_machine:
        yield note(FindingCode.IN_VIRTUAL_MACHINE, name=system.virtual_machine)
    if system.is_wsl:
        yield note(FindingCode.IN_WSL)
    if system.wine_version:
        yield note(FindingCode.IN_WINE, version=system.wine_version)
    if system.on_battery:
        yield warning(FindingCode.ON_BATTERY)
