"""Devices as the engine lists them."""

import ctypes
from dataclasses import dataclass
from typing import Final

from app.engine.llama.bindings import Library
from app.engine.protocol import DeviceInfo

KINDS: Final = {0: "cpu", 1: "gpu", 2: "igpu", 3: "accelerator"}
"""`enum ggml_backend_dev_type`; a number this table lacks counts as an accelerator."""


@dataclass(frozen=True, slots=True)
class Device:
    """One device and the pointer the engine knows it by."""

    info: DeviceInfo
    handle: int


def list_devices(library: Library) -> tuple[Device, ...]:
    """Return the devices in the engine's order, RPC servers added so far included."""
    count = library.function("ggml_backend_dev_count", ctypes.c_size_t)
    get = library.function("ggml_backend_dev_get", ctypes.c_void_p, ctypes.c_size_t)
    return tuple(_device(library, get(index)) for index in range(count()))


def cpu_buffer_type(library: Library) -> int:
    """Return the pointer to the plain CPU buffer type."""
    pointer: int = library.function("ggml_backend_cpu_buffer_type", ctypes.c_void_p)()
    return pointer


def _device(library: Library, handle: int) -> Device:
    name = library.function("ggml_backend_dev_name", ctypes.c_char_p, ctypes.c_void_p)
    description = library.function("ggml_backend_dev_description", ctypes.c_char_p, ctypes.c_void_p)
    kind_of = library.function("ggml_backend_dev_type", ctypes.c_int, ctypes.c_void_p)
    kind = KINDS.get(kind_of(handle), "accelerator")
    free, total = _memory(library, handle)
    info = DeviceInfo(
        name=name(handle).decode("utf-8", "replace"),
        description=description(handle).decode("utf-8", "replace"),
        kind=kind,
        # ggml repeats the total as "free" for the CPU, which is not a reading
        free_bytes=None if kind == "cpu" else free,
        total_bytes=total,
    )
    return Device(info, handle)


def _memory(library: Library, handle: int) -> tuple[int | None, int | None]:
    size_p = ctypes.POINTER(ctypes.c_size_t)
    read = library.function("ggml_backend_dev_memory", None, ctypes.c_void_p, size_p, size_p)
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    read(handle, ctypes.byref(free), ctypes.byref(total))
    if total.value == 0:  # ggml's way of saying that it does not know
        return None, None
    return free.value, total.value
