"""Foreign bytes, seconds of them in every run: seeds, changed entries, and inputs that seek new lines."""

import importlib.util
import random
import time
import tracemalloc
from functools import cache
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz import run, seeds, structure
from tests.fuzz.targets import PART_SEPARATOR, TARGETS

SECONDS_EACH: Final = 5
CPU_SECONDS_MAX: Final = 1.0
PEAK_BYTES_MAX: Final = 50 * 1024**2
EVERY: Final = pytest.mark.parametrize("name", TARGETS)


@cache
def all_seeds() -> tuple[bytes, ...]:
    """Return them, made once."""
    return (*seeds.headers(), *seeds.parts())


@cache
def stock() -> tuple[structure.Pieces, ...]:
    """Return the seeds that can be cut, in pieces."""
    return tuple(pieces for pieces in map(structure.cut, all_seeds()) if pieces is not None)


def feed(name: str, content: bytes) -> None:
    """Feed a target; hold it to its time."""
    began = time.process_time()
    TARGETS[name](content)
    assert time.process_time() - began < CPU_SECONDS_MAX


def test_the_fuzzers_know_all_targets() -> None:
    assert set(run.TARGET_NAMES) == set(TARGETS)


@EVERY
def test_every_seed_passes(name: str) -> None:
    for content in all_seeds():
        feed(name, content)


@EVERY
def test_every_seed_passes_in_little_memory(name: str) -> None:
    tracemalloc.start()
    try:
        for content in all_seeds():
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            TARGETS[name](content)
            assert tracemalloc.get_traced_memory()[1] - before < PEAK_BYTES_MAX
    finally:
        tracemalloc.stop()


@EVERY
@settings(max_examples=250, deadline=None)
@given(seed=st.integers(0, 2**32), cut_at=st.none() | st.floats(0, 1))
def test_changed_entries_pass(name: str, seed: int, cut_at: float | None) -> None:
    choose = random.Random(seed)
    content = structure.changed(choose.choice(all_seeds()), choose, stock())
    feed(name, content if cut_at is None else content[: int(len(content) * cut_at)])


@settings(max_examples=250, deadline=None)
@given(seed=st.integers(0, 2**32), count=st.integers(1, 8))
def test_any_headers_as_parts_of_one_model_pass(seed: int, count: int) -> None:
    choose = random.Random(seed)
    parts = [structure.changed(choose.choice(all_seeds()), choose, stock()) for _ in range(count)]
    feed("shards", PART_SEPARATOR.join(parts))


def test_sound_seeds_are_cut_and_joined_without_a_change() -> None:
    cuttable = [
        (pieces, content) for content in all_seeds() if (pieces := structure.cut(content)) is not None
    ]
    assert len(cuttable) > 50
    assert all(pieces.joined() == content for pieces, content in cuttable)


@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="needs the extra `fuzz` (Linux)")
@EVERY
def test_inputs_that_seek_new_lines_pass(name: str, tmp_path: Path) -> None:
    outcome = run.run_target(name, tmp_path, [f"-max_total_time={SECONDS_EACH}"])
    assert outcome.complaint == ""
    assert outcome.executions > 500
