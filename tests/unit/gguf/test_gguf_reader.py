"""The header reader: what it keeps, what it skips, and how it fails."""

import struct
from pathlib import Path

import pytest

from app.gguf.reader import GgufError, SkippedValue, read_header
from tests.builders import (
    Keys,
    Tensor,
    array,
    dense_model,
    f32,
    flag,
    gguf_bytes,
    gguf_header,
    i32,
    model_keys,
    moe_model,
    raw,
    text,
    u16,
    u32,
    write_gguf,
)


@pytest.mark.parametrize("version", [2, 3])
def test_versions_two_and_three_are_read(tmp_path: Path, version: int) -> None:
    file = write_gguf(tmp_path / "m.gguf", *moe_model(), version=version)
    header = read_header(file)
    assert (header.version, len(header.tensors)) == (version, 35)
    assert header.file_size == file.stat().st_size
    assert header.data_offset % header.alignment == 0


def test_values_of_every_type_are_kept(tmp_path: Path) -> None:
    keys = {
        "a": u16(7),
        "b": i32(-3),
        "c": f32(0.5),
        "d": flag(True),
        "e": text("魔匣"),
        "f": array("u32", [1, 2, 3]),
        "g": array("str", ["x", "y"]),
        "h": array("bool", [True, False]),
    }
    header = read_header(write_gguf(tmp_path / "m.gguf", keys))
    assert header.keys == {
        "a": 7,
        "b": -3,
        "c": 0.5,
        "d": True,
        "e": "魔匣",
        "f": (1, 2, 3),
        "g": ("x", "y"),
        "h": (True, False),
    }


def test_long_arrays_are_skipped_but_counted_and_the_keys_behind_them_are_read(tmp_path: Path) -> None:
    keys = {
        "tokens": array("str", [f"token {n}" for n in range(100_000)]),
        "scores": array("f32", [0.0] * 100_000),
        "empty": array("str", []),
        "last": text("after"),
    }
    header = read_header(write_gguf(tmp_path / "m.gguf", keys))
    assert header.keys["tokens"] == SkippedValue("str", 100_000)
    assert header.keys["scores"] == SkippedValue("f32", 100_000)
    assert header.keys["empty"] == ()
    assert header.keys["last"] == "after"


def test_strings_across_the_edges_of_a_read_are_whole(tmp_path: Path) -> None:
    lengths = [n * 1_003 % 70_000 for n in range(40)]
    keys: Keys = {f"k{n}": text("x" * length) for n, length in enumerate(lengths)}
    keys["many"] = array("str", ["y" * (n % 5_000) for n in range(500)])
    keys["last"] = u32(9)
    header = read_header(write_gguf(tmp_path / "m.gguf", keys))
    assert [len(str(header.keys[f"k{n}"])) for n in range(40)] == lengths
    assert header.keys["last"] == 9


def test_a_text_too_long_to_keep_is_skipped(tmp_path: Path) -> None:
    keys = {"tokenizer.huggingface.json": text("x" * 3_000_000), "last": u32(1)}
    header = read_header(write_gguf(tmp_path / "m.gguf", keys))
    assert header.keys["tokenizer.huggingface.json"] == SkippedValue("text", 3_000_000)
    assert header.keys["last"] == 1


def test_of_a_duplicate_key_the_first_value_counts_and_the_name_is_noted(tmp_path: Path) -> None:
    again = struct.pack("<II", 4, 5) + struct.pack("<Q", 1) + b"a" + struct.pack("<II", 4, 6)
    header_bytes, _ = gguf_header({"a": raw(again)}, key_count=2)
    file = tmp_path / "m.gguf"
    file.write_bytes(header_bytes)
    header = read_header(file)
    assert header.keys == {"a": 5}
    assert header.duplicate_keys == ("a",)


def test_an_unknown_tensor_type_keeps_the_rest_of_the_table(tmp_path: Path) -> None:
    tensors = [Tensor("a", (32, 2), type_id=200), Tensor("b", (32, 2), "Q8_0")]
    header = read_header(write_gguf(tmp_path / "m.gguf", model_keys(), tensors))
    assert [(t.type_name, t.size_bytes) for t in header.tensors] == [("type-200", None), ("Q8_0", 68)]


def test_a_key_that_is_not_utf8_is_readable(tmp_path: Path) -> None:
    content = gguf_bytes({"good": u32(1), "xx": u32(2)}).replace(b"xx", b"\xff\xfe")
    file = tmp_path / "m.gguf"
    file.write_bytes(content)
    assert read_header(file).keys["good"] == 1


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not-gguf"),
        (b"GG", "not-gguf"),
        (b"<!DOCTYPE html>", "not-gguf"),
        (b"GGUF", "truncated"),
        (b"GGUF" + struct.pack("<I", 3) + b"\0" * 10, "truncated"),
        (b"GGUF" + struct.pack("<IQQ", 1, 0, 0), "version"),
        (b"GGUF" + struct.pack("<IQQ", 4, 0, 0), "version"),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "big-endian"),
        (b"GGUF" + struct.pack("<IQQ", 3, 2**60, 0), "bad-count"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 2**60), "bad-count"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1), "truncated"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 2**40), "bad-length"),
    ],
)
def test_a_file_that_is_no_header_names_its_reason(tmp_path: Path, content: bytes, reason: str) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(content)
    with pytest.raises(GgufError) as failed:
        read_header(file)
    assert failed.value.reason == reason


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (struct.pack("<IQ", 8, 2**62), "bad-length"),
        (struct.pack("<IQ", 8, 2**29), "truncated"),
        (struct.pack("<IIQ", 9, 4, 2**61), "bad-length"),
        (struct.pack("<IIQ", 9, 0, 8 * 10**9), "bad-length"),
        (struct.pack("<IIQ", 9, 8, 10**9), "bad-length"),
        (struct.pack("<IIQ", 9, 8, 10**6), "truncated"),
        (struct.pack("<IIQ", 9, 9, 1) + struct.pack("<IQ", 4, 1) + b"\1\0\0\0", "nested-array"),
        (struct.pack("<II", 99, 0), "value-type"),
        (struct.pack("<IIQ", 9, 99, 1), "value-type"),
    ],
)
def test_a_hostile_value_names_its_reason(tmp_path: Path, value: bytes, reason: str) -> None:
    keys, tensors = dense_model()
    file = write_gguf(tmp_path / "m.gguf", {"evil": raw(value), **keys}, tensors)
    with pytest.raises(GgufError) as failed:
        read_header(file)
    assert failed.value.reason == reason


@pytest.mark.parametrize("alignment", [u32(0), u32(3), text("32")])
def test_an_alignment_that_is_no_power_of_two_is_refused(tmp_path: Path, alignment: object) -> None:
    file = write_gguf(tmp_path / "m.gguf", {"general.alignment": alignment})  # type: ignore[dict-item]  # a Value
    with pytest.raises(GgufError) as failed:
        read_header(file)
    assert failed.value.reason == "alignment"


def test_a_cut_header_says_how_many_bytes_it_needs_at_least(tmp_path: Path) -> None:
    content = gguf_bytes(*moe_model())
    file = tmp_path / "m.gguf"
    file.write_bytes(content[:300])
    with pytest.raises(GgufError) as failed:
        read_header(file)
    assert failed.value.reason == "truncated"
    assert 300 < int(failed.value.values["needed_bytes"]) < len(content)


def test_a_folder_is_no_file_and_not_a_crash(tmp_path: Path) -> None:
    with pytest.raises(GgufError) as failed:
        read_header(tmp_path)
    assert failed.value.reason == "not-a-file"


def test_the_file_is_free_after_reading(tmp_path: Path) -> None:
    file = write_gguf(tmp_path / "m.gguf", *moe_model())
    header = read_header(file)
    file.rename(tmp_path / "renamed.gguf")
    (tmp_path / "renamed.gguf").unlink()
    assert len(header.tensors) == 35


def test_a_short_count_may_be_the_last_of_a_file(tmp_path: Path) -> None:
    seven = raw(struct.pack("<IB", 0, 7))  # u8
    header = read_header(write_gguf(tmp_path / "m.gguf", {"x.block_count": seven}))
    assert header.keys == {"x.block_count": 7}
