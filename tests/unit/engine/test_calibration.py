"""Calibration models are valid for every type, and what an engine says of them becomes speeds."""

from pathlib import Path

import pytest

from app.engine.calibration import (
    CalibrationRequest,
    Timed,
    calibrate,
    groups_that_matter,
    typical_seconds,
)
from app.engine.calibration_cache import CalibrationCache, missing_groups
from app.engine.calibration_model import CalibrationShape, write_calibration_model
from app.engine.packs import WORKER
from app.gguf.inspect_file import inspect_path
from app.gguf.quants import QUANT_TYPES
from app.planner.measured_speeds import Calibration, TypeSpeed, WeightKind
from tests.models.tiny import write_tiny

MACHINE, BUILD = "a machine", "b10434"


def calibration(*types: TypeSpeed, n_threads: int = 2, repack: bool = True) -> Calibration:
    return Calibration(BUILD, "CPU", n_threads, repack, 1e-4, types, 1_700_000_000)


def speed(name: str, rate: float = 1e9) -> TypeSpeed:
    return TypeSpeed(name, WeightKind.DENSE, rate, None)


@pytest.mark.parametrize("experts", [0, 4])
@pytest.mark.parametrize("type_id", sorted(set(QUANT_TYPES) - {9, 15, 24, 25, 26, 27, 28}))
def test_every_type_of_weights_makes_a_model_our_reader_takes(
    tmp_path: Path, type_id: int, experts: int
) -> None:
    file = tmp_path / "model.gguf"
    write_calibration_model(file, CalibrationShape(type_id, 2, experts, experts // 2, 256, 256))
    inspected = inspect_path(file)
    assert inspected.loadable
    assert inspected.facts.expert_count == experts
    types = {t.type_name for t in inspected.facts.tensors if "attn_q" in t.name or "ffn_down" in t.name}
    assert types == {QUANT_TYPES[type_id].name}


def test_types_that_hold_next_to_nothing_are_not_measured(tmp_path: Path) -> None:
    groups = groups_that_matter(inspect_path(write_tiny("qwen3moe", tmp_path / "tiny.gguf")).facts)
    assert ("Q8_0", WeightKind.EXPERTS) in groups
    assert ("F16", WeightKind.DENSE) in groups
    assert ("Q8_0", WeightKind.DENSE) not in groups


def test_the_time_that_counts_is_of_the_answers_that_were_disturbed_least() -> None:
    disturbed = [Timed(float(n), 0.4) for n in range(1, 7)]
    assert typical_seconds([*disturbed, Timed(9.0, 0.98), Timed(8.0, 0.97), Timed(7.0, 0.99)]) == 8.0


def test_where_nobody_knows_what_disturbs_the_fastest_third_counts() -> None:
    assert typical_seconds([Timed(float(n)) for n in (9, 1, 2, 3, 8, 7, 4, 5, 6)]) == 2.0
    assert typical_seconds([Timed(5.0)]) == 5.0


def test_what_was_calibrated_is_found_again_by_machine_and_build(tmp_path: Path) -> None:
    cache = CalibrationCache(tmp_path / "calibrations.json")
    cache.keep(MACHINE, calibration(speed("Q4_K")))
    cache.keep(MACHINE, calibration(speed("Q4_K"), n_threads=4))
    again = CalibrationCache(tmp_path / "calibrations.json")
    assert len(again.known(MACHINE, BUILD)) == 2
    assert again.known("another", BUILD) == ()
    assert again.known(MACHINE, "b1") == ()


def test_another_type_is_added_and_the_same_one_replaced(tmp_path: Path) -> None:
    cache = CalibrationCache(tmp_path / "calibrations.json")
    cache.keep(MACHINE, calibration(speed("Q4_K", 1e9), speed("Q6_K", 2e9)))
    cache.keep(MACHINE, calibration(speed("Q4_K", 3e9)))
    (known,) = cache.known(MACHINE, BUILD)
    assert {t.type_name: t.decode_bytes_per_second for t in known.types} == {"Q4_K": 3e9, "Q6_K": 2e9}
    wanted = (("Q6_K", WeightKind.DENSE), ("Q8_0", WeightKind.DENSE))
    assert missing_groups(known, wanted) == (("Q8_0", WeightKind.DENSE),)


@pytest.mark.parametrize("content", [b"", b"[1]", b"{", b'[{"machine": 5}]', b"\xff\xfe"])
def test_a_damaged_file_holds_nothing_and_is_replaced(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "calibrations.json"
    file.write_bytes(content)
    cache = CalibrationCache(file)
    assert cache.known(MACHINE, BUILD) == ()
    cache.keep(MACHINE, calibration(speed("Q4_K")))
    assert len(cache.known(MACHINE, BUILD)) == 1


@pytest.mark.engine
def test_a_real_engine_is_calibrated_and_a_type_it_does_not_know_is_left_out(tmp_path: Path) -> None:
    groups = (("Q8_0", WeightKind.DENSE), ("Q8_1", WeightKind.DENSE))
    measured = calibrate(CalibrationRequest(WORKER, groups, 1), seconds=0.2, folder=tmp_path)
    assert measured is not None
    assert [t.type_name for t in measured.types] == ["Q8_0"]
    assert measured.build
    assert 1e-6 < measured.block_seconds < 0.05
    assert 1e8 < measured.types[0].decode_bytes_per_second < 1e12
    assert not list(tmp_path.glob("moxie-*/*.gguf"))


@pytest.mark.engine
def test_a_cancelled_calibration_gives_nothing(tmp_path: Path) -> None:
    groups = (("Q8_0", WeightKind.DENSE),)
    request = CalibrationRequest(WORKER, groups, 1)
    assert calibrate(request, lambda: True, seconds=0.1, folder=tmp_path) is None
