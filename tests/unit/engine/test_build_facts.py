"""What the files of an engine say of it, and when its devices are asked."""

import struct
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from app.engine import build_facts as module
from app.engine.build_facts import EngineFiles, build_facts, file_version, files_of
from app.engine.engine_devices import EngineReader
from app.engine.packs import WORKER, EngineEntry, PackRecord
from app.engine.protocol import DeviceInfo
from app.engine.spec import BackendKind, EngineSpec
from app.findings import FindingCode, FindingError, error
from app.hardware.engine_facts import EngineDevice
from app.hardware.facts import DriverInfo, GpuInfo, HardwareFacts
from app.hardware.verdicts_engine import judge_engine
from tests.fakes import FAKE_HOST, GIB
from tests.unit.engine.test_binary_imports import linux_program, windows_program

HARDWARE = HardwareFacts(
    FAKE_HOST, DriverInfo("551.61", (12, 4)), (GpuInfo(0, "A card", "nvidia", vram_free_bytes=7 * GIB),)
)
CUDA0 = DeviceInfo("CUDA0", "A card", "gpu", 7 * GIB, 8 * GIB)


def found(*names: str) -> Callable[[str], bool]:
    return lambda name: name in names


def test_a_cuda_build_of_windows_is_known_by_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "OUR_SYSTEM", "Windows")
    (tmp_path / "llama-server.exe").write_bytes(windows_program("ggml-cuda.dll", "VCRUNTIME140.dll"))
    (tmp_path / "ggml-cuda.dll").write_bytes(windows_program("cublas64_12.dll", "cudart64_12.dll"))
    files = EngineFiles(
        "mine", tmp_path, ("llama-server.exe", "ggml-base.dll"), "llama-bin-win-cuda-12.4-x64.zip"
    )
    facts = build_facts(files, found("VCRUNTIME140.dll"))
    assert (facts.flavour, facts.cuda_version) == ("cuda", (12, 4))
    assert facts.imports == ("cublas64_12.dll", "cudart64_12.dll", "VCRUNTIME140.dll")
    assert facts.missing_libraries == ("cublas64_12.dll", "cudart64_12.dll")
    assert facts.missing_files == ("ggml-base.dll",)


def test_a_debug_build_is_found_out(tmp_path: Path) -> None:
    (tmp_path / "llama-server.exe").write_bytes(windows_program("VCRUNTIME140D.dll", "ucrtbased.dll"))
    findings = judge_engine(HARDWARE, build_facts(EngineFiles("mine", tmp_path)))
    assert [finding.code for finding in findings] == [FindingCode.ENGINE_BUILD_DEBUG]
    assert findings[0].values["libraries"] == ("VCRUNTIME140D.dll", "ucrtbased.dll")


@pytest.mark.parametrize(
    ("library", "flavour"),
    [
        ("libggml-cuda.so", "cuda"),
        ("libggml-hip.so", "hip"),
        ("libggml-vulkan.so", "vulkan"),
        ("libggml-sycl.so", "sycl"),
        ("libggml-cpu.so", "cpu"),
    ],
)
def test_the_flavour_is_in_the_names_of_the_libraries(tmp_path: Path, library: str, flavour: str) -> None:
    (tmp_path / library).write_bytes(linux_program("libc.so.6"))
    assert build_facts(EngineFiles("mine", tmp_path)).flavour == flavour


def test_a_build_that_is_one_file_is_known_by_what_it_asks_for(tmp_path: Path) -> None:
    (tmp_path / "llama-server").write_bytes(linux_program("libvulkan.so.1"))
    assert build_facts(EngineFiles("mine", tmp_path)).flavour == "vulkan"


def test_the_version_of_cuda_is_in_the_runtime_brought_along(tmp_path: Path) -> None:
    record = b"\xbd\x04\xef\xfe" + struct.pack("<IHHHH", 0x10000, 14, 6, 12040, 11)
    (tmp_path / "cudart64_12.dll").write_bytes(b"MZ" + bytes(300) + record)
    assert build_facts(EngineFiles("mine", tmp_path)).cuda_version == (12, 4)
    assert file_version(b"\xbd\x04\xef\xfe") is None
    linux = tmp_path / "linux"
    linux.mkdir()
    (linux / "libcudart.so.12.8.90").write_bytes(linux_program())
    assert build_facts(EngineFiles("mine", linux)).cuda_version == (12, 8)


def test_libraries_of_another_system_are_not_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "OUR_SYSTEM", "Linux")
    (tmp_path / "llama-server.exe").write_bytes(windows_program("cudart64_12.dll"))
    assert build_facts(EngineFiles("mine", tmp_path)).missing_libraries is None


@pytest.mark.skipif(sys.platform == "win32", reason="folders of Linux")
def test_libraries_of_this_system_are_found_where_its_loader_looks() -> None:
    files = files_of(EngineEntry(WORKER))
    assert files is not None
    facts = build_facts(files)
    assert (facts.flavour, facts.missing_libraries) == ("cpu", ())


class Asked:
    """Stands for an engine that is asked for its devices."""

    def __init__(self) -> None:
        self.count = 0
        self.refusal: FindingError | None = None

    def __call__(self, _spec: EngineSpec) -> tuple[DeviceInfo, ...]:
        self.count += 1
        if self.refusal is not None:
            raise self.refusal
        return (CUDA0, DeviceInfo("CPU", "CPU", "cpu"))


def entry_of(folder: Path) -> EngineEntry:
    spec = EngineSpec("mine", BackendKind.LLAMA_SERVER, folder)
    return EngineEntry(spec, PackRecord("mine.zip", "2026-01-01T00:00:00", "b1"))


def test_devices_are_asked_once_per_build_and_kept(tmp_path: Path) -> None:
    folder = tmp_path / "engine"
    folder.mkdir()
    (folder / "ggml-cuda.dll").write_bytes(windows_program("nvcuda.dll"))
    ask, kept = Asked(), tmp_path / "devices.json"
    for _ in range(2):
        facts = EngineReader(kept, ask).facts(entry_of(folder), HARDWARE)
        assert facts is not None
        assert facts.devices == (EngineDevice("CUDA0", "A card", 8 * GIB, 7 * GIB),)
    assert ask.count == 1
    newer = replace(HARDWARE, driver=DriverInfo("580.10", (13, 0)))
    EngineReader(kept, ask).facts(entry_of(folder), newer)
    (folder / "ggml-cuda.dll").write_bytes(windows_program("nvcuda.dll", "more.dll"))
    EngineReader(kept, ask).facts(entry_of(folder), newer)
    assert ask.count == 3


def test_a_build_for_the_processor_is_not_started(tmp_path: Path) -> None:
    (tmp_path / "ggml-cpu.dll").write_bytes(windows_program())
    ask = Asked()
    facts = EngineReader(None, ask).facts(entry_of(tmp_path), HARDWARE)
    assert facts is not None
    assert (facts.devices, ask.count) == ((), 0)


def test_an_engine_that_does_not_start_has_unknown_devices_and_is_asked_again(tmp_path: Path) -> None:
    (tmp_path / "ggml-cuda.dll").write_bytes(windows_program())
    ask = Asked()
    ask.refusal = FindingError(error(FindingCode.ENGINE_MISSING, name=None))
    now = [0.0]
    reader = EngineReader(tmp_path / "kept" / "devices.json", ask, lambda: now[0])
    for _ in range(3):
        facts = reader.facts(entry_of(tmp_path), HARDWARE)
        assert facts is not None
        assert facts.devices is None
    assert ask.count == 1  # not before every plan
    ask.refusal, now[0] = None, 31.0
    again = reader.facts(entry_of(tmp_path), HARDWARE)
    assert again is not None
    assert again.devices is not None


def test_a_list_that_is_the_only_source_of_free_memory_is_not_taken_from_the_file(tmp_path: Path) -> None:
    (tmp_path / "ggml-cuda.dll").write_bytes(windows_program())
    ask, kept = Asked(), tmp_path / "devices.json"
    silent = replace(HARDWARE, gpus=(replace(HARDWARE.gpus[0], vram_free_bytes=None),))
    for count in (1, 2):
        EngineReader(kept, ask).facts(entry_of(tmp_path), silent)
        assert ask.count == count


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"a": [1]}', b'{"a": [{"name": 1}]}', b"\xff"])
def test_a_damaged_memory_of_devices_is_made_again(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "ggml-cuda.dll").write_bytes(windows_program())
    kept = tmp_path / "devices.json"
    kept.write_bytes(content)
    ask = Asked()
    assert EngineReader(kept, ask).facts(entry_of(tmp_path), HARDWARE) is not None
    assert ask.count == 1
