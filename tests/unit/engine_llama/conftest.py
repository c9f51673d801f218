"""One engine in the test's own process; files it would die of go through a child instead."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.engine.llama.backend import LlamaBackend
from app.engine.llama.bindings import Library, load_library

HEADER_BYTES = 4 * 1024**2
"""More than the header of any test model."""


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


def patch_header(model: Path, old: bytes, new: bytes) -> None:
    """Replace bytes of a file's header by as many others."""
    assert len(old) == len(new)
    with model.open("r+b") as file:
        position = file.read(HEADER_BYTES).index(old)
        file.seek(position)
        file.write(new)


@pytest.fixture
def with_think_token(exact_twin: Path, tmp_path: Path) -> Path:
    """The exact twin's header, its weights left out, with a control token that marks reasoning."""
    model = tmp_path / "think.gguf"
    with exact_twin.open("rb") as whole:
        model.write_bytes(whole.read(HEADER_BYTES))
    os.truncate(model, exact_twin.stat().st_size)
    patch_header(model, b"<file_sep>", b"<|think|>\n")
    return model


@pytest.fixture
def without_expert_count(exact_twin: Path, tmp_path: Path) -> Path:
    """The exact twin as a converter would write it that forgets `llama.expert_count`."""
    broken = tmp_path / "混合 专家.gguf"
    shutil.copyfile(exact_twin, broken)
    patch_header(broken, b"llama.expert_count", b"llama.expert_c0unt")
    return broken
