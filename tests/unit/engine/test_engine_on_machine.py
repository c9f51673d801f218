"""An engine on a machine: what is planned for and what its process is told. The core's part of case H17."""

from dataclasses import replace
from pathlib import Path

from app.engine.client import worker_command
from app.engine.engine_devices import EngineReader
from app.engine.engine_on_machine import engine_on_machine
from app.engine.packs import WORKER, EngineEntry, PackRecord
from app.engine.protocol import BufferUse, DeviceInfo, Hello, Loaded
from app.engine.spec import BackendKind, EngineSpec
from app.findings import FindingCode
from app.hardware.facts import DriverInfo, GpuInfo, HardwareFacts
from app.hardware.gpu_choice import gpu_key
from app.planner.facts import Wishes
from app.planner.plan import plan_offload
from tests.fakes import FAKE_HOST, GIB
from tests.planner_models import moe_facts
from tests.unit.engine.test_binary_imports import windows_program

OLD = GpuInfo(
    0, "NVIDIA GeForce GTX 1660 SUPER", "nvidia", "GPU-aaaa", "00000000:01:00.0", 6 * GIB, 5 * GIB, (7, 5)
)
GOOD = GpuInfo(
    1, "NVIDIA GeForce RTX 3090", "nvidia", "GPU-bbbb", "00000000:02:00.0", 24 * GIB, 23 * GIB, (8, 6)
)
PC = HardwareFacts(FAKE_HOST, DriverInfo("551.61", (12, 4)), (OLD, GOOD))
LISTED = (
    DeviceInfo("Vulkan0", GOOD.name, "gpu", 23 * GIB, 24 * GIB),
    DeviceInfo("Vulkan1", OLD.name, "gpu", 5 * GIB, 6 * GIB),
)


def engine(folder: Path, library: str) -> EngineEntry:
    (folder / library).write_bytes(windows_program())
    (folder / "llama-server").write_bytes(b"#!/bin/sh\n")
    spec = EngineSpec("mine", BackendKind.LLAMA_SERVER, folder)
    return EngineEntry(spec, PackRecord("mine.zip", "2026-01-01T00:00:00", "b1"))


def test_what_the_person_picked_is_planned_and_what_the_process_is_told(tmp_path: Path) -> None:
    entry = engine(tmp_path, "ggml-cuda.dll")
    seen = engine_on_machine(EngineReader(None, lambda _: LISTED), entry, PC, {gpu_key(OLD)})
    assert seen.budget.vram_free_bytes == (23 * GIB,)
    command = worker_command(seen.spec(entry.spec))
    assert command.env["CUDA_VISIBLE_DEVICES"] == "GPU-bbbb"
    assert seen.findings == ()


def test_vulkan_is_told_its_device_by_the_plan(tmp_path: Path) -> None:
    entry = engine(tmp_path, "ggml-vulkan.dll")
    seen = engine_on_machine(EngineReader(None, lambda _: LISTED), entry, PC, {gpu_key(OLD)})
    plan = plan_offload(moe_facts(), seen.budget, Wishes())
    assert plan.options.devices == ("Vulkan0",)
    assert all(step.options.devices == ("Vulkan0",) for step in plan.ladder)
    hello = Hello("llama-server", "b1", LISTED)
    both = Loaded({}, (BufferUse("Vulkan1", "model", GIB), BufferUse("CPU", "model", GIB)))
    (finding,) = seen.judge_load(hello, both)
    assert finding.code is FindingCode.GPU_CHOICE_NOT_HONOURED
    assert finding.values["used"] == (OLD.name,)
    assert seen.judge_load(hello, Loaded({}, (BufferUse("Vulkan0", "model", GIB),))) == ()
    swapped = Loaded({}, (BufferUse("Vulkan0", "model", GIB),), bus_ids={"Vulkan0": "0000:01:00.0"})
    (finding,) = seen.judge_load(hello, swapped)
    assert finding.code is FindingCode.GPU_CHOICE_NOT_HONOURED


def test_a_card_that_is_excluded_and_unseen_is_not_told(tmp_path: Path) -> None:
    entry = engine(tmp_path, "ggml-vulkan.dll")
    reader = EngineReader(None, lambda _: LISTED[:1])
    unseen = engine_on_machine(reader, entry, PC)
    assert [finding.code for finding in unseen.findings] == [FindingCode.GPU_UNSEEN_BY_ENGINE]
    assert engine_on_machine(reader, entry, PC, {gpu_key(OLD)}).findings == ()


def test_the_built_in_worker_for_the_processor_leaves_a_chip_alone_and_says_so() -> None:
    chip = replace(GOOD, is_integrated=True, shared_free_bytes=12 * GIB)
    seen = engine_on_machine(EngineReader(None), EngineEntry(WORKER), replace(PC, gpus=(chip,)))
    assert seen.budget.vram_free_bytes == ()
    assert [finding.code for finding in seen.findings] == [FindingCode.ENGINE_FLAVOUR_UNFIT]
    plan = plan_offload(moe_facts(), seen.budget, Wishes())
    assert plan.options.n_gpu_layers == 0
