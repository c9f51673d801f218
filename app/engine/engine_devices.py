"""What an engine lists as its devices, kept per build: a driver is not woken before every plan."""

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from app.engine.blocking import BlockingEngine
from app.engine.build_facts import build_facts, files_of
from app.engine.engine_builds import file_stamps
from app.engine.llama_server_capabilities import read_devices, server_executable
from app.engine.pack_smoke import TINY_MODEL
from app.engine.packs import EngineEntry
from app.engine.protocol import DeviceInfo
from app.engine.spec import EngineSpec
from app.files import read_regular, write_atomically
from app.findings import FindingError
from app.hardware.engine_facts import EngineBuildFacts, EngineDevice
from app.hardware.facts import GpuInfo, HardwareFacts
from app.hardware.verdicts_engine import fitting_gpus
from app.options import EngineOptions
from app.paths import resource_path

LARGEST_MEMORY_BYTES: Final = 1024**2
MOST_BUILDS: Final = 32
ASK_AGAIN_SECONDS: Final = 30.0
_NO_GPU: Final = ("cpu", "accelerator")

AskDevices = Callable[[EngineSpec], tuple[DeviceInfo, ...]]


def ask_devices(spec: EngineSpec) -> tuple[DeviceInfo, ...]:
    """Start an engine for its list of devices, and return it.

    Raises:
        FindingError: it does not start.
    """
    if spec.pack_folder is not None:
        return read_devices(server_executable(spec.pack_folder))
    with BlockingEngine(spec) as engine:
        engine.check(resource_path(*TINY_MODEL), EngineOptions())
        return engine.hello.devices if engine.hello is not None else ()


class EngineReader:
    """Reads what engines are. Any thread; blocks for files, and for an engine that was never asked.

    A build that computes on the processor alone is not started: it has no devices. One that does not start is
    asked again after a while only, and so is one whose list is the only source of free memory.
    """

    def __init__(
        self,
        memory_file: Path | None,
        ask: AskDevices = ask_devices,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Read nothing yet.

        Args:
            memory_file: Where lists are kept; None keeps them in memory only.
        """
        self._file = memory_file
        self._ask = ask
        self._clock = clock
        self._lock = threading.Lock()  # two threads do not start the same engine twice
        self._known: dict[str, tuple[EngineDevice, ...]] = {}
        self._asked_at: dict[str, float] = {}

    def facts(self, entry: EngineEntry, hardware: HardwareFacts) -> EngineBuildFacts | None:
        """Return what is known of an engine on a machine; None for one without files."""
        files = files_of(entry)
        if files is None:
            return None
        facts = build_facts(files)
        if facts.flavour == "cpu":
            return replace(facts, devices=())
        if facts.missing_files:
            return facts
        key = _key(facts, files.folder, hardware)
        with self._lock:
            self._known = self._kept() | self._known
            is_enough = key in self._known and not _lacks_free_memory(fitting_gpus(hardware.gpus, facts))
            if not is_enough and self._may_ask(key):
                self._ask_now(entry.spec, key)
            return replace(facts, devices=self._known.get(key))

    def _may_ask(self, key: str) -> bool:
        asked_at = self._asked_at.get(key)
        return asked_at is None or self._clock() - asked_at >= ASK_AGAIN_SECONDS

    def _ask_now(self, spec: EngineSpec, key: str) -> None:
        try:
            listed = self._ask(spec)
        except FindingError:  # a load says why
            return
        finally:
            self._asked_at[key] = self._clock()
        self._known[key] = tuple(
            EngineDevice(device.name, device.description, device.total_bytes, device.free_bytes)
            for device in listed
            if device.kind not in _NO_GPU
        )
        self._keep()

    def _kept(self) -> dict[str, tuple[EngineDevice, ...]]:
        if self._file is None:
            return {}
        try:
            data = json.loads(read_regular(self._file, LARGEST_MEMORY_BYTES).decode("utf-8"))
            return {str(key): tuple(map(_device, devices)) for key, devices in data.items()}
        except (FindingError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return {}

    def _keep(self) -> None:
        if self._file is None:
            return
        newest = list(self._known.items())[-MOST_BUILDS:]
        text = json.dumps({key: [asdict(device) for device in devices] for key, devices in newest})
        try:
            write_atomically(self._file, text.encode("ascii"))
        except FindingError:  # it is asked again next time
            return


def _lacks_free_memory(gpus: Iterable[GpuInfo]) -> bool:
    return any(
        gpu.shared_free_bytes is None if gpu.is_integrated else gpu.vram_free_bytes is None for gpu in gpus
    )


def _device(value: dict[str, Any]) -> EngineDevice:
    sizes = (value["total_bytes"], value["free_bytes"])
    if not all(size is None or isinstance(size, int) for size in sizes):
        raise TypeError(value)
    return EngineDevice(str(value["name"]), str(value["description"]), *sizes)


def _key(facts: EngineBuildFacts, folder: Path, hardware: HardwareFacts) -> str:
    """Return what a list of devices depends on: the build's files, the driver, the cards, hidden ones."""
    driver = hardware.driver.version if hardware.driver else None
    variables = hardware.runtime.gpu_variables if hardware.runtime else ()
    cards = [(gpu.name, gpu.uuid, gpu.driver_version, gpu.is_lost) for gpu in hardware.gpus]
    told = repr((facts, file_stamps(folder), driver, variables, cards))
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()
