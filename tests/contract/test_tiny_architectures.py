"""Seventeen architectures: what the header says, and that the engine loads the same file and answers."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.engine.blocking import BlockingEngine
from app.engine.dry_run import WORKER, engine_accepts
from app.engine.protocol import ChatMessage, Finished, Token
from app.gguf.facts import TensorClass
from app.gguf.inspect_file import InspectedFile, findings_for_chat, inspect_path
from app.gguf.weights_scan import scan_weights
from app.gguf.writer import ValueType, array
from app.options import EngineOptions, SamplingOptions
from tests.models.draft import Draft
from tests.models.tiny import TINY_ARCHITECTURES, TINY_DIMENSIONS, tiny_model, write_tiny

OPTIONS = EngineOptions(n_ctx=256, n_batch=64, n_ubatch=64, n_gpu_layers=0, n_threads=1, n_threads_batch=1)
GREEDY = SamplingOptions(temperature=0.0, max_tokens=4)
QUESTION = [ChatMessage("user", "hello there")]

DENSE = {"glm4moe": [0], "ernie4_5-moe": [0], "llama4": [0, 2], "deepseek2": [0], "glm-dsa": [0]}
"""Blocks without experts; the other architectures have none."""

SHARED = {"qwen2moe": 1, "qwen3next": 1, "glm4moe": 1, "llama4": 1, "hunyuan-moe": 1, "ernie4_5-moe": 1}
SHARED |= {"deepseek2": 2, "glm-dsa": 1, "deepseek4": 1}


@dataclass(frozen=True)
class Subject:
    """One tiny model and what was found in its file."""

    architecture: str
    file: Path
    inspected: InspectedFile


@pytest.fixture(scope="module", params=TINY_ARCHITECTURES)
def subject(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Subject]:
    file = write_tiny(request.param, tmp_path_factory.mktemp("tiny") / "model.gguf")
    yield Subject(request.param, file, inspect_path(file))
    file.unlink()


def test_nothing_is_wrong_with_it(subject: Subject) -> None:
    assert [finding.to_json() for finding in findings_for_chat(subject.inspected)] == []
    assert subject.inspected.facts.kv_overrides == ()


def test_no_weight_of_it_is_doubted(subject: Subject) -> None:
    assert scan_weights(subject.inspected.facts, is_full=True) == ()


def test_its_experts_lie_where_they_were_put(subject: Subject) -> None:
    dimensions, facts = TINY_DIMENSIONS[subject.architecture], subject.inspected.facts
    dense = DENSE.get(subject.architecture, [])
    assert (facts.expert_count, facts.expert_used_count) == (dimensions.experts, dimensions.used)
    assert facts.expert_shared_count == SHARED.get(subject.architecture, 0)
    assert facts.trunk_layers == dimensions.layers
    assert [layer.index for layer in facts.layers if not layer.expert_count] == dense
    assert {layer.index for layer in facts.expert_layers} == set(range(dimensions.layers)) - set(dense)


def test_every_byte_is_in_one_class_and_routed_ones_are_all_exps(subject: Subject) -> None:
    tensors, facts = tiny_model(subject.architecture).tensors, subject.inspected.facts
    exps = sum(len(tensor.content) for tensor in tensors if "_exps." in tensor.name)
    shared = sum(len(tensor.content) for tensor in tensors if "_shexp." in tensor.name)
    assert (facts.routed_expert_bytes, facts.shared_expert_bytes) == (exps, shared)
    sums = [layer.bytes_by_class for layer in facts.layers] + [facts.bytes_outside_layers]
    assert sum(sum(by_class.values()) for by_class in sums) == sum(len(t.content) for t in tensors)
    assert all(layer.bytes_by_class[TensorClass.ATTENTION] for layer in facts.layers)
    assert {layer.index for layer in facts.layers if TensorClass.OTHER in layer.bytes_by_class} == {
        int(tensor.name.split(".")[1]) for tensor in tensors if ".hc_" in tensor.name
    }
    assert facts.parameter_count == sum(math.prod(tensor.shape) for tensor in tensors)


@pytest.mark.engine
def test_the_dry_run_takes_it(subject: Subject) -> None:
    assert engine_accepts(subject.file) == (True, ())


@pytest.mark.engine
def test_the_engine_loads_it_and_answers(subject: Subject) -> None:
    with BlockingEngine(WORKER) as engine:
        loaded = engine.load(subject.inspected.facts.path, OPTIONS)
        *events, last = engine.generate(QUESTION, GREEDY)
    assert loaded.findings == ()
    assert isinstance(last, Finished), last
    assert last.timings.predicted_tokens == GREEDY.max_tokens
    assert any(isinstance(event, Token) for event in events)


@pytest.mark.engine
@pytest.mark.parametrize(
    ("architecture", "name", "wrong"),
    [
        ("deepseek2", "leading_dense_block_count", 2),
        ("deepseek2", "leading_dense_block_count", 0),
        ("deepseek2", "expert_shared_count", 3),
        ("deepseek4", "hash_layer_count", 2),
    ],
)
def test_a_count_of_layers_the_tensors_contradict_is_mended_at_load(
    architecture: str, name: str, wrong: int, tmp_path: Path
) -> None:
    draft = Draft.of(tiny_model(architecture))
    draft.put_number(f"{architecture}.{name}", wrong)
    file = tmp_path / "model.gguf"
    file.write_bytes(draft.encode())
    assert engine_accepts(file)[0] is False
    inspected = inspect_path(file)
    assert inspected.loadable
    assert engine_accepts(file, inspected.facts.kv_overrides) == (True, ())


@pytest.mark.engine
def test_a_list_of_expert_counts_is_mended_at_load(tmp_path: Path) -> None:
    draft = Draft.of(tiny_model("qwen3moe"))
    draft.put(array("qwen3moe.expert_count", ValueType.UINT32, (8, 8)))
    file = tmp_path / "model.gguf"
    file.write_bytes(draft.encode())
    assert engine_accepts(file)[0] is False
    assert engine_accepts(file, inspect_path(file).facts.kv_overrides) == (True, ())
