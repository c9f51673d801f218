"""This machine, looked at once through the real sources."""

from app.hardware.detect import detect
from app.hardware.facts import HardwareFacts
from app.hardware.host import PsutilHostSource
from app.hardware.nvml import NvmlSource


def detect_this_machine() -> HardwareFacts:
    """Return what this machine has; takes at most the probes' common time limit."""
    gpus = NvmlSource()
    try:
        return detect(gpus, PsutilHostSource())
    finally:
        gpus.close()
