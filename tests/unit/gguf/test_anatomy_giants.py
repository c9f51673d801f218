"""Active parameters as the makers of models give them, from headers of true size."""

import math
from pathlib import Path

import pytest

from app.gguf.anatomy import anatomy_of
from app.gguf.inspect_file import inspect_path
from tests.models.giants import GIANTS, Giant, giant_named, write_giant

WITHOUT_EMBEDDING = {
    "gpt-oss-20b": 3.6,
    "gpt-oss-120b": 5.1,
    "DeepSeek-V2-Lite": 2.4,
    "DeepSeek-V3-R1": 37,
    "DeepSeek-V4-Flash": 13,
    "Kimi-K2": 32,
    "Qwen3-235B-A22B": 22,
    "Qwen2-57B-A14B": 14,
    "MiniMax-M2": 10,
    "GLM-4.5-Air": 12,
}
"""Billions, from the cards of those models that count as we do."""

WITH_EMBEDDING = {
    "Mixtral-8x7B": 12.9,
    "Llama-4-Scout": 17,
    "Qwen3-30B-A3B": 3.3,
    "Qwen1.5-MoE-A2.7B": 2.7,
    "OLMoE-1B-7B": 1.3,
    "Phi-3.5-MoE": 6.6,
}
"""Of those that add the whole token embedding."""


def written(folder: Path, name: str) -> Path:
    """Write a giant and return its file."""
    return write_giant(giant_named(name), folder)[0]


def is_as_published(parameters: int, published: float) -> bool:
    """Say whether a count is the published one, which is rounded or cut after its last digit."""
    text = str(published)
    last_digit = 10.0 ** -(len(text.split(".")[1]) if "." in text else 0)
    return abs(parameters / 1e9 - published) < last_digit


@pytest.mark.parametrize("name", WITHOUT_EMBEDDING)
def test_active_parameters_are_those_on_the_card(tmp_path: Path, name: str) -> None:
    active = anatomy_of(inspect_path(written(tmp_path, name)).facts).active_parameter_count
    assert active is not None
    assert is_as_published(active, WITHOUT_EMBEDDING[name])


@pytest.mark.parametrize("name", WITH_EMBEDDING)
def test_with_the_embedding_they_are_those_of_other_cards(tmp_path: Path, name: str) -> None:
    facts = inspect_path(written(tmp_path, name)).facts
    embedding = next(math.prod(t.shape) for t in facts.tensors if t.name == "token_embd.weight")
    active = anatomy_of(facts).active_parameter_count
    assert active is not None
    assert is_as_published(active + embedding, WITH_EMBEDDING[name])


@pytest.mark.parametrize("giant", GIANTS, ids=lambda giant: giant.name)
def test_the_bytes_of_all_experts_are_the_experts_of_all_layers(tmp_path: Path, giant: Giant) -> None:
    facts = inspect_path(write_giant(giant, tmp_path)[0]).facts
    anatomy = anatomy_of(facts)
    assert sum(layer.routed_bytes for layer in anatomy.expert_layers) == giant.expert_bytes
    for layer in anatomy.expert_layers:
        assert layer.expert_count * layer.expert_bytes == layer.routed_bytes
    assert anatomy.expert_share == pytest.approx(giant.expert_bytes / giant.weight_bytes)
    types = [share for shares in anatomy.types_by_class.values() for share in shares]
    assert sum(share.size_bytes for share in types) == giant.weight_bytes
    assert anatomy.router_types == ("F32",)
    assert anatomy.bytes_per_token is not None
    assert 0 < anatomy.bytes_per_token < giant.weight_bytes / 3
