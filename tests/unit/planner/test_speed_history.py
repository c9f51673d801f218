"""What answers here took corrects the next prediction."""

from pathlib import Path

import pytest

from app.options import EngineOptions
from app.planner.speed_history import (
    ANSWERS_PER_PLAN,
    MOST_ANSWERS,
    MeasuredAnswer,
    PlanKey,
    SpeedHistory,
    correction,
    place_key,
)

KEY = PlanKey("a model", "b1", "0/0/4")
OTHER = PlanKey("another", "b1", "0/0/4")


def answer(key: PlanKey = KEY, measured: float = 8.0, tokens: int = 100) -> MeasuredAnswer:
    return MeasuredAnswer(key, 10.0, measured, tokens)


def test_answers_of_the_same_plan_count_alone() -> None:
    learned = correction([answer(OTHER, 20.0), answer(measured=8.0), answer(measured=9.0)], KEY)
    assert learned is not None
    assert learned.is_same_plan
    assert learned.factor == pytest.approx(0.85)


def test_other_models_with_the_same_build_teach_what_they_can() -> None:
    learned = correction([answer(OTHER, 5.0)] * 3 + [answer(PlanKey("third", "b1", ""), 20.0)], KEY)
    assert learned is not None
    assert not learned.is_same_plan
    assert learned.factor == pytest.approx(1.0)  # one voice for each plan


def test_another_build_and_short_answers_teach_nothing() -> None:
    assert correction([answer(PlanKey("a model", "b2", "0/0/4")), answer(tokens=3)], KEY) is None


def test_one_wild_answer_of_others_moves_little() -> None:
    learned = correction([answer(OTHER, 1000.0)], KEY)
    assert learned is not None
    assert learned.factor == 3.0


def test_the_newest_answers_of_a_plan_are_kept(tmp_path: Path) -> None:
    history = SpeedHistory(tmp_path / "history.json")
    for speed in range(1, 30):
        history.keep(answer(measured=float(speed)))
    history.keep(answer(OTHER))
    history.keep(answer(tokens=1))
    kept = SpeedHistory(tmp_path / "history.json").answers()
    assert [a.measured for a in kept if a.key == KEY] == [float(s) for s in range(22, 30)]
    assert len(kept) == ANSWERS_PER_PLAN + 1 < MOST_ANSWERS


@pytest.mark.parametrize("content", [b"", b"null", b"[[]]", b'[{"tokens": "x"}]', b"\x00"])
def test_a_damaged_history_is_empty(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "history.json").write_bytes(content)
    assert SpeedHistory(tmp_path / "history.json").answers() == ()


def test_where_a_model_is_computed_makes_the_key() -> None:
    keys = {
        place_key(EngineOptions(n_gpu_layers=0)),
        place_key(EngineOptions(n_gpu_layers=5)),
        place_key(EngineOptions(n_gpu_layers=5, n_cpu_moe=3)),
        place_key(EngineOptions(n_gpu_layers=5, cpu_moe=True)),
        place_key(EngineOptions(n_gpu_layers=5, n_threads=2)),
    }
    assert len(keys) == 5
    assert place_key(EngineOptions(n_ctx=2048)) == place_key(EngineOptions(n_ctx=4096))
