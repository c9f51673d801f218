"""What the machine has and what it is doing, as facts. `None` = the source gives no value."""

from dataclasses import dataclass

from app.findings import Finding
from app.hardware.speeds import MemorySpeed, StorageSpeed


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
        shared_total_bytes: RAM the card may use beside its own memory; never counted as its own.
            shared_free_bytes at the time of detection.
        source: The adapter that found it: `nvml`, `dxgi`, `registry` or `drm`.
        luid: Windows' name of the adapter until it restarts, `0xHHHHHHHH_0xLLLLLLLL`.
        vendor_id: PCI; device_id likewise.
        gfx_target: AMD's name of the instruction set, e.g. `gfx1151`.
        driver_version: Of this adapter's own driver, where it is not the one of `DriverInfo`.
        is_asleep: Powered down by the system (laptops with two GPUs); reading it would wake it.
        mig_mode: NVIDIA: the card is cut into instances; each is a GPU of its own here (uuid `MIG-...`).
        is_lost: It fell off the bus and does not answer until the computer restarts.
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
    shared_total_bytes: int | None = None
    source: str | None = None
    luid: str | None = None
    vendor_id: int | None = None
    device_id: int | None = None
    gfx_target: str | None = None
    driver_version: str | None = None
    is_asleep: bool | None = None
    mig_mode: bool | None = None
    shared_free_bytes: int | None = None
    is_lost: bool | None = None


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
        is_rotational: A hard disk, with seconds of seeking where a solid-state drive needs none.
        is_network: Its data lie on another computer.
        is_removable: It can be pulled out.
        is_cloud: Its files are fetched from the internet when they are read.
    """

    mount: str
    total_bytes: int
    free_bytes: int
    file_system: str | None = None
    is_rotational: bool | None = None
    is_network: bool | None = None
    is_removable: bool | None = None
    is_cloud: bool | None = None


@dataclass(frozen=True, slots=True)
class CpuInfo:
    """The processor.

    Attributes:
        physical_cores: Whole machine. performance_cores: P-cores where the kinds differ, else the same.
        usable_cores: Physical cores this process may use (affinity and CPU quota applied).
        instruction_sets: e.g. `avx2`, as reported and not tested.
        efficiency_cores: The slower kind; 0 where there is one kind only.
        usable_performance_cores: Of `usable_cores`, those of the fast kind.
        working_instruction_sets: Those that were used in a child process and gave the right result.
            failing_instruction_sets: Reported, and did not. None = not tested.
    """

    name: str | None = None
    physical_cores: int | None = None
    logical_cores: int | None = None
    performance_cores: int | None = None
    usable_cores: int | None = None
    instruction_sets: tuple[str, ...] = ()
    efficiency_cores: int | None = None
    usable_performance_cores: int | None = None
    working_instruction_sets: tuple[str, ...] | None = None
    failing_instruction_sets: tuple[str, ...] | None = None


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
class RuntimeFacts:
    """What engines need beside a driver, and what decides which GPUs they see.

    Attributes:
        cuda_runtimes: Versions of the CUDA runtime library found where any engine would find it, e.g.
            `12` or `12.4`.
        cuda_toolkits: Installed toolkits. No engine needs one.
        vc_runtime_version: Windows: of the installed Visual C++ runtime.
        missing_vc_libraries: Windows: its files that are not there; None = not looked.
        has_vulkan_loader: The system's Vulkan library is there.
        gpu_variables: (name, value) of environment variables that hide GPUs from engines.
    """

    cuda_runtimes: tuple[str, ...] = ()
    cuda_toolkits: tuple[str, ...] = ()
    vc_runtime_version: str | None = None
    missing_vc_libraries: tuple[str, ...] | None = None
    has_vulkan_loader: bool | None = None
    gpu_variables: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SystemFacts:
    """Where the system runs.

    Attributes:
        virtual_machine: What runs it, e.g. `kvm`; empty for real hardware.
        is_wsl: Linux inside Windows.
        wine_version: Windows programs on another system, e.g. `10.0`; empty in Windows itself.
        on_battery: No mains power.
        smart_app_control: Windows 11: `on` (unsigned engines are blocked), `evaluation` or `off`.
        has_antivirus_guard: Windows: Defender looks at every file when it is opened.
        guards_folders: Windows: unknown programs may not write documents, pictures and the desktop.
    """

    virtual_machine: str | None = None
    is_wsl: bool | None = None
    on_battery: bool | None = None
    smart_app_control: str | None = None
    has_antivirus_guard: bool | None = None
    guards_folders: bool | None = None
    wine_version: str | None = None


@dataclass(frozen=True, slots=True)
class HardwareFacts:
    """One look at the whole machine.

    Attributes:
        host: None only when its probe failed or hung; findings say so. runtime and system likewise, and
            in recordings of before they were looked at.
        gpus: Discrete before integrated.
        memory_speed: None when it was not measured; storage_speeds holds what was.
    """

    host: HostInfo | None
    driver: DriverInfo | None = None
    gpus: tuple[GpuInfo, ...] = ()
    findings: tuple[Finding, ...] = ()
    runtime: RuntimeFacts | None = None
    system: SystemFacts | None = None
    memory_speed: MemorySpeed | None = None
    storage_speeds: tuple[StorageSpeed, ...] = ()


@dataclass(frozen=True, slots=True)
class GpuSample:
    """One reading of one GPU.

    Attributes:
        vram_used_bytes: In use by all processes, driver reserve excluded (NVML memory v2).
        temperature_celsius: Core sensor, not hotspot.
        power_milliwatts: Board draw.
        utilization_percent: 0..100, share of time a kernel ran.
        shared_used_bytes: RAM the card uses beside its own memory.
        power_limit_milliwatts: What the board may draw.
        power_percent: 0..100 of the limit, where the source gives no watts.
        fan_percent: 0..100; fan_rpm where the source counts turns.
        core_clock_hertz: Of the compute units.
        process_dedicated_bytes: Own memory that the engine's processes hold; process_shared_bytes likewise.
        is_lost: The card does not answer any more.
    """

    index: int
    vram_used_bytes: int | None = None
    vram_total_bytes: int | None = None
    temperature_celsius: int | None = None
    power_milliwatts: int | None = None
    utilization_percent: int | None = None
    shared_used_bytes: int | None = None
    power_limit_milliwatts: int | None = None
    power_percent: float | None = None
    fan_percent: int | None = None
    fan_rpm: int | None = None
    core_clock_hertz: int | None = None
    process_dedicated_bytes: int | None = None
    process_shared_bytes: int | None = None
    is_lost: bool | None = None


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
