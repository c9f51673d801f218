"""What the machine has and what it is doing, as facts. `None` = the source gives no value."""

from dataclasses import dataclass

from app.findings import Finding


@dataclass(frozen=True, slots=True)
class GpuInfo:
    """One GPU.

    Attributes:
        index: Position in its source's order.
        vendor: `nvidia`, `amd`, `intel` or None.
        uuid: Stable name of the card, e.g. `GPU-...`.
        pci_bus_id: e.g. `00000000:01:00.0`.
        vram_total_bytes: Dedicated memory; vram_free_bytes at the time of detection.
        compute_capability: (major, minor), NVIDIA only.
        drives_display: A screen hangs on it.
        is_integrated: Shares the CPU's RAM.
    """

    index: int
    name: str
    vendor: str | None = None
    uuid: str | None = None
    pci_bus_id: str | None = None
    vram_total_bytes: int | None = None
    vram_free_bytes: int | None = None
    compute_capability: tuple[int, int] | None = None
    drives_display: bool | None = None
    is_integrated: bool | None = None


@dataclass(frozen=True, slots=True)
class DriverInfo:
    """The NVIDIA driver.

    Attributes:
        version: As the driver says, e.g. `551.61`.
        cuda_version: Highest CUDA the driver runs, (major, minor), e.g. (12, 4).
    """

    version: str | None = None
    cuda_version: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class DiskInfo:
    """One mounted drive.

    Attributes:
        mount: Drive letter or mount point.
    """

    mount: str
    total_bytes: int
    free_bytes: int
    file_system: str | None = None


@dataclass(frozen=True, slots=True)
class CpuInfo:
    """The processor.

    Attributes:
        physical_cores: Whole machine. performance_cores: P-cores where the kinds differ, else the same.
        usable_cores: Physical cores this process may use (affinity and CPU quota applied).
        instruction_sets: e.g. `avx2`, as reported and not tested.
    """

    name: str | None = None
    physical_cores: int | None = None
    logical_cores: int | None = None
    performance_cores: int | None = None
    usable_cores: int | None = None
    instruction_sets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HostInfo:
    """Memory, processor and system.

    Attributes:
        ram_available_bytes: What a new program can take without paging, cgroup limit applied.
        commit_limit_bytes: Windows: RAM plus page file. None elsewhere.
    """

    os_name: str
    os_version: str | None
    cpu: CpuInfo
    ram_total_bytes: int | None
    ram_available_bytes: int | None
    commit_limit_bytes: int | None = None
    commit_used_bytes: int | None = None
    disks: tuple[DiskInfo, ...] = ()


@dataclass(frozen=True, slots=True)
class HardwareFacts:
    """One look at the whole machine.

    Attributes:
        host: None only when its probe failed or hung; findings say so.
        gpus: Discrete before integrated.
    """

    host: HostInfo | None
    driver: DriverInfo | None = None
    gpus: tuple[GpuInfo, ...] = ()
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class GpuSample:
    """One reading of one GPU.

    Attributes:
        vram_used_bytes: In use by all processes, driver reserve excluded (NVML memory v2).
        temperature_celsius: Core sensor, not hotspot.
        power_milliwatts: Board draw.
        utilization_percent: 0..100, share of time a kernel ran.
    """

    index: int
    vram_used_bytes: int | None = None
    vram_total_bytes: int | None = None
    temperature_celsius: int | None = None
    power_milliwatts: int | None = None
    utilization_percent: int | None = None


@dataclass(frozen=True, slots=True)
class HostSample:
    """One reading of processor, memory and disks.

    Attributes:
        cpu_percent: 0..100 over all cores since the last reading.
        disk_read_bytes: All disks, counted since the system started.
    """

    cpu_percent: float | None = None
    ram_used_bytes: int | None = None
    ram_available_bytes: int | None = None
    disk_read_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """One tick of the sampler.

    Attributes:
        monotonic_seconds: From the sampler's clock; only differences mean something.
    """

    monotonic_seconds: float
    host: HostSample | None
    gpus: tuple[GpuSample, ...] = ()
