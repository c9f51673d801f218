"""Foreign bytes: only the one named error leaves the reader, and nothing leaves `inspect_path`."""

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.findings import Finding
from app.gguf.describe import describe
from app.gguf.inspect_file import inspect_path
from app.gguf.kind import file_kind
from app.gguf.metadata import Metadata
from app.gguf.reader import GgufError, read_header
from app.gguf.shards import find_shards, part_name, shard_findings
from app.gguf.tensor_classes import merged_experts, old_layout_expert, tensor_class
from app.gguf.validate import validate
from app.texts import Texts
from tests.builders import Keys, Tensor, gguf_bytes, gguf_header, moe_model, text, u32, write_gguf
from tests.gguf_strategies import any_architecture_keys, any_tensors

SOUND = gguf_bytes(*moe_model("deepseek2", layers=2, leading_dense=1, shared=True))
CHEAP = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@CHEAP
@given(position=st.integers(0, 3_600), replacement=st.binary(min_size=1, max_size=9), cut=st.booleans())
def test_a_changed_byte_anywhere_is_a_header_or_the_named_error(
    tmp_path: Path, position: int, replacement: bytes, cut: bool
) -> None:
    changed = SOUND[:position] + replacement + SOUND[position + len(replacement) :]
    file = tmp_path / "m.gguf"
    file.write_bytes(changed[: position + 20] if cut else changed)
    try:
        read_header(file)
    except GgufError as reason:
        assert reason.reason
    _say_everything(inspect_path(file).findings)


@CHEAP
@given(content=st.binary(max_size=400))
def test_any_bytes_behind_the_magic_are_a_header_or_the_named_error(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "m.gguf"
    for start in (b"", b"GGUF", b"GGUF\x03\0\0\0", b"GGUF\x03\0\0\0" + bytes(8) + b"\x03" + bytes(7)):
        file.write_bytes(start + content)
        try:
            read_header(file)
        except GgufError as reason:
            assert reason.reason
        _say_everything(inspect_path(file).findings)


@CHEAP
@given(values=any_architecture_keys(), tensors=any_tensors(), seed=st.integers(0, 5))
def test_any_metadata_is_described_and_judged_without_an_error(
    tmp_path: Path, values: Keys, tensors: list[Tensor], seed: int
) -> None:
    arch = random.Random(seed).choice(["qwen3moe", "llama4", "gemma3", "clip", "whisper", "x"])
    keys: Keys = {"general.architecture": text(arch)}
    keys |= {f"{arch}.{name}": value for name, value in values.items()}
    file = tmp_path / "m.gguf"
    file.write_bytes(_table_only(keys, tensors))
    header = read_header(file)
    facts = describe([header], [file])
    assert facts.expert_count >= 0
    assert len(facts.attention.head_count_kv) <= 512
    _say_everything(validate([header], facts))
    _say_everything(inspect_path(file).findings)


@CHEAP
@given(
    number=st.integers(-3, 70_000),
    count=st.integers(-3, 70_000),
    name=st.text(max_size=12),
    part=st.integers(0, 9),
)
def test_any_split_keys_and_names_make_a_set(
    tmp_path: Path, number: int, count: int, name: str, part: int
) -> None:
    keys = {"split.no": u32(number % 2**32), "split.count": u32(count % 2**32)}
    file = write_gguf(tmp_path / f"m-{part:05d}-of-00003.gguf", keys)
    header = read_header(file)
    shards = find_shards(header)
    assert file in shards.files
    _say_everything(shard_findings(shards, [header]))
    part_name(name)
    assert inspect_path(file).facts.files


@CHEAP
@given(name=st.text(max_size=40), shape=st.lists(st.integers(0, 2**64 - 1), max_size=6).map(tuple))
def test_any_tensor_name_has_a_class(name: str, shape: tuple[int, ...]) -> None:
    for full in (name, f"blk.{name}", f"blk.0.{name}", f"blk.0.ffn_{name}"):
        assert tensor_class(full).value
        merged_experts(full, shape)
        old_layout_expert(full)


@pytest.mark.parametrize("type_name", ["model", "mmproj", "adapter", "imatrix", "☃"])
def test_a_file_of_keys_alone_has_a_kind(tmp_path: Path, type_name: str) -> None:
    header = read_header(write_gguf(tmp_path / "m.gguf", {"general.type": text(type_name)}))
    assert file_kind(Metadata(header.keys), header.tensors).value


def _table_only(keys: Keys, tensors: list[Tensor]) -> bytes:
    return gguf_header(keys, tensors)[0]  # absurd shapes have no data that could be written


def _say_everything(findings: tuple[Finding, ...] | list[Finding]) -> None:
    for language in ("en", "zh_CN"):
        for finding in findings:
            assert Texts(language).finding_line(finding)
