"""The real sources of this system, and the machine looked at once through them."""

import sys
from functools import partial

from app.hardware.all_gpus import AllGpus
from app.hardware.detect import detect
from app.hardware.facts import HardwareFacts
from app.hardware.host import OwnProcesses, PsutilHostSource
from app.hardware.nvml import NvmlSource
from app.hardware.ports import GpuSource, SurroundingsSource
from app.hardware.raw_answers import NoAnswers, RawAnswers


def system_gpus(raw: RawAnswers | None = None) -> AllGpus:
    """Return the sources of this system; NVIDIA's own knows its cards best.

    Args:
        raw: Keeps what their libraries answer; files of Linux are read by `raw_files`.
    """
    raw = raw or NoAnswers()
    processes = OwnProcesses()
    nvml = NvmlSource(process_ids=processes, watched=partial(raw.watched, "nvml"))
    sources: dict[str, GpuSource] = {"nvml": nvml}
    if sys.platform == "win32":
        from app.hardware.windows_gpus import WindowsGpuSource, watched_parts

        sources["windows"] = WindowsGpuSource(watched_parts(raw), process_ids=processes)
    else:
        from app.hardware.drm import DrmSource

        sources["drm"] = DrmSource()
    return AllGpus(sources)


def system_surroundings() -> SurroundingsSource:
    """Return what looks around on this system."""
    if sys.platform == "win32":
        from app.hardware.windows_runtime import WindowsSurroundings

        return WindowsSurroundings()
    from app.hardware.linux_surroundings import LinuxSurroundings

    return LinuxSurroundings()


def detect_this_machine(raw: RawAnswers | None = None) -> HardwareFacts:
    """Return what this machine has; takes at most the probes' common time limit.

    Args:
        raw: Keeps what the libraries of GPUs answer.
    """
    gpus = system_gpus(raw)
    try:
        return detect(gpus, PsutilHostSource(), system_surroundings())
    finally:
        gpus.close()
