"""What is known of one engine build without running a model, as facts for verdicts."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EngineDevice:
    """A line of an engine's `--list-devices`."""

    name: str
    description: str
    total_bytes: int | None = None
    free_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class EngineBuildFacts:
    """One engine build. `None` = not looked.

    Attributes:
        flavour: `cuda`, `hip`, `vulkan`, `cpu` or another backend's name.
        cuda_version: Of the toolkit it was built with.
        compute_capabilities: With machine code for exactly these, and newer ones of the same major version.
        ptx_capabilities: With code that drivers translate for these and anything newer.
        gfx_targets: AMD instruction sets it holds code for.
        imports: Libraries its files ask for.
        missing_libraries: Those found neither beside it nor in the system.
        missing_files: What was there when it was added and is gone now.
        devices: What it listed; without the processor.
        takes_devices: It can be told which of them to use; None = yes, or not looked.
    """

    engine: str
    flavour: str
    cuda_version: tuple[int, int] | None = None
    compute_capabilities: tuple[tuple[int, int], ...] = ()
    ptx_capabilities: tuple[tuple[int, int], ...] = ()
    gfx_targets: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    missing_libraries: tuple[str, ...] | None = None
    missing_files: tuple[str, ...] = ()
    devices: tuple[EngineDevice, ...] | None = None
    takes_devices: bool | None = None
