"""The drive of a model that does not fit into RAM is measured when it is first used, and not again."""

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from app.engine.engine_on_machine import build_on_machine
from app.engine.spec import BackendKind, EngineSpec
from app.findings import FindingCode, FindingError, Severity, error
from app.gguf.inspect_file import inspect_path
from app.hardware import storage_cache
from app.hardware.facts import CpuInfo, DiskInfo, HardwareFacts, HostInfo
from app.hardware.speeds import DepthSpeed, StorageSpeed
from app.hardware.storage import StorageTest
from app.library import drive_speed
from app.library.drive_speed import judge_first_use
from app.planner.facts import MemoryBudget, Wishes
from app.planner.plan import plan_offload
from app.ui.controllers.model_jobs import LaunchRequest, ModelPorts, prepare_launch
from tests.builders import moe_model, write_gguf
from tests.fakes import GIB


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, HardwareFacts]:
    monkeypatch.setenv("MOXIE_HOME", str(tmp_path / "home"))
    model = write_gguf(tmp_path / "a model.gguf", *moe_model(layers=4))
    disk = DiskInfo(tmp_path.anchor, 500 * GIB, 100 * GIB)
    return model, HardwareFacts(HostInfo("Linux", None, CpuInfo(), 8 * GIB, 6 * GIB, disks=(disk,)))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[StorageTest]:
    tests: list[StorageTest] = []

    def measure(test: StorageTest, _: object) -> StorageSpeed:
        tests.append(test)
        depths = tuple(DepthSpeed(depth, 150_000_000, 100, 0.01, 0.02) for depth in test.depths)
        now = time.time()
        return StorageSpeed(
            test.mount, test.piece_bytes, test.file.stat().st_size, "direct", depths, int(now), True
        )

    monkeypatch.setattr(storage_cache, "measure_storage", measure)
    return tests


def test_a_plan_that_leaves_experts_on_a_slow_drive_is_told_so_once_measured(
    here: tuple[Path, HardwareFacts], asked: list[StorageTest]
) -> None:
    model, hardware = here
    facts = inspect_path(model).facts
    plan = plan_offload(facts, MemoryBudget(6 * GIB, (), (), performance_cores=4), Wishes())
    assert judge_first_use(facts, plan, hardware) == ()  # fits: nothing is measured
    assert asked == []
    large = replace(plan, disk_bytes=3 * GIB)
    for _ in range(2):
        (finding,) = judge_first_use(facts, large, hardware)
        assert finding.code is FindingCode.MODEL_DRIVE_SLOW
        assert finding.values["bytes_per_second"] == 150_000_000
    assert [test.file for test in asked] == [model]
    kept = json.loads((model.parent / "home" / "storage-speeds.json").read_text(encoding="utf-8"))
    assert kept[0]["mount"] == model.anchor


def test_a_drive_that_cannot_be_measured_does_not_keep_a_chat_from_starting(
    here: tuple[Path, HardwareFacts], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, hardware = here
    facts = inspect_path(model).facts
    plan = plan_offload(facts, MemoryBudget(6 * GIB, (), (), performance_cores=4), Wishes())

    def refuse(*_: object) -> StorageSpeed:
        raise FindingError(error(FindingCode.DISK_NOT_MEASURED, path="m", detail="Input/output error"))

    monkeypatch.setattr(drive_speed, "known_or_measured", refuse)
    (finding,) = judge_first_use(facts, replace(plan, disk_bytes=GIB), hardware)
    assert (finding.code, finding.severity) == (FindingCode.DISK_NOT_MEASURED, Severity.WARNING)
    unknown = replace(hardware, host=None)
    assert judge_first_use(facts, replace(plan, disk_bytes=GIB), unknown) == ()


def test_a_load_in_the_window_measures_the_drive_it_will_read(
    here: tuple[Path, HardwareFacts], asked: list[StorageTest]
) -> None:
    model, hardware = here
    seen = build_on_machine(None, hardware)
    little = replace(seen.budget, ram_free_bytes=1)
    ports = ModelPorts(
        lambda: little, choose=lambda *_: EngineSpec("echo", BackendKind.ECHO), seen=lambda: seen
    )
    launch = prepare_launch(ports, LaunchRequest(inspect_path(model).facts, Wishes()))
    assert launch.plan.disk_bytes > 0
    assert [finding.code for finding in launch.of_drive] == [FindingCode.MODEL_DRIVE_SLOW]
    assert len(asked) == 1
    much = replace(ports, fresh_budget=lambda: replace(little, ram_free_bytes=6 * GIB))
    assert prepare_launch(much, LaunchRequest(inspect_path(model).facts, Wishes())).of_drive == ()
