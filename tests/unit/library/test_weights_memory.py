"""Weights are looked at once, until their file changes."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from app.findings import FindingCode
from app.gguf.facts import ModelFacts
from app.gguf.inspect_file import inspect_path
from app.gguf.reader import read_header
from app.library.weights_memory import WeightsMemory
from tests.models.tiny import write_tiny


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_tiny("llama", tmp_path / "m.gguf")


def facts_of(file: Path) -> ModelFacts:
    return inspect_path(file).facts


def never() -> bool:
    return False


def after(calls: int) -> Callable[[], bool]:
    """Return what says True from that call on."""
    asked = iter(range(1000_000))
    return lambda: next(asked) >= calls


def test_a_file_is_sampled_once(file: Path) -> None:
    memory, facts = WeightsMemory(), facts_of(file)
    assert memory.known(facts) is None
    first = memory.sample(facts)
    assert first is not None and not first.is_full and first.findings == ()
    assert memory.sample(facts) is first
    assert memory.known(facts) is first


def test_a_file_that_changed_is_looked_at_anew(file: Path) -> None:
    memory, facts = WeightsMemory(), facts_of(file)
    assert memory.sample(facts) is not None
    start = read_header(file).data_offset
    tensor = next(tensor for tensor in facts.tensors if tensor.name == "output_norm.weight")
    with file.open("r+b") as stream:
        stream.seek(start + tensor.offset_bytes)
        stream.write(b"\x00\x00\xc0\x7f" * 4)
    os.utime(file, ns=(1, 1))
    found = memory.sample(facts)
    assert found is not None
    assert [finding.code for finding in found.findings] == [FindingCode.WEIGHTS_NOT_FINITE]


def test_all_weights_replace_the_sample(file: Path) -> None:
    memory, facts = WeightsMemory(), facts_of(file)
    memory.sample(facts)
    told: list[float] = []
    full = memory.check_all(facts, told.append, never)
    assert full is not None and full.is_full
    assert told[-1] == 1.0
    assert memory.sample(facts) is full


def test_what_was_given_up_is_not_remembered(file: Path) -> None:
    memory, facts = WeightsMemory(), facts_of(file)
    assert memory.check_all(facts, lambda _: None, after(3)) is None
    assert memory.known(facts) is None


def test_a_file_that_is_gone_is_no_news_of_its_weights(file: Path) -> None:
    memory, facts = WeightsMemory(), facts_of(file)
    file.unlink()
    assert memory.sample(facts) is None


def test_a_file_without_weights_has_none_to_look_at(file: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.gguf"
    page.write_text("<html>")
    assert WeightsMemory().sample(facts_of(page)) is None
