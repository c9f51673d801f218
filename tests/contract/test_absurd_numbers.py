"""Numbers that the real engine dies or hangs of: each is refused by the header, or mended by the tensors.

Every case was seen to end llama-cpp-python 0.3.36, or to keep it busy for ever, with a file otherwise sound.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from app.engine.blocking import BlockingEngine
from app.engine.dry_run import WORKER, would_abort
from app.engine.protocol import ChatMessage, Finished
from app.findings import Finding, FindingCode, Severity
from app.gguf.inspect_file import InspectedFile, inspect_path
from app.gguf.repair_facts import RepairChoice
from app.gguf.writer import ValueType, scalar
from app.options import EngineOptions, SamplingOptions
from tests.models.draft import Draft
from tests.models.tiny import tiny_model

OPTIONS = EngineOptions(n_ctx=256, n_batch=64, n_ubatch=64, n_gpu_layers=0, n_threads=1, n_threads_batch=1)
GREEDY = SamplingOptions(temperature=0.0, max_tokens=4)

REFUSED = [
    ("qwen3next", "rope.dimension_count", 0),
    ("qwen3next", "rope.dimension_count", 3),
    ("glm4moe", "rope.dimension_count", 0),
    ("minimax-m2", "rope.dimension_count", 1),
    ("phimoe", "rope.dimension_count", 0),
    ("deepseek4", "rope.dimension_count", 1_000_002),
    ("llama", "expert_group_count", 3),
    ("qwen2moe", "expert_group_count", 8),
    ("granitemoe", "expert_group_count", 2**31 - 1),
    ("dbrx", "nextn_predict_layers", 2**31 - 1),
    ("glm4moe", "nextn_predict_layers", 3),
    ("glm4moe", "expert_gating_func", 5),
    ("minimax-m2", "expert_gating_func", 0),
    ("ernie4_5-moe", "interleave_moe_layer_step", 0),
    ("llama4", "attention.sliding_window", 0),
    ("gpt-oss", "attention.sliding_window", 2**30),
    ("gpt-oss", "attention.sliding_window_pattern", 1),
    ("deepseek4", "attention.output_group_count", 0),
    ("deepseek4", "hyper_connection.sinkhorn_iterations", 0),
    ("deepseek4", "hyper_connection.sinkhorn_iterations", 2**31 - 1),
]

MENDED = [
    ("qwen3moe", "rope.dimension_count", 0, 16),
    ("llama4", "rope.dimension_count", 3, 16),
    ("dbrx", "rope.dimension_count", 1_000_003, 16),
    ("qwen2moe", "attention.key_length", 0, 16),
    ("phimoe", "attention.key_length", 2**31 - 1, 16),
    ("gpt-oss", "attention.value_length", 1, 32),
    ("gpt-oss", "attention.key_length_swa", 3, 32),
    ("qwen3next", "ssm.inner_size", 1, 128),
    ("qwen3next", "ssm.conv_kernel", 0, 4),
    ("qwen3next", "attention.key_length", 0, 16),
    ("deepseek2", "attention.key_length", 1, 48),
    ("deepseek2", "rope.dimension_count", 1_000_003, 16),
    ("glm-dsa", "attention.key_length", 0, 48),
    ("deepseek4", "attention.value_length", 3, 64),
    ("deepseek4", "attention.head_count_kv", 3, 1),
    ("olmoe", "embedding_length", 0, 64),
    ("qwen2moe", "attention.head_count", 6, 4),
    ("phimoe", "attention.head_count", 2**30, 4),
    ("qwen3moe", "attention.head_count_kv", 1, 2),
    ("dbrx", "attention.head_count", 6, 4),
    ("dbrx", "attention.head_count", 2**30, 4),
    ("dbrx", "attention.head_count_kv", 4, 2),
]
"""Architecture, key, number, and what the tensors say."""

MENDED_ALTHOUGH_GONE = [
    ("gpt-oss", "attention.value_length", 32),
    ("deepseek2", "attention.key_length", 48),
    ("deepseek2", "rope.dimension_count", 16),
    ("glm-dsa", "attention.key_length", 48),
    ("deepseek4", "attention.value_length", 64),
]


def errors(inspected: InspectedFile) -> list[Finding]:
    return [finding for finding in inspected.findings if finding.severity is Severity.ERROR]


def written(draft: Draft, tmp_path: Path) -> Path:
    file = tmp_path / "m.gguf"
    file.write_bytes(draft.encode())
    return file


def with_number(architecture: str, name: str, number: int, tmp_path: Path) -> Path:
    draft = Draft.of(tiny_model(architecture))
    draft.put_number(f"{architecture}.{name}", number)
    return written(draft, tmp_path)


@pytest.mark.parametrize(("architecture", "name", "number"), REFUSED)
def test_a_number_engines_die_or_hang_of_is_refused_with_its_own_numbers(
    architecture: str, name: str, number: int, tmp_path: Path
) -> None:
    inspected = inspect_path(with_number(architecture, name, number, tmp_path))
    told = [f.values for f in errors(inspected) if f.code is FindingCode.NUMBER_UNUSABLE]
    assert (f"{architecture}.{name}", number) in [(values["key"], values["found"]) for values in told]
    assert would_abort(inspected.findings)


@pytest.mark.parametrize(
    ("architecture", "name", "gone"),
    [
        ("minimax-m2", "expert_gating_func", "expert_gating_func"),
        ("phimoe", "attention.head_count", "attention.head_count"),
    ],
)
def test_what_engines_need_and_do_not_ask_for_is_asked_for(
    architecture: str, name: str, gone: str, tmp_path: Path
) -> None:
    draft = Draft.of(tiny_model(architecture))
    draft.drop(f"{architecture}.{gone}")
    told = errors(inspect_path(written(draft, tmp_path)))
    assert [(f.code, f.values["key"], f.values["found"]) for f in told] == [
        (FindingCode.NUMBER_UNUSABLE, f"{architecture}.{name}", None)
    ]


@pytest.mark.parametrize(
    ("groups", "used", "is_good"),
    [(2, 1, True), (4, 2, True), (2, None, False), (2, 0, False), (2, 2, False)],
)
def test_groups_of_experts_are_used_in_part(
    groups: int, used: int | None, is_good: bool, tmp_path: Path
) -> None:
    draft = Draft.of(tiny_model("deepseek2"))
    draft.put_number("deepseek2.expert_group_count", groups)
    if used is not None:
        draft.put_number("deepseek2.expert_group_used_count", used)
    assert inspect_path(written(draft, tmp_path)).loadable is is_good


def test_attention_scaled_by_length_needs_the_length(tmp_path: Path) -> None:
    draft = Draft.of(tiny_model("deepseek2"))
    draft.put(scalar("deepseek2.attention.temperature_scale", ValueType.FLOAT32, 0.1))
    (told,) = errors(inspect_path(written(draft, tmp_path)))
    assert told.values["key"] == "deepseek2.attention.temperature_length"
    draft.put_number("deepseek2.attention.temperature_length", 8192)
    assert inspect_path(written(draft, tmp_path)).loadable


@pytest.mark.parametrize(("architecture", "name", "number", "right"), MENDED)
def test_a_width_the_tensors_contradict_is_mended_at_load(
    architecture: str, name: str, number: int, right: int, tmp_path: Path
) -> None:
    inspected = inspect_path(with_number(architecture, name, number, tmp_path))
    assert inspected.loadable
    assert dict(inspected.facts.kv_overrides) == {f"{architecture}.{name}": right}


@pytest.mark.parametrize(("architecture", "name", "right"), MENDED_ALTHOUGH_GONE)
def test_a_width_that_is_not_there_is_given_at_load(
    architecture: str, name: str, right: int, tmp_path: Path
) -> None:
    draft = Draft.of(tiny_model(architecture))
    draft.drop(f"{architecture}.{name}")
    inspected = inspect_path(written(draft, tmp_path))
    assert inspected.loadable
    assert dict(inspected.facts.kv_overrides) == {f"{architecture}.{name}": right}


def test_two_numbers_that_contradict_each_other_are_not_guessed(tmp_path: Path) -> None:
    draft = Draft.of(tiny_model("qwen3moe"))
    draft.put_number("qwen3moe.attention.head_count_kv", 1)
    draft.put_number("qwen3moe.attention.key_length", 8)
    assert inspect_path(written(draft, tmp_path)).facts.kv_overrides == ()


def test_heads_share_the_width_of_the_model_evenly_where_none_is_stated(tmp_path: Path) -> None:
    draft = Draft.of(tiny_model("qwen2moe"))
    draft.drop("qwen2moe.attention.key_length", "qwen2moe.attention.value_length")
    assert inspect_path(written(draft, tmp_path)).loadable
    draft.put_number("qwen2moe.attention.head_count", 6)
    told = [f.values for f in errors(inspect_path(written(draft, tmp_path)))]
    assert ("qwen2moe.attention.head_count", 64) in [(values["key"], values.get("whole")) for values in told]


@pytest.mark.parametrize("type_id", [1, 30])
@pytest.mark.parametrize(
    ("architecture", "name"),
    [
        ("llama", "blk.0.attn_norm.weight"),
        ("llama", "output_norm.weight"),
        ("gpt-oss", "blk.1.ffn_up_exps.bias"),
        ("gpt-oss", "blk.0.attn_sinks.weight"),
        ("phimoe", "output.bias"),
        ("qwen3next", "blk.0.ssm_conv1d.weight"),
        ("qwen3next", "blk.0.ssm_a"),
        ("deepseek4", "blk.0.hc_attn_scale.weight"),
        ("glm-dsa", "blk.0.indexer.k_norm.weight"),
        ("minimax-m2", "blk.0.exp_probs_b.bias"),
    ],
)
def test_numbers_that_are_added_one_by_one_must_be_f32(
    architecture: str, name: str, type_id: int, tmp_path: Path
) -> None:
    (told,) = errors(inspect_path(with_type(architecture, name, type_id, tmp_path)))
    assert (told.values["tensor"], told.values["reason"]) == (name, "not-f32")


def test_a_router_of_one_row_may_be_f16(tmp_path: Path) -> None:
    file = with_type("qwen2moe", "blk.0.ffn_gate_inp_shexp.weight", 1, tmp_path)
    assert errors(inspect_path(file)) == []


@pytest.mark.engine
@pytest.mark.parametrize(
    ("architecture", "name", "number", "right"),
    [case for case in MENDED if case[1] in ("rope.dimension_count", "ssm.inner_size")],
)
def test_a_mended_width_loads_and_answers(
    architecture: str, name: str, number: int, right: int, tmp_path: Path
) -> None:
    inspected = inspect_path(with_number(architecture, name, number, tmp_path))
    assert answers(inspected)
    assert inspected.facts.kv_overrides[0][1] == right


@pytest.mark.engine
def test_a_number_a_person_gives_in_place_of_an_absurd_one_loads_and_answers(tmp_path: Path) -> None:
    file = with_number("qwen3next", "rope.dimension_count", 0, tmp_path)
    inspected = inspect_path(file, RepairChoice(chosen=(("qwen3next.rope.dimension_count", 8),)))
    assert inspected.loadable
    assert answers(inspected)


def answers(inspected: InspectedFile) -> bool:
    options = replace(OPTIONS, kv_overrides=inspected.facts.kv_overrides)
    with BlockingEngine(WORKER) as engine:
        engine.load(inspected.facts.path, options)
        *_, last = engine.generate([ChatMessage("user", "hello there")], GREEDY)
    return isinstance(last, Finished) and last.timings.predicted_tokens == GREEDY.max_tokens


def with_type(architecture: str, name: str, type_id: int, tmp_path: Path) -> Path:
    """Write a model with one tensor as 16-bit numbers, all zero."""
    model = tiny_model(architecture)
    tensors = [
        replace(tensor, type_id=type_id, content=bytes(len(tensor.content) // 2))
        if tensor.name == name
        else tensor
        for tensor in model.tensors
    ]
    assert tensors != list(model.tensors)
    return written(Draft.of(replace(model, tensors=tuple(tensors))), tmp_path)
