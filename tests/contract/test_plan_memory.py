"""What a real engine took and how fast it was corrects the next plan."""

from dataclasses import replace
from pathlib import Path

import pytest

from app.engine.blocking import BlockingEngine
from app.engine.packs import choose_engine
from app.engine.protocol import ChatMessage, Finished, Loaded, Timings
from app.engine.spec import BackendKind, EngineSpec
from app.gguf.facts import ModelFacts
from app.gguf.inspect_file import inspect_path
from app.hardware.facts import HardwareFacts
from app.library.plan_memory import PlanMemory, RunningModel
from app.options import SamplingOptions
from app.planner.corrections import PartGroup
from app.planner.facts import MemoryBudget, OffloadPlan, Part, Wishes
from app.planner.measured_speeds import SpeedBasis
from app.planner.plan import plan_offload

pytestmark = pytest.mark.engine

HERE = HardwareFacts(None)
BUDGET = MemoryBudget(ram_free_bytes=8 * 1024**3, performance_cores=1)
WISHES = Wishes(n_ctx=2048)


def planned(memory: PlanMemory, model: ModelFacts, spec: EngineSpec) -> OffloadPlan:
    return plan_offload(model, memory.taught(BUDGET, model, spec, HERE), WISHES)


def run(memory: PlanMemory, model: ModelFacts, spec: EngineSpec) -> tuple[Loaded, Timings]:
    """Load as planned, answer once, and let both be kept."""
    plan = planned(memory, model, spec)
    with BlockingEngine(spec) as engine:
        loaded = engine.load(model.path, plan.options)
        assert engine.hello is not None
        running = RunningModel(spec, model, plan.options, engine.hello, plan.forecast)
        memory.keep_load(running, loaded)
        sampling = SamplingOptions(temperature=0.0, max_tokens=24)
        question = [ChatMessage("user", "Count from one to twenty in words.")]
        last = list(engine.generate(question, sampling))[-1]
    assert isinstance(last, Finished)
    memory.keep_answer(running, last.timings)
    return loaded, last.timings


@pytest.mark.parametrize("name", ["worker", "llama-server"])
def test_a_second_plan_knows_what_the_first_load_took(name: str, moe_model: Path, engine_pack: Path) -> None:
    pack = EngineSpec("pack", BackendKind.LLAMA_SERVER, engine_pack)
    spec = pack if name == "llama-server" else choose_engine(name, None)
    model = inspect_path(moe_model).facts
    before = planned(PlanMemory(), model, spec)
    assert before.forecast is None
    loaded, timings = run(PlanMemory(), model, spec)

    after = planned(PlanMemory(), model, spec)  # from the files, as after a restart
    taken = sum(
        use.size_bytes for use in loaded.buffers if PartGroup.of_buffer(use.part) is PartGroup.COMPUTE
    )
    off_before = abs(before.devices[-1].parts[Part.COMPUTE] - taken)
    off_after = abs(after.devices[-1].parts[Part.COMPUTE] - taken)
    assert off_after <= off_before
    assert off_after <= 64 * 1024
    speed = timings.predicted_tokens_per_second
    assert after.forecast is not None and speed is not None
    assert after.forecast.basis is SpeedBasis.MEASURED_HERE
    assert after.forecast.decode.low < speed < after.forecast.decode.high
    assert after.forecast.expected == pytest.approx(speed)


def test_another_number_of_threads_was_not_measured(moe_model: Path) -> None:
    spec, model = choose_engine("worker", None), inspect_path(moe_model).facts
    memory = PlanMemory()
    run(memory, model, spec)
    taught = memory.taught(BUDGET, model, spec, HERE)
    assert plan_offload(model, taught, WISHES).forecast is not None
    assert plan_offload(model, taught, replace(WISHES, n_threads=2)).forecast is None


def test_calibrating_gives_a_plan_its_speed_and_is_needed_once(moe_model: Path) -> None:
    spec, model = choose_engine("worker", None), inspect_path(moe_model).facts
    memory = PlanMemory()
    request = memory.to_measure(spec, HERE, model, planned(memory, model, spec))
    assert request is not None
    assert not memory.measure(HERE, request, lambda: True)  # cancelled: nothing is kept
    assert planned(memory, model, spec).forecast is None
    assert memory.measure(HERE, request)
    told = planned(PlanMemory(), model, spec)
    assert told.forecast is not None
    assert told.forecast.basis is SpeedBasis.CALIBRATED
    assert PlanMemory().to_measure(spec, HERE, model, told) is None
