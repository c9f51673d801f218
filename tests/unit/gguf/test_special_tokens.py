"""Marks of a vocabulary, found in the file itself; whatever the file holds, in time and in little memory."""

import struct
import time
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.gguf.reader import GgufHeader, SkippedValue, read_header
from app.gguf.special_tokens import (
    ADD_BOS,
    BOS_ID,
    EOM_ID,
    EOS_ID,
    EOT_ID,
    MODEL,
    SpecialTokens,
    special_tokens,
)
from app.gguf.vocabulary import MAX_TOKEN_BYTES, TOKENS, missing_tokens, stored_tokens
from app.paths import resource_path


def header_of(folder: Path, tokens: bytes, count: int, **keys: Any) -> GgufHeader:
    """Return a header whose vocabulary is `tokens` behind twelve other bytes."""
    file = folder / "vocabulary.gguf"
    file.write_bytes(b"twelve bytes" + tokens)
    stored = SkippedValue("str", count, 12)
    return GgufHeader(file, 3, {TOKENS: stored, **keys}, (), (), 32, 0, file.stat().st_size)


def packed(*tokens: bytes) -> bytes:
    return b"".join(struct.pack("<Q", len(token)) + token for token in tokens)


WORDS = (b"<unk>", b"<s>", b"</s>", b"the", b"<|im_end|>", "魔".encode(), b"[INST]", b"<b", b"<two words>")


def found_in(folder: Path, **keys: Any) -> SpecialTokens:
    found = special_tokens(header_of(folder, packed(*WORDS), len(WORDS), **keys))
    assert found is not None
    return found


def test_begin_and_end_come_from_the_keys(tmp_path: Path) -> None:
    found = found_in(tmp_path, **{MODEL: "gpt2", BOS_ID: 3, EOS_ID: 4, EOT_ID: 6, ADD_BOS: True})
    assert (found.bos, found.eos, found.adds_bos) == ("the", "<|im_end|>", True)
    assert found.ending_ids == {4, 6}


def test_without_keys_the_engine_s_defaults_count(tmp_path: Path) -> None:
    found = found_in(tmp_path, **{MODEL: "llama"})
    assert (found.bos, found.eos, found.adds_bos, found.ending_ids) == ("<s>", "</s>", True, frozenset({2}))


def test_an_end_beyond_the_vocabulary_has_no_text(tmp_path: Path) -> None:
    assert found_in(tmp_path, **{EOS_ID: 99}).eos == ""


def test_only_what_looks_like_a_mark_is_one(tmp_path: Path) -> None:
    marks = found_in(tmp_path).marks
    assert marks == {"<unk>": 0, "<s>": 1, "</s>": 2, "<|im_end|>": 4, "[INST]": 6}


def test_what_ends_an_answer_is_known_by_text_or_by_key(tmp_path: Path) -> None:
    found = found_in(tmp_path, **{EOS_ID: 6})
    assert found.ends_answer("<|im_end|>")
    assert found.ends_answer("[INST]")
    assert not found.ends_answer("<unk>")


@pytest.mark.parametrize(
    ("keys", "free"),
    [({}, EOT_ID), ({EOT_ID: 1}, EOM_ID), ({EOT_ID: 1, EOM_ID: 2}, EOT_ID)],
    ids=["none", "eot", "both"],
)
def test_a_key_that_is_in_use_is_taken_last(tmp_path: Path, keys: dict[str, int], free: str) -> None:
    assert found_in(tmp_path, **keys).free_key == free


def test_a_real_vocabulary_is_read_whole() -> None:
    header = read_header(resource_path("selftest", "tiny-moe.gguf"))
    stored = header.keys[TOKENS]
    assert isinstance(stored, SkippedValue)
    assert len(list(stored_tokens(header))) == stored.length


def test_a_vocabulary_of_other_things_than_texts_is_none(tmp_path: Path) -> None:
    header = header_of(tmp_path, bytes(64), 8)
    numbers = replace(header, keys={TOKENS: SkippedValue("i64", 8, 12)})
    assert list(stored_tokens(numbers)) == []


def test_a_file_that_is_gone_gives_no_marks(tmp_path: Path) -> None:
    header = header_of(tmp_path, packed(*WORDS), len(WORDS))
    header.path.unlink()
    assert special_tokens(header) is None
    assert missing_tokens(header, ("<s>",)) is None


def test_tokens_are_found_again_behind_one_of_a_gigabyte(tmp_path: Path) -> None:
    header = header_of(tmp_path, packed(b"<a>") + struct.pack("<Q", 2**30), 3)
    with header.path.open("r+b") as file:
        file.seek(2**30, 2)
        file.write(packed(b"<b>"))
    size = header.path.stat().st_size
    tracemalloc.start()
    try:
        assert list(stored_tokens(replace(header, file_size=size))) == [b"<a>", b"", b"<b>"]
        assert tracemalloc.get_traced_memory()[1] < 8 * 1024**2
    finally:
        tracemalloc.stop()


def test_long_tokens_across_the_windows_stay_whole(tmp_path: Path) -> None:
    tokens = [bytes([65 + index % 26]) * (MAX_TOKEN_BYTES - index * 700) for index in range(90)]
    assert list(stored_tokens(header_of(tmp_path, packed(*tokens), 90))) == tokens


def test_the_largest_vocabulary_in_use_takes_a_fraction_of_a_second(tmp_path: Path) -> None:
    count = 262_144
    header = header_of(tmp_path, packed(*(b"token%d" % index for index in range(count))), count)
    began = time.process_time()
    assert special_tokens(header) is not None
    assert time.process_time() - began < 0.5


@settings(deadline=None)
@given(data=st.binary(max_size=200), count=st.integers(0, 2**22))
def test_any_bytes_give_marks_or_none(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, count: int
) -> None:
    header = header_of(tmp_path_factory.getbasetemp(), data, count)
    found = special_tokens(header)
    assert found is None or all(number < count for number in found.marks.values())


@pytest.mark.parametrize(
    ("tokens", "twice"),
    [
        ((b"a", b"b", b"a"), "a"),
        ((b"ab\0c", b"ab"), "ab"),
        ((b"", b"", b"\0", b"\0x"), None),
        (WORDS, None),
    ],
)
def test_a_text_that_two_tokens_have_is_noticed(
    tmp_path: Path, tokens: tuple[bytes, ...], twice: str | None
) -> None:
    found = special_tokens(header_of(tmp_path, packed(*tokens), len(tokens), **{MODEL: "gpt2"}))
    assert found is not None
    assert found.twice == twice


def test_tokens_that_engines_do_not_look_at_may_be_alike(tmp_path: Path) -> None:
    found = special_tokens(header_of(tmp_path, packed(b"a", b"a"), 2, **{MODEL: "none"}))
    assert found is not None
    assert found.twice is None
