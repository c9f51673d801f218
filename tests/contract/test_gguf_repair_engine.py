"""What `repair.py` gives the real engine makes it take files it otherwise refuses or dies of."""

from pathlib import Path

import pytest

from app.engine.dry_run import engine_accepts
from app.findings import FindingCode
from app.gguf.inspect_file import inspect_path
from app.gguf.reader import read_header

pytestmark = pytest.mark.engine

COUNT = b"llama.expert_count"
USED = b"llama.expert_used_count"


def _header_only(source: Path, target: Path, old: bytes, new: bytes) -> Path:
    """Copy the header with one change; the weights are a hole of the same size."""
    header = read_header(source)
    with source.open("rb") as file:
        content = file.read(header.data_offset)
    assert content.count(old) == 1
    with target.open("wb") as file:
        file.write(content.replace(old, new))
        file.truncate(header.file_size)
    return target


@pytest.mark.parametrize(
    ("new", "code"),
    [
        (b"other.expert_count\x04\0\0\0\x08\0\0\0", FindingCode.EXPERT_COUNT_MISSING),
        (COUNT + b"\x04\0\0\0\0\0\0\0", FindingCode.EXPERT_COUNT_MISSING),
        (COUNT + b"\x04\0\0\0\x10\0\0\0", FindingCode.EXPERT_COUNT_MISMATCH),
        (COUNT + b"\x04\0\0\0\xf8\xff\xff\xff", FindingCode.EXPERT_COUNT_INVALID),
    ],
)
def test_a_wrong_expert_count_is_repaired_at_load(
    moe_model: Path, tmp_path: Path, new: bytes, code: FindingCode
) -> None:
    file = _header_only(moe_model, tmp_path / "m.gguf", COUNT + b"\x04\0\0\0\x08\0\0\0", new)
    inspected = inspect_path(file)
    assert [finding.code for finding in inspected.findings] == [code]
    assert inspected.loadable
    assert engine_accepts(file)[0] is not True
    assert engine_accepts(file, inspected.facts.kv_overrides)[0] is True


def test_a_missing_used_count_is_not_repaired_by_an_override(moe_model: Path, tmp_path: Path) -> None:
    file = _header_only(moe_model, tmp_path / "m.gguf", USED, b"other.expert_used_count")
    assert not inspect_path(file).loadable
    assert engine_accepts(file, (("llama.expert_used_count", 2),))[0] is not True
