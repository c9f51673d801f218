"""The key-values of a file as text, and the worst files that claim to have some."""

import struct
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.gguf.metadata_rows import (
    MAX_KEPT_CHARS,
    MAX_VALUE_CHARS,
    SHOWN_ELEMENTS,
    MetadataRow,
    metadata_rows,
)
from app.gguf.reader import MAX_ELEMENTS, GgufError
from tests.builders import (
    CHAT_TEMPLATE,
    Keys,
    array,
    f32,
    flag,
    gguf_bytes,
    i32,
    moe_model,
    text,
    u32,
    write_gguf,
)
from tests.gguf_strategies import any_architecture_keys

SOUND = gguf_bytes(*moe_model("deepseek2", layers=2, leading_dense=1, shared=True))
CHEAP = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def rows_of(path: Path, keys: Keys) -> dict[str, MetadataRow]:
    """Return the rows of a file with these keys, by key."""
    path.write_bytes(gguf_bytes(keys, []))
    return {row.key: row for row in metadata_rows(path)}


def test_every_kind_of_value_is_shown_as_it_is(tmp_path: Path) -> None:
    keys = {
        "a.count": u32(8),
        "a.base": f32(1_000_000.0),
        "a.eps": f32(1e-6),
        "a.bias": i32(-3),
        "a.flag": flag(True),
        "a.name": text("名字 “x”\n"),
        "a.list": array("i32", [1, -2, 3]),
        "a.words": array("str", ["a", 'b"', "丙"]),
        "a.none": array("u32", []),
    }
    rows = rows_of(tmp_path / "m.gguf", keys)
    assert {key: (row.type_name, row.value, row.element_count) for key, row in rows.items()} == {
        "a.count": ("u32", "8", None),
        "a.base": ("f32", "1000000", None),
        "a.eps": ("f32", "1e-06", None),
        "a.bias": ("i32", "-3", None),
        "a.flag": ("bool", "True", None),
        "a.name": ("str", "名字 “x”\n", None),
        "a.list": ("i32[]", "[1, -2, 3]", 3),
        "a.words": ("str[]", '["a", "b\\"", "丙"]', 3),
        "a.none": ("u32[]", "[]", 0),
    }
    assert not any(row.is_cut for row in rows.values())


def test_the_offset_is_where_the_value_lies(tmp_path: Path) -> None:
    file = tmp_path / "m.gguf"
    write_gguf(file, *moe_model())
    content = file.read_bytes()
    rows = {row.key: row for row in metadata_rows(file)}
    count, template = rows["qwen3moe.expert_count"], rows["tokenizer.chat_template"]
    assert struct.unpack_from("<I", content, count.offset_bytes) == (16,)
    assert content[template.offset_bytes + 8 :].startswith(CHAT_TEMPLATE.encode())
    tokens = rows["tokenizer.ggml.tokens"]
    assert content[tokens.offset_bytes + 8 :].startswith(b"tok0")


def test_a_long_array_shows_its_first_elements_and_how_many_there_are(tmp_path: Path) -> None:
    keys = {"a.tokens": array("str", ["x"] * 5000), "a.types": array("i32", [7] * 5000), "a.last": u32(1)}
    rows = rows_of(tmp_path / "m.gguf", keys)
    assert rows["a.tokens"].element_count == rows["a.types"].element_count == 5000
    assert rows["a.tokens"].value == "[" + '"x", ' * SHOWN_ELEMENTS + "…]"
    assert rows["a.types"].value == "[" + "7, " * SHOWN_ELEMENTS + "…]"
    assert rows["a.tokens"].is_cut
    assert rows["a.types"].is_cut
    assert rows["a.last"].value == "1"


def test_a_long_text_is_cut_and_says_so(tmp_path: Path) -> None:
    keys = {"a.text": text("é" * (MAX_VALUE_CHARS + 5)), "a.last": u32(1)}
    rows = rows_of(tmp_path / "m.gguf", keys)
    assert rows["a.text"].value == "é" * MAX_VALUE_CHARS
    assert rows["a.text"].is_cut
    assert rows["a.last"].value == "1"


def test_a_key_that_comes_twice_is_shown_twice(tmp_path: Path) -> None:
    file = tmp_path / "m.gguf"
    once = gguf_bytes({"a.b": u32(1), "a.c": u32(2)}, [])
    file.write_bytes(once.replace(b"a.c", b"a.b"))
    assert [(row.key, row.value) for row in metadata_rows(file)] == [("a.b", "1"), ("a.b", "2")]


def test_a_file_full_of_long_texts_takes_little_memory(tmp_path: Path) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(gguf_bytes({f"a.{n}": text("x" * 100_000) for n in range(300)}, []))
    tracemalloc.start()
    rows = metadata_rows(file)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sum(len(row.value) for row in rows) <= MAX_KEPT_CHARS
    assert peak < 20 * 1024**2
    assert len(rows) == 300
    assert rows[-1].is_cut


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 2**40), "bad-count"),
        (b"GGUF" + struct.pack("<IQQ", 9, 0, 1), "version"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 2**40), "bad-length"),
        (b"GGUF" + struct.pack("<IQQQ1sIIQ", 3, 0, 1, 1, b"k", 9, 0, MAX_ELEMENTS + 1), "bad-length"),
        (b"GGUF" + struct.pack("<IQQQ1sIIQ", 3, 0, 1, 1, b"k", 9, 9, 1), "nested-array"),
        (b"GGUF" + struct.pack("<IQQQ1sI", 3, 0, 1, 1, b"k", 77), "value-type"),
        (b"GGUF" + struct.pack("<IQQQ1sI", 3, 0, 1, 1, b"k", 8), "truncated"),
        (b"<html>", "not-gguf"),
        (b"", "truncated"),
    ],
)
def test_what_cannot_be_read_is_the_named_error(tmp_path: Path, content: bytes, reason: str) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(content)
    with pytest.raises(GgufError) as raised:
        metadata_rows(file)
    assert raised.value.reason == reason


def test_a_file_that_is_not_there_or_a_folder_is_the_named_error(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.gguf"):
        with pytest.raises(GgufError):
            metadata_rows(path)


@CHEAP
@given(position=st.integers(0, 3_600), replacement=st.binary(min_size=1, max_size=9), cut=st.booleans())
def test_a_changed_byte_anywhere_gives_rows_or_the_named_error(
    tmp_path: Path, position: int, replacement: bytes, cut: bool
) -> None:
    changed = SOUND[:position] + replacement + SOUND[position + len(replacement) :]
    file = tmp_path / "m.gguf"
    file.write_bytes(changed[: position + 20] if cut else changed)
    _read(file)


@CHEAP
@given(content=st.binary(max_size=400), keys=any_architecture_keys())
def test_any_bytes_give_rows_or_the_named_error(tmp_path: Path, content: bytes, keys: Keys) -> None:
    file = tmp_path / "m.gguf"
    sound = gguf_bytes(keys, [])
    for start in (b"", b"GGUF", b"GGUF\x03\0\0\0" + bytes(8) + b"\x03" + bytes(7), sound):
        file.write_bytes(start + content)
        _read(file)
    file.write_bytes(sound)
    assert [row.key for row in metadata_rows(file)] == list(keys)


def _read(file: Path) -> None:
    try:
        rows = metadata_rows(file)
    except GgufError as reason:
        assert reason.reason
    else:
        assert all(row.offset_bytes <= file.stat().st_size for row in rows)
