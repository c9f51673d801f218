"""A machine and an engine build -> what keeps them from working together. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from app.findings import Finding, FindingCode, error, note, warning
from app.hardware.cuda import (
    Capability,
    EngineFlavour,
    best_flavour,
    can_be_translated,
    dotted,
    has_machine_code,
    lowest_and_highest,
    needed_driver,
    nvidia_cards,
    toolkit_for,
)
from app.hardware.engine_facts import EngineBuildFacts, EngineDevice
from app.hardware.facts import GpuInfo, HardwareFacts

MEMORY_TOLERANCE: Final = 0.10
"""Drivers keep some memory for themselves, and count it or not."""

_VENDORS_OF: Final = {"cuda": ("nvidia",), "hip": ("amd",), "sycl": ("intel",)}
_WORDS_OF: Final = {
    "nvidia": ("nvidia", "geforce", "quadro", "tesla"),
    "amd": ("amd", "radeon", "radv"),
    "intel": ("intel", "arc("),
}
_DEBUG_LIBRARY: Final = re.compile(
    r"(vcruntime\d+(_\d)?d|msvcp\d+(_\d)?d|ucrtbased|vcomp\d+d|concrt\d+d)\.dll", re.IGNORECASE
)
_VC_LIBRARY: Final = re.compile(r"(vcruntime|msvcp|vcomp|concrt)\d+(_\d)?\.dll", re.IGNORECASE)
_CUDA_LIBRARY: Final = re.compile(r"(lib)?(cudart|cublas|cublasLt)(64_\d+)?(\.dll|\.so[.\d]*)", re.IGNORECASE)
_VULKAN_LIBRARY: Final = re.compile(r"(vulkan-1\.dll|libvulkan\.so[.\d]*)", re.IGNORECASE)


def judge_engine(facts: HardwareFacts, build: EngineBuildFacts) -> tuple[Finding, ...]:
    """Return what is wrong, causes before consequences: a GPU unseen for a known reason is not told again."""
    causes = [*_files(build), *_libraries(facts, build)]
    if build.flavour == "cuda":
        causes += _cuda(facts, build)
    if build.flavour == "hip":
        causes += _gfx_targets(facts, build)
    return (*causes, *_seen(facts, build, is_explained=bool(causes)))


def match_devices(
    gpus: Sequence[GpuInfo], devices: Sequence[EngineDevice]
) -> tuple[tuple[GpuInfo, EngineDevice], ...]:
    """Return which of an engine's devices is which card: by name and size, else the n-th of the same maker.

    Engines and systems call the same card differently, e.g. after the driver's own name of the chip.
    """
    left = list(devices)
    pairs = []
    for gpu in sorted(gpus, key=lambda gpu: not any(_same_name(gpu, device) for device in devices)):
        named = iter(sorted((d for d in left if _same_name(gpu, d)), key=lambda d: _memory_gap(gpu, d)))
        made = (device for device in left if _same_maker(gpu, device))
        device = next(named, None) or next(made, None)
        if device is not None:
            left.remove(device)
            pairs.append((gpu, device))
    return tuple(pairs)


def usable_gpus(facts: HardwareFacts, build: EngineBuildFacts) -> tuple[GpuInfo, ...]:
    """Return the cards a build of this flavour is meant to use: integrated ones only without any other."""
    awake = [gpu for gpu in facts.gpus if not gpu.is_lost and not gpu.is_asleep]
    fitting = fitting_gpus(awake, build)
    discrete = tuple(gpu for gpu in fitting if not gpu.is_integrated)
    return discrete or fitting


def fitting_gpus(gpus: Iterable[GpuInfo], build: EngineBuildFacts) -> tuple[GpuInfo, ...]:
    """Return the cards of makers a build computes with."""
    if build.flavour == "cpu":
        return ()
    vendors = _VENDORS_OF.get(build.flavour)
    return tuple(gpu for gpu in gpus if vendors is None or gpu.vendor in vendors)


def seen_by_engine(facts: HardwareFacts, build: EngineBuildFacts | None) -> HardwareFacts:
    """Return the machine as an engine can use it: without cards it cannot use, and with the memory it names.

    A source that gives no free memory, as Linux's for cards of Intel, is filled by the engine's own list.
    """
    if build is None:
        return facts
    fitting = fitting_gpus(facts.gpus, build)
    if build.devices is None:
        return replace(facts, gpus=fitting)
    pairs = match_devices([gpu for gpu in fitting if not gpu.is_lost], build.devices)
    known = {gpu.index: _filled(gpu, device) for gpu, device in pairs}
    return replace(facts, gpus=tuple(known[gpu.index] for gpu in fitting if gpu.index in known))


def judge_flavour(facts: HardwareFacts, build: EngineBuildFacts) -> tuple[Finding, ...]:
    """Return whether another kind of build would use cards that this one cannot."""
    best = best_flavour(facts)
    able = [gpu for gpu in facts.gpus if not gpu.is_lost]
    idle = tuple(gpu.name for gpu in able if not fitting_gpus([gpu], build))
    if best is EngineFlavour.CPU or not idle or len(idle) < len(able):
        return ()
    made = warning if any(not gpu.is_integrated for gpu in able) else note
    return (made(FindingCode.ENGINE_FLAVOUR_UNFIT, engine=build.engine, gpus=idle, flavour=best.value),)


def _filled(gpu: GpuInfo, device: EngineDevice) -> GpuInfo:
    if gpu.is_integrated:
        if gpu.shared_free_bytes is not None:
            return gpu
        own = gpu.vram_free_bytes or 0
        free = None if device.free_bytes is None else max(0, device.free_bytes - own)
        return replace(gpu, shared_free_bytes=free, shared_total_bytes=gpu.shared_total_bytes or free)
    return replace(
        gpu,
        vram_total_bytes=device.total_bytes if gpu.vram_total_bytes is None else gpu.vram_total_bytes,
        vram_free_bytes=device.free_bytes if gpu.vram_free_bytes is None else gpu.vram_free_bytes,
    )


def _files(build: EngineBuildFacts) -> Iterator[Finding]:
    if build.missing_files:
        yield error(FindingCode.ENGINE_FILES_GONE, engine=build.engine, files=build.missing_files)


def _libraries(facts: HardwareFacts, build: EngineBuildFacts) -> Iterator[Finding]:
    debug = _matching(_DEBUG_LIBRARY, build.imports)
    if debug:
        yield error(FindingCode.ENGINE_BUILD_DEBUG, engine=build.engine, libraries=debug)
    missing = build.missing_libraries
    if missing is None and facts.runtime is not None:  # not looked beside it: what the system lacks
        lacking = {name.lower() for name in facts.runtime.missing_vc_libraries or ()}
        missing = tuple(name for name in build.imports if name.lower() in lacking)
    missing = tuple(dict.fromkeys(missing or ()))
    if cuda := _matching(_CUDA_LIBRARY, missing):
        yield warning(FindingCode.CUDA_LIBRARY_MISSING, engine=build.engine, libraries=cuda)
    if vc := _matching(_VC_LIBRARY, missing):
        yield error(FindingCode.VC_RUNTIME_MISSING, engine=build.engine, libraries=vc)
    has_no_loader = facts.runtime is not None and facts.runtime.has_vulkan_loader is False
    if _matching(_VULKAN_LIBRARY, missing) or (build.flavour == "vulkan" and has_no_loader):
        yield warning(FindingCode.VULKAN_LOADER_MISSING, engine=build.engine)


def _cuda(facts: HardwareFacts, build: EngineBuildFacts) -> list[Finding]:
    if build.cuda_version is None:
        return []
    cards = [gpu for gpu in nvidia_cards(facts.gpus) if gpu.compute_capability is not None]
    found = [finding for card in cards for finding in _card(build, card)]
    untranslated = [card for card in cards if _must_translate(build, card.compute_capability)]
    os_name = facts.host.os_name if facts.host else ""
    driver = facts.driver.version if facts.driver else None
    needed = needed_driver(driver, build.cuda_version, os_name, must_translate=bool(untranslated))
    if needed is not None:
        found.insert(
            0,
            warning(
                FindingCode.DRIVER_TOO_OLD,
                engine=build.engine,
                driver=driver,
                needed=needed,
                cuda=dotted(build.cuda_version),
            ),
        )
    return found


def _must_translate(build: EngineBuildFacts, capability: Capability | None) -> bool:
    if capability is None or not build.compute_capabilities:
        return False
    return not has_machine_code(build, capability) and can_be_translated(build, capability)


def _card(build: EngineBuildFacts, gpu: GpuInfo) -> Iterator[Finding]:
    limits, capability = lowest_and_highest(build), gpu.compute_capability
    if limits is None or capability is None:
        return
    lowest, highest = limits
    if capability < lowest:
        yield warning(
            FindingCode.GPU_TOO_OLD_FOR_ENGINE,
            gpu=gpu.name,
            capability=dotted(capability),
            engine=build.engine,
            lowest=dotted(lowest),
        )
    elif capability > highest and not can_be_translated(build, capability):
        yield warning(
            FindingCode.GPU_TOO_NEW_FOR_ENGINE,
            gpu=gpu.name,
            capability=dotted(capability),
            engine=build.engine,
            cuda=dotted(build.cuda_version),
            highest=dotted(highest),
            needed_cuda=dotted(toolkit_for(capability)),
        )


def _gfx_targets(facts: HardwareFacts, build: EngineBuildFacts) -> Iterator[Finding]:
    for gpu in usable_gpus(facts, build):
        if gpu.gfx_target and build.gfx_targets and gpu.gfx_target not in build.gfx_targets:
            yield warning(
                FindingCode.GFX_TARGET_MISSING,
                gpu=gpu.name,
                gfx_target=gpu.gfx_target,
                engine=build.engine,
                targets=build.gfx_targets,
            )


def _seen(facts: HardwareFacts, build: EngineBuildFacts, *, is_explained: bool) -> Iterator[Finding]:
    if build.devices is None:
        return
    gpus = usable_gpus(facts, build)
    pairs = match_devices(gpus, build.devices)
    seen = {gpu.index for gpu, _ in pairs}
    names = tuple(device.name for device in build.devices) or None
    for gpu in gpus:
        if gpu.index not in seen and not is_explained:
            yield warning(
                FindingCode.GPU_UNSEEN_BY_ENGINE, gpu=gpu.name, engine=build.engine, seen_devices=names
            )
    for gpu, device in pairs:
        yield from _memory(build, gpu, device)


def _memory(build: EngineBuildFacts, gpu: GpuInfo, device: EngineDevice) -> Iterator[Finding]:
    ours = gpu.vram_total_bytes
    if gpu.is_integrated and gpu.shared_total_bytes is not None:
        ours = (ours or 0) + gpu.shared_total_bytes
    if not ours or device.total_bytes is None:
        return
    difference = abs(device.total_bytes - ours)
    if difference > MEMORY_TOLERANCE * ours:
        yield note(
            FindingCode.GPU_MEMORY_DIFFERS,
            gpu=gpu.name,
            engine=build.engine,
            engine_bytes=device.total_bytes,
            total_bytes=ours,
            difference_bytes=difference,
        )


def _same_name(gpu: GpuInfo, device: EngineDevice) -> bool:
    return _plain(gpu.name) in _plain(device.description)


def _memory_gap(gpu: GpuInfo, device: EngineDevice) -> int:
    if gpu.vram_total_bytes is None or device.total_bytes is None:
        return 0
    return abs(gpu.vram_total_bytes - device.total_bytes)


def _same_maker(gpu: GpuInfo, device: EngineDevice) -> bool:
    words = _WORDS_OF.get(gpu.vendor or "", ())
    return any(word in device.description.lower() for word in words)


def _plain(name: str) -> str:
    return re.sub(r"\((r|tm)\)", "", name.lower()).replace("nvidia ", "").strip()


def _matching(pattern: re.Pattern[str], names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in names if pattern.fullmatch(name))
