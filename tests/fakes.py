"""Stand-ins at the ports, for facts a test chooses. Contract tests hold them to the real adapters' types."""

import threading
from collections.abc import Sequence
from typing import Final

from app.hardware.facts import (
    CpuInfo,
    DiskInfo,
    DriverInfo,
    GpuInfo,
    GpuSample,
    HostInfo,
    HostSample,
)

GIB: Final = 1024**3

FAKE_HOST: Final = HostInfo(
    os_name="Linux",
    os_version="Debian GNU/Linux 12 (bookworm), kernel 6.1.0",
    cpu=CpuInfo("A CPU", 8, 16, 8, 8, ("avx", "avx2")),
    ram_total_bytes=32 * GIB,
    ram_available_bytes=28 * GIB,
    disks=(DiskInfo("/", 500 * GIB, 200 * GIB, "ext4"),),
)


class FakeGpuSource:
    """GPUs as a test states them.

    Attributes:
        error: Raised by every call, when set.
        hang: Every call waits for it, when set; set the event at the end of the test.
        samples: By index; a GPU without one reads all None.
    """

    def __init__(self, gpus: Sequence[GpuInfo] = (), driver: DriverInfo | None = None) -> None:
        self.error: Exception | None = None
        self.hang: threading.Event | None = None
        self.samples: dict[int, GpuSample] = {}
        self.is_closed = False
        self._gpus = tuple(gpus)
        self._driver = driver

    def driver(self) -> DriverInfo | None:
        self._misbehave()
        return self._driver

    def gpus(self) -> tuple[GpuInfo, ...]:
        self._misbehave()
        return self._gpus

    def read(self, index: int) -> GpuSample:
        self._misbehave()
        return self.samples.get(index, GpuSample(index))

    def close(self) -> None:
        self.is_closed = True

    def _misbehave(self) -> None:
        if self.hang is not None:
            self.hang.wait()
        if self.error is not None:
            raise self.error


class FakeHostSource:
    """A machine as a test states it; `error` and `hang` as in `FakeGpuSource`."""

    def __init__(self, host: HostInfo = FAKE_HOST, sample: HostSample | None = None) -> None:
        self.error: Exception | None = None
        self.hang: threading.Event | None = None
        self.sample = sample or HostSample(12.5, 4 * GIB, 28 * GIB, 1000)
        self._host = host

    def host(self) -> HostInfo:
        self._misbehave()
        return self._host

    def read(self) -> HostSample:
        self._misbehave()
        return self.sample

    def _misbehave(self) -> None:
        if self.hang is not None:
            self.hang.wait()
        if self.error is not None:
            raise self.error
