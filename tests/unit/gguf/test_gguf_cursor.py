"""Long arrays of texts are passed in few reads, exactly to their end."""

import io
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.gguf import cursor
from app.gguf.cursor import ByteCursor, GgufError

END = struct.pack("<I", 0xDEADBEEF)
U32 = struct.Struct("<I")


def texts(lengths: list[int]) -> bytes:
    return b"".join(struct.pack("<Q", length) + bytes(length) for length in lengths)


class CountingFile(io.BytesIO):
    """Counts the bytes that are read."""

    taken = 0

    def read(self, size: int | None = -1, /) -> bytes:
        piece = super().read(size)
        self.taken += len(piece)
        return piece


@given(
    lengths=st.lists(st.integers(0, 40) | st.sampled_from([100, 1000, 5000]), max_size=60),
    window=st.integers(8, 300),
    before=st.integers(0, 20),
)
@settings(max_examples=300, deadline=None)
def test_strings_are_passed_to_their_very_end_whatever_the_window(
    lengths: list[int], window: int, before: int
) -> None:
    content = bytes(before) + texts(lengths) + END
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cursor, "WINDOW_BYTES", window)
        patch.setattr(cursor, "FIRST_WINDOW_BYTES", max(8, window // 4))
        reader = ByteCursor(io.BytesIO(content), len(content))
        reader.take(before)
        reader.skip_strings(len(lengths))
        assert reader.offset == len(content) - len(END)
        assert reader.unpack(U32) == (0xDEADBEEF,)


@given(
    lengths=st.lists(st.integers(0, 70), min_size=100, max_size=300), long=st.lists(st.integers(64, 2**17))
)
@settings(max_examples=100, deadline=None)
def test_runs_of_short_strings_end_at_every_long_one(lengths: list[int], long: list[int]) -> None:
    for number, length in enumerate(long):
        lengths[number * 97 % len(lengths)] = length
    content = texts(lengths) + END
    reader = ByteCursor(io.BytesIO(content), len(content))
    reader.skip_strings(len(lengths))
    assert reader.unpack(U32) == (0xDEADBEEF,)


@given(lengths=st.lists(st.integers(0, 40), min_size=1, max_size=60), cut=st.integers(1, 60))
@settings(max_examples=300, deadline=None)
def test_strings_that_end_behind_the_file_are_told(lengths: list[int], cut: int) -> None:
    content = texts(lengths)
    content = content[: max(0, len(content) - cut)]
    reader = ByteCursor(io.BytesIO(content), len(content))
    with pytest.raises(GgufError, match="truncated"):
        reader.skip_strings(len(lengths))


@pytest.mark.parametrize("length", [2**40, 2**63 - 9, 2**63, 2**64 - 1])
def test_a_length_beyond_everything_is_told(length: int) -> None:
    content = texts([3]) + struct.pack("<Q", length) + bytes(100)
    reader = ByteCursor(io.BytesIO(content), len(content))
    with pytest.raises(GgufError, match="truncated") as told:
        reader.skip_strings(3)
    assert told.value.values["needed_bytes"] == 19 + length


def test_long_texts_are_jumped_over_and_not_read() -> None:
    content = texts([100_000] * 40) + END
    file = CountingFile(content)
    reader = ByteCursor(file, len(content))
    reader.skip_strings(40)
    assert reader.unpack(U32) == (0xDEADBEEF,)
    assert file.taken < len(content) / 5


def test_a_header_made_of_jumps_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cursor, "MAX_READ_BYTES", 256 * 1024)
    content = texts([20_000] * 100)
    reader = ByteCursor(io.BytesIO(content), len(content))
    with pytest.raises(GgufError, match="bad-length"):
        reader.skip_strings(100)


@pytest.mark.parametrize("position", range(60, 68))
@pytest.mark.parametrize("length", [2**63, 2**64 - 1])
def test_a_length_beyond_all_files_is_truncated_wherever_it_stands_in_a_run(
    position: int, length: int
) -> None:
    # the file is long enough for the count, so that the length itself is what is met
    content = texts([100] * position) + struct.pack("<Q", length) + texts([100] * 200)
    reader = ByteCursor(io.BytesIO(content), len(content))
    with pytest.raises(GgufError, match="truncated"):
        reader.skip_strings(position + 200)
