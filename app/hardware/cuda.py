"""CUDA's versions: which driver runs which build, and which build runs on which card. Pure.

Four versions are never mixed up: the highest the driver runs, the one an engine was built with, the runtime
libraries found, and installed toolkits, which no engine needs.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from app.hardware.engine_facts import EngineBuildFacts
from app.hardware.facts import GpuInfo, HardwareFacts

Capability = tuple[int, int]
Version = tuple[int, ...]

WINDOWS: Final = "Windows"

FLOORS: Final[Mapping[int, tuple[str, str]]] = {
    11: ("452.39", "450.80.02"),
    12: ("527.41", "525.60.13"),
    13: ("580", "580"),
}
"""CUDA's major version -> oldest driver on Windows and on Linux that runs any build of it.

Source: NVIDIA, CUDA compatibility, minor-version compatibility. A newer driver runs all older builds.
"""

TOOLKIT_DRIVERS: Final[Mapping[Capability, tuple[str | None, str]]] = {
    (11, 7): ("516.01", "515.43.04"),
    (11, 8): ("520.06", "520.61.05"),
    (12, 0): ("527.41", "525.60.13"),
    (12, 1): ("531.14", "530.30.02"),
    (12, 2): ("536.25", "535.54.03"),
    (12, 3): ("545.84", "545.23.06"),
    (12, 4): ("551.61", "550.54.14"),
    (12, 5): ("555.85", "555.42.02"),
    (12, 6): ("560.76", "560.28.03"),
    (12, 8): ("570.65", "570.26"),
    (12, 9): ("576.02", "575.51.03"),
    (13, 0): (None, "580.65.06"),
    (13, 1): (None, "590.44.01"),
    (13, 2): (None, "595.45.04"),
}
"""Toolkit -> driver that came with it. Needed only where the driver must translate a build's code."""

_LIMITS: Final[tuple[tuple[Capability, Capability, Capability], ...]] = (
    ((13, 0), (7, 5), (12, 1)),
    ((12, 9), (5, 0), (12, 1)),
    ((12, 8), (5, 0), (12, 0)),
    ((11, 8), (5, 0), (9, 0)),
    ((11, 0), (3, 5), (8, 6)),
)
"""(toolkit from, lowest and highest card it makes machine code for), newest first."""


class EngineFlavour(StrEnum):
    """Engine builds to choose from, by the name their archives have."""

    CUDA_13 = "cuda-13"
    CUDA_12 = "cuda-12.4"
    VULKAN = "vulkan"
    CPU = "cpu"


@dataclass(frozen=True, slots=True)
class CudaVersions:
    """The four versions, each in its own words.

    Attributes:
        driver_highest: What the driver runs at most.
        engine: What the engine was built with.
        runtimes: Libraries found in the system; engines bring their own.
        toolkits: Installed, and needed by no engine.
    """

    driver_highest: Capability | None
    engine: Capability | None
    runtimes: tuple[str, ...]
    toolkits: tuple[str, ...]


def cuda_versions(facts: HardwareFacts, build: EngineBuildFacts | None) -> CudaVersions:
    """Return the versions of a machine and an engine."""
    runtime = facts.runtime
    return CudaVersions(
        facts.driver.cuda_version if facts.driver else None,
        build.cuda_version if build else None,
        runtime.cuda_runtimes if runtime else (),
        runtime.cuda_toolkits if runtime else (),
    )


def parse_version(text: str | None) -> Version | None:
    """Return the numbers of a dotted version; None for anything else."""
    if text is None or not re.fullmatch(r"\d{1,9}(\.\d{1,9}){0,5}", text.strip(), re.ASCII):
        return None
    return tuple(int(part) for part in text.strip().split("."))


def needed_driver(
    driver: str | None, cuda_version: Capability, os_name: str, *, must_translate: bool = False
) -> str | None:
    """Return the driver version a build needs when this one is older; None when it is new enough.

    Args:
        driver: As the driver says; an unreadable version is given the benefit of the doubt.
        must_translate: The build has no machine code for a card, so that the driver must be as new as the
            build's own toolkit, not only as new as the first of the same major version.
    """
    have = parse_version(driver)
    column = 0 if os_name == WINDOWS else 1
    floors = [FLOORS[cuda_version[0]][column]] if cuda_version[0] in FLOORS else []
    own = TOOLKIT_DRIVERS.get(cuda_version, (None, None))[column]
    if must_translate and own is not None:
        floors.append(own)
    needed = max(floors, key=lambda floor: parse_version(floor) or (), default=None)
    if have is None or needed is None or have >= (parse_version(needed) or ()):
        return None
    return needed


def lowest_and_highest(build: EngineBuildFacts) -> tuple[Capability, Capability] | None:
    """Return the range of cards a build is made for: by its code where known, else by its toolkit."""
    known = (*build.compute_capabilities, *build.ptx_capabilities)
    if known:
        return min(known), max(known)
    if build.cuda_version is None:
        return None
    fitting = (limits[1:] for limits in _LIMITS if build.cuda_version >= limits[0])
    return next(fitting, None)


def has_machine_code(build: EngineBuildFacts, capability: Capability) -> bool:
    """Return whether a build runs on a card without the driver translating anything."""
    return any(
        major == capability[0] and minor <= capability[1] for major, minor in build.compute_capabilities
    )


def can_be_translated(build: EngineBuildFacts, capability: Capability) -> bool:
    """Return whether a driver can make a build run on a card it has no machine code for."""
    return any(ptx <= capability for ptx in build.ptx_capabilities)


def toolkit_for(capability: Capability) -> Capability:
    """Return the oldest toolkit that makes machine code for a card."""
    fitting = (start for start, low, high in reversed(_LIMITS) if low <= capability <= high)
    return next(fitting, _LIMITS[0][0])


def best_flavour(facts: HardwareFacts) -> EngineFlavour:
    """Return the engine build that suits a machine, by its driver and the cards in it.

    Cards below 7.5 get no CUDA 13, which dropped them; cards from 10.0 on get no CUDA 12.4, which has no
    machine code for them.
    """
    usable = [gpu for gpu in facts.gpus if not gpu.is_lost]
    capabilities = [gpu.compute_capability for gpu in usable if gpu.compute_capability is not None]
    if not usable:
        return EngineFlavour.CPU
    if not capabilities or facts.driver is None or parse_version(facts.driver.version) is None:
        return EngineFlavour.VULKAN
    os_name = facts.host.os_name if facts.host else ""
    fits_13 = needed_driver(facts.driver.version, (13, 0), os_name) is None
    fits_12 = needed_driver(facts.driver.version, (12, 4), os_name) is None
    if fits_13 and min(capabilities) >= _LIMITS[0][1]:
        return EngineFlavour.CUDA_13
    if fits_12 and max(capabilities) <= _highest((12, 4)):
        return EngineFlavour.CUDA_12
    return EngineFlavour.VULKAN


def dotted(version: Iterable[int] | None) -> str | None:
    """Return a version as text."""
    return None if version is None else ".".join(map(str, version))


def nvidia_cards(gpus: Iterable[GpuInfo]) -> list[GpuInfo]:
    """Return the cards CUDA could run on."""
    return [gpu for gpu in gpus if gpu.vendor == "nvidia" and not gpu.is_lost]


def _highest(toolkit: Capability) -> Capability:
    return next(high for start, _, high in _LIMITS if toolkit >= start)
