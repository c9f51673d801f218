"""What can be mended loads and answers after it; what cannot is not promised to."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from app.engine.blocking import BlockingEngine
from app.engine.dry_run import WORKER
from app.engine.protocol import ChatMessage, Finished
from app.findings import FindingError
from app.gguf.copy_writer import write_copy
from app.gguf.inspect_file import InspectedFile, inspect_path
from app.gguf.patched_copy import plan_copy
from app.gguf.repair_facts import RepairChoice
from app.options import EngineOptions, SamplingOptions
from tests.models.broken import BROKEN_CASES, KILLERS, EngineOutcome, write_broken
from tests.models.broken_metadata import USED

MENDED_AT_LOAD = (
    *("expert_count-missing", "meta-expert_count-0", "meta-expert_count-16-tensors-8"),
    *("meta-expert_count-4-tensors-8", "meta-expert_count-5000", "meta-expert_count-as-string"),
    *("meta-expert_count-negative", "meta-expert_ff-wrong", "meta-expert_ff-missing-0"),
    *("meta-block_count-0", "meta-block_count-9-tensors-2", "meta-block_count-100000"),
    *("meta-head_count-0", "meta-head_count_kv-3", "meta-block_count-missing"),
)
"""The tensors tell the right value; nobody is asked."""

MENDED_AFTER_A_CHOICE: Mapping[str, tuple[str, str | int]] = {
    "meta-expert_both-0": (USED, 2),
    "meta-expert_used-0": (USED, 2),
    "meta-expert_used-9-of-8": (USED, 2),
    "arch-unknown": ("general.architecture", "qwen3moe"),
}
"""Nothing in the file tells for sure."""

MENDED_BY_A_COPY: Mapping[str, tuple[str, int] | None] = {
    "expert_used_count-missing": (USED, 2),
    "expert_both-missing": (USED, 2),
    "key-duplicated": None,
    "key-empty": None,
    "alignment-0": None,
    "alignment-3": None,
    "alignment-2147483648": None,
    "alignment-as-string": None,
    "split-swapped-2-3": None,
    "split-renamed": None,
}
"""No value given at load reaches these; some need a choice too."""

OPTIONS = EngineOptions(n_ctx=256, n_batch=64, n_ubatch=64, n_gpu_layers=0, n_threads=1, n_threads_batch=1)
GREEDY = SamplingOptions(temperature=0.0, max_tokens=4)


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    return write_broken(tmp_path_factory.mktemp("broken"))


def assert_answers(inspected: InspectedFile) -> None:
    """Check that the worker loads the file with its overrides and says four tokens."""
    assert inspected.loadable, inspected.findings
    facts = inspected.facts
    options = replace(OPTIONS, kv_overrides=facts.kv_overrides)
    with BlockingEngine(WORKER) as engine:
        engine.load(facts.path, options)
        *_, last = engine.generate([ChatMessage("user", "hello there")], GREEDY)
    assert isinstance(last, Finished), last
    assert last.timings.predicted_tokens == GREEDY.max_tokens


def test_every_killer_can_be_mended() -> None:
    ways = {*MENDED_AT_LOAD, *MENDED_AFTER_A_CHOICE, *MENDED_BY_A_COPY}
    assert {case.name for case in KILLERS} <= ways


@pytest.mark.engine
@pytest.mark.parametrize("name", MENDED_AT_LOAD)
def test_it_answers_with_what_the_tensors_tell(name: str, broken: Mapping[str, Path]) -> None:
    inspected = inspect_path(broken[name])
    assert inspected.facts.kv_overrides
    assert_answers(inspected)


@pytest.mark.engine
@pytest.mark.parametrize("name", MENDED_AFTER_A_CHOICE)
def test_it_answers_with_what_a_person_chose(name: str, broken: Mapping[str, Path]) -> None:
    assert not inspect_path(broken[name]).loadable
    assert_answers(inspect_path(broken[name], RepairChoice(chosen=(MENDED_AFTER_A_CHOICE[name],))))


@pytest.mark.engine
@pytest.mark.parametrize("name", MENDED_BY_A_COPY)
def test_its_patched_copy_answers_and_the_original_is_as_it_was(
    name: str, broken: Mapping[str, Path], tmp_path: Path
) -> None:
    files = sorted(broken[name].parent.glob("*.gguf") if name.startswith("split-") else [broken[name]])
    before = [file.read_bytes() for file in files]
    chosen = MENDED_BY_A_COPY[name]
    inspected = inspect_path(broken[name], RepairChoice(chosen=() if chosen is None else (chosen,)))
    assert not inspected.loadable
    plan = plan_copy(inspected, tmp_path / ("parts" if len(files) > 1 else "copy.gguf"))
    assert plan.is_ready
    write_copy(plan)
    assert_answers(inspect_path(plan.model))
    assert [file.read_bytes() for file in files] == before


def test_no_copy_is_promised_for_the_rest(broken: Mapping[str, Path]) -> None:
    mended = {*MENDED_AT_LOAD, *MENDED_AFTER_A_CHOICE, *MENDED_BY_A_COPY}
    for case in BROKEN_CASES:
        inspected = inspect_path(broken[case.name])
        if case.engine_outcome is EngineOutcome.LOADS or case.name in mended or inspected.loadable:
            continue
        try:
            plan = plan_copy(inspected, broken[case.name].parent / "no-copy.gguf")
        except FindingError:
            continue
        assert not plan.is_ready, case.name
