"""The questions asked of the machine; one adapter module per library answers."""

from typing import Protocol

from app.hardware.facts import (
    DriverInfo,
    GpuInfo,
    GpuSample,
    HostInfo,
    HostSample,
    RuntimeFacts,
    SystemFacts,
)


class SourceError(Exception):
    """A source cannot answer at all.

    Attributes:
        reason: Stable word, e.g. `library-missing`, `driver-not-loaded`, `version-mismatch`.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


class GpuSource(Protocol):
    """Reads GPUs. Never on the GUI thread.

    Adapters: `NvmlSource`, `DrmSource`, `WindowsGpuSource`; all together `AllGpus`; in tests `FakeGpuSource`.
    """

    def driver(self) -> DriverInfo | None:
        """Return the driver, or None when this source has none to name.

        Raises:
            SourceError: no driver library, or it refuses to start.
        """
        ...

    def gpus(self) -> tuple[GpuInfo, ...]:
        """Return all GPUs in the source's order.

        Raises:
            SourceError: as above.
        """
        ...

    def read(self, index: int) -> GpuSample:
        """Read GPU `index` once; a field the card does not support is None."""
        ...

    def close(self) -> None:
        """Let go of the driver."""
        ...


class HostSource(Protocol):
    """Reads processor, memory and disks. Adapters: `PsutilHostSource`; in tests `FakeHostSource`."""

    def host(self) -> HostInfo:
        """Return the machine's facts."""
        ...

    def read(self) -> HostSample:
        """Read the counters once."""
        ...


class SurroundingsSource(Protocol):
    """Looks at what lies around the hardware. Adapters: `LinuxSurroundings`, `WindowsSurroundings`."""

    def runtime(self) -> RuntimeFacts:
        """Return what engines need beside a driver."""
        ...

    def system(self) -> SystemFacts:
        """Return where the system runs."""
        ...
