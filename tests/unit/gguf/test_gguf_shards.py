"""Split models: any part leads to all, and a wrong set is told apart from a missing one."""

import shutil
from pathlib import Path

import pytest

from app.findings import FindingCode
from app.gguf.facts import FileKind
from app.gguf.inspect_file import inspect_path
from app.gguf.shards import part_name
from tests.builders import Keys, i32, moe_model, u16, write_gguf, write_shards


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    """Three parts of one model; only the first carries the architecture."""
    return write_shards(tmp_path / "set", "Big", *moe_model("qwen2moe"), cuts=(10, 20))


def test_any_part_leads_to_the_whole_model(parts: list[Path]) -> None:
    for part in parts:
        inspected = inspect_path(part)
        assert inspected.findings == ()
        assert inspected.facts.path == parts[0]
        assert inspected.facts.files == tuple(parts)
        assert inspected.facts.size_bytes == sum(file.stat().st_size for file in parts)
        assert (inspected.facts.tensor_count, inspected.facts.expert_count) == (35, 16)
        assert {tensor.shard for tensor in inspected.facts.tensors} == {0, 1, 2}


@pytest.mark.parametrize("lost", [1, 2])
def test_a_missing_part_is_named(parts: list[Path], lost: int) -> None:
    parts[lost].unlink()
    inspected = inspect_path(parts[0])
    assert [f.code for f in inspected.findings] == [FindingCode.SHARD_MISSING]
    values = inspected.findings[0].values
    assert (values["missing"], values["found"], values["parts"]) == ((parts[lost].name,), 2, 3)
    assert not inspected.loadable


def test_without_the_first_part_the_others_are_only_parts(parts: list[Path]) -> None:
    parts[0].unlink()
    for part in parts[1:]:
        inspected = inspect_path(part)
        assert inspected.facts.kind is FileKind.SPLIT_PART
        assert [f.code for f in inspected.findings] == [FindingCode.SHARD_MISSING]
        assert inspected.findings[0].values["missing"] == (parts[0].name,)


def test_swapped_parts_are_told_by_their_numbers(parts: list[Path], tmp_path: Path) -> None:
    parts[1].rename(tmp_path / "third")
    parts[2].rename(parts[1])
    (tmp_path / "third").rename(parts[2])
    codes = [(f.code, f.values["expected"], f.values["found"]) for f in inspect_path(parts[0]).findings]
    assert codes == [
        (FindingCode.SHARD_MISMATCH, "2/3", "3/3"),
        (FindingCode.SHARD_MISMATCH, "3/3", "2/3"),
    ]


def test_a_copy_of_the_first_part_in_place_of_the_second_is_told(parts: list[Path]) -> None:
    shutil.copy(parts[0], parts[1])
    finding = inspect_path(parts[0]).findings[0]
    assert (finding.code, finding.values["file"]) == (FindingCode.SHARD_MISMATCH, parts[1].name)


def test_a_renamed_part_cannot_lead_to_the_others(parts: list[Path]) -> None:
    renamed = parts[0].rename(parts[0].with_name("part1.gguf"))
    assert [f.code for f in inspect_path(renamed).findings] == [FindingCode.SHARD_NAME_INVALID]


def test_a_truncated_part_is_named(parts: list[Path]) -> None:
    content = parts[1].read_bytes()
    parts[1].write_bytes(content[: len(content) // 2])
    finding = inspect_path(parts[2]).findings[0]
    assert (finding.code, finding.values["file"]) == (FindingCode.FILE_INCOMPLETE, parts[1].name)
    assert (finding.values["expected_bytes"], finding.values["actual_bytes"]) == (
        len(content),
        len(content) // 2,
    )


def test_a_web_page_in_place_of_a_part_is_named(parts: list[Path]) -> None:
    parts[1].write_bytes(b"<html>")
    finding = inspect_path(parts[0]).findings[0]
    assert (finding.code, finding.values["file"]) == (FindingCode.NOT_GGUF, parts[1].name)


def test_parts_of_another_model_do_not_add_up(parts: list[Path]) -> None:
    split: Keys = {"split.no": u16(2), "split.count": u16(3), "split.tensors.count": i32(99)}
    write_gguf(parts[2], split)
    finding = inspect_path(parts[0]).findings[0]
    assert (finding.code, finding.values["expected"], finding.values["found"]) == (
        FindingCode.SHARD_MISMATCH,
        "35",
        "20",
    )


def test_a_folder_shows_a_split_model_once_even_without_its_first_part(parts: list[Path]) -> None:
    assert inspect_path(parts[0].parent).facts.path == parts[0]
    parts[0].unlink()
    assert [f.code for f in inspect_path(parts[1].parent).findings] == [FindingCode.SHARD_MISSING]


def test_split_keys_for_a_single_file_are_no_split(tmp_path: Path) -> None:
    keys, tensors = moe_model()
    keys |= {"split.no": u16(0), "split.count": u16(1), "split.tensors.count": i32(len(tensors))}
    assert inspect_path(write_gguf(tmp_path / "any-name.gguf", keys, tensors)).findings == ()


@pytest.mark.parametrize(
    "name",
    ["m-00000-of-00003.gguf", "m-00004-of-00003.gguf", "m-1-of-3.gguf", "-00001-of-00003.gguf", "m.gguf"],
)
def test_other_names_are_no_part_names(name: str) -> None:
    assert part_name(name) is None


def test_the_name_of_a_part_keeps_its_spelling() -> None:
    part = part_name("Big model-00002-of-00003.GGUF")
    assert part is not None
    assert part.name_of(3) == "Big model-00003-of-00003.GGUF"
