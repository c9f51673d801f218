"""One engine in the test's own process; files it would die of go through a child instead."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.engine.llama.backend import LlamaBackend
from app.engine.llama.bindings import Library, load_library


@pytest.fixture
def backend() -> Iterator[LlamaBackend]:
    """The built-in engine; its model is freed afterwards."""
    engine = LlamaBackend()
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def library() -> Library:
    """The engine's library alone."""
    return load_library()


@pytest.fixture
def without_expert_count(exact_twin: Path, tmp_path: Path) -> Path:
    """The exact twin as a converter would write it that forgets `llama.expert_count`."""
    broken = tmp_path / "混合 专家.gguf"
    shutil.copyfile(exact_twin, broken)
    key = b"llama.expert_count"
    with broken.open("r+b") as file:
        head = file.read(4 * 1024**2)
        file.seek(head.index(key))
        file.write(b"llama.expert_c0unt")
    return broken
