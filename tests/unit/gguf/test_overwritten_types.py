"""A hex editor overwrote the type of a count: the reader finds the next key all the same."""

from pathlib import Path

import pytest

from app.gguf.key_types import OverwrittenType
from app.gguf.reader import GgufError, read_header
from tests.builders import array, moe_model, u32, write_gguf

KEY = "qwen3moe.expert_count"


def with_type(tmp_path: Path, type_id: int, key: str = KEY) -> Path:
    """Return a sound MoE of 8 experts in whose header the type of `key` was overwritten."""
    file = write_gguf(tmp_path / "m.gguf", *moe_model("qwen3moe", experts=8))
    content = bytearray(file.read_bytes())
    at = content.index(key.encode()) + len(key)
    assert content[at : at + 4] == b"\x04\0\0\0"
    content[at : at + 4] = type_id.to_bytes(4, "little")
    file.write_bytes(content)
    return file


@pytest.mark.parametrize("type_id", [0, 1, 2, 3, 7, 8, 9, 10, 11, 12, 13, 16, 64, 128, 384, 2**32 - 1])
def test_a_count_behind_an_overwritten_type_is_read_as_it_was_meant(tmp_path: Path, type_id: int) -> None:
    sound = read_header(write_gguf(tmp_path / "sound.gguf", *moe_model("qwen3moe", experts=8)))
    file = with_type(tmp_path, type_id)
    header = read_header(file)
    offset = file.read_bytes().index(KEY.encode()) + len(KEY)
    assert header.overwritten_types == (OverwrittenType(KEY, type_id, offset, 8),)
    assert (header.keys, header.tensors) == (sound.keys, sound.tensors)


@pytest.mark.parametrize("type_id", [5, 6])
def test_a_type_of_the_same_width_is_taken_at_its_word(tmp_path: Path, type_id: int) -> None:
    header = read_header(with_type(tmp_path, type_id))
    assert header.overwritten_types == ()
    assert header.key_types[KEY] == {5: "i32", 6: "f32"}[type_id]


def test_only_counts_are_read_again(tmp_path: Path) -> None:
    keys, tensors = moe_model("qwen3moe")
    keys["general.some_value"] = u32(3)
    file = write_gguf(tmp_path / "m.gguf", keys, tensors)
    content = file.read_bytes()
    file.write_bytes(content.replace(b"some_value\x04", b"some_value\x10"))
    with pytest.raises(GgufError) as caught:
        read_header(file)
    assert caught.value.reason == "value-type"
    assert caught.value.values["key"] == "general.some_value"


def test_arrays_per_layer_and_other_widths_of_sound_files_stay_as_they_are(tmp_path: Path) -> None:
    keys, tensors = moe_model("qwen3moe", layers=2)
    keys["qwen3moe.attention.head_count"] = array("i32", [4, 4])
    keys["qwen3moe.feed_forward_length"] = array("u32", [32, 32])
    header = read_header(write_gguf(tmp_path / "m.gguf", keys, tensors))
    assert header.overwritten_types == ()
    assert header.keys["qwen3moe.attention.head_count"] == (4, 4)


def test_a_header_cut_right_behind_the_overwritten_type_is_refused_for_the_type(tmp_path: Path) -> None:
    file = with_type(tmp_path, 16)
    content = file.read_bytes()
    file.write_bytes(content[: content.index(KEY.encode()) + len(KEY) + 6])
    with pytest.raises(GgufError) as caught:
        read_header(file)
    assert caught.value.reason == "value-type"
