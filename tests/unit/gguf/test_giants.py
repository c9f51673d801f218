"""Real models at their true size: the header alone says what they are, to the byte."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.gguf.facts import FileKind, ModelFacts
from app.gguf.inspect_file import InspectedFile, inspect_path
from tests.models.giants import GIANTS, Giant, giant_named, write_giant

FLASH = giant_named("DeepSeek-V4-Flash")


@dataclass(frozen=True)
class Subject:
    """One giant and what was found in its file."""

    giant: Giant
    inspected: InspectedFile

    @property
    def facts(self) -> ModelFacts:
        """The facts."""
        return self.inspected.facts


@pytest.fixture(scope="module", params=GIANTS, ids=lambda giant: giant.name)
def subject(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Subject]:
    giant = request.param
    (file,) = write_giant(giant, tmp_path_factory.mktemp("giant"))
    yield Subject(giant, inspect_path(file))
    file.unlink()


def test_it_is_a_sound_model_of_its_true_size(subject: Subject) -> None:
    assert subject.inspected.findings == ()
    facts = subject.facts
    assert (facts.kind, facts.architecture) == (FileKind.MODEL, subject.giant.architecture)
    assert facts.kv_overrides == ()
    assert facts.size_bytes > subject.giant.weight_bytes


def test_its_experts_are_counted(subject: Subject) -> None:
    dimensions, facts = subject.giant.dimensions, subject.facts
    assert (facts.expert_count, facts.expert_used_count, facts.expert_shared_count) == (
        dimensions.experts,
        dimensions.used,
        subject.giant.shared,
    )


def test_its_layers_are_trunk_prediction_and_leading_dense_ones(subject: Subject) -> None:
    dimensions, facts = subject.giant.dimensions, subject.facts
    assert (facts.trunk_layers, facts.mtp_layers) == (dimensions.layers, dimensions.mtp_layers)
    assert [layer.index for layer in facts.layers] == list(range(dimensions.blocks))
    dense = subject.giant.leading_dense
    assert [layer.index for layer in facts.expert_layers] == list(range(dense, dimensions.blocks))
    assert sum(layer.is_mtp for layer in facts.layers) == dimensions.mtp_layers


def test_its_parameters_and_bytes_are_those_the_engine_counts(subject: Subject) -> None:
    giant, facts = subject.giant, subject.facts
    assert facts.parameter_count == giant.parameters
    assert sum(tensor.size_bytes or 0 for tensor in facts.tensors) == giant.weight_bytes
    assert facts.routed_expert_bytes == giant.expert_bytes


def test_what_sizes_its_cache_is_known(subject: Subject) -> None:
    dimensions, facts = subject.giant.dimensions, subject.facts
    assert facts.attention.kind.value == subject.giant.attention
    assert facts.context_length == dimensions.context
    assert facts.vocabulary_size == dimensions.tokens
    assert facts.embedding_length == dimensions.embedding
    assert len(facts.attention.head_count_kv) == dimensions.blocks


def test_five_parts_are_one_model_whichever_is_opened(tmp_path: Path) -> None:
    parts = write_giant(FLASH, tmp_path, parts=5)
    sizes = [part.stat().st_size for part in parts]
    assert max(sizes) < 1.3 * min(sizes)
    for opened in (parts[0], parts[3]):
        inspected = inspect_path(opened)
        facts = inspected.facts
        assert inspected.findings == ()
        assert facts.files == tuple(parts)
        assert (facts.path, facts.size_bytes) == (parts[0], sum(sizes))
        assert (facts.parameter_count, facts.routed_expert_bytes) == (FLASH.parameters, FLASH.expert_bytes)
        assert (facts.expert_count, facts.trunk_layers) == (256, 43)


def test_a_part_that_is_not_there_is_named(tmp_path: Path) -> None:
    parts = write_giant(FLASH, tmp_path, parts=5)
    parts[2].unlink()
    (finding,) = inspect_path(parts[0]).findings
    assert (finding.code.value, finding.values["missing"]) == ("shard-missing", (parts[2].name,))
