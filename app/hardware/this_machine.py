"""The real sources of this system, and the machine looked at once through them."""

import sys

from app.hardware.all_gpus import AllGpus
from app.hardware.detect import detect
from app.hardware.facts import HardwareFacts
from app.hardware.host import OwnProcesses, PsutilHostSource
from app.hardware.nvml import NvmlSource
from app.hardware.ports import GpuSource, SurroundingsSource


def system_gpus() -> AllGpus:
    """Return the sources of this system; NVIDIA's own knows its cards best."""
    processes = OwnProcesses()
    sources: dict[str, GpuSource] = {"nvml": NvmlSource(process_ids=processes)}
    if sys.platform == "win32":
        from app.hardware.windows_gpus import WindowsGpuSource

        sources["windows"] = WindowsGpuSource(process_ids=processes)
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


def detect_this_machine() -> HardwareFacts:
    """Return what this machine has; takes at most the probes' common time limit."""
    gpus = system_gpus()
    try:
        return detect(gpus, PsutilHostSource(), system_surroundings())
    finally:
        gpus.close()
