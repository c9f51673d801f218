"""Server-sent events: whole however they are cut, one named error for everything else."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.llama_server_sse import EVENT_LIMIT_BYTES, AnswerPart, EventReader, SseError, read_part
from app.engine.protocol import Timings

STREAM = (
    ": a comment\r\n"
    'data: {"a": "魔匣 🧪"}\r\n\r\n'
    "event: ping\n"
    "\n"
    "data: one\ndata:two\n\n"
    "id: 7\nretry: 10\ndata\n\n"
    "data: [DONE]\n\n"
).encode()
EVENTS = ['{"a": "魔匣 🧪"}', "one\ntwo", "", "[DONE]"]


def _read(*chunks: bytes) -> list[str]:
    reader = EventReader()
    return [event for chunk in chunks for event in reader.feed(chunk)]


def test_a_stream_is_read_in_one_piece() -> None:
    assert _read(STREAM) == EVENTS


@given(st.lists(st.integers(0, len(STREAM)), max_size=30).map(sorted))
def test_it_does_not_matter_where_the_bytes_are_cut(cuts: list[int]) -> None:
    borders = [0, *cuts, len(STREAM)]
    chunks = [STREAM[a:b] for a, b in itertools.pairwise(borders)]
    assert _read(*chunks) == EVENTS


def test_every_byte_may_come_alone() -> None:
    assert _read(*(STREAM[i : i + 1] for i in range(len(STREAM)))) == EVENTS


def test_an_event_without_its_blank_line_is_not_complete() -> None:
    assert _read(b'data: {"a": 1}\n') == []


def test_an_error_field_of_old_servers_is_an_error_part() -> None:
    (event,) = _read(b'error: {"message": "full"}\n\n')
    assert read_part(event).error == {"message": "full"}


def test_bytes_that_are_no_utf_8_are_the_named_error() -> None:
    with pytest.raises(SseError):
        _read(b"data: \xff\xfe\n\n")


def test_an_endless_event_is_refused() -> None:
    reader = EventReader()
    line = b"data: " + b"x" * (EVENT_LIMIT_BYTES // 4) + b"\n"
    with pytest.raises(SseError):
        for _ in range(5):
            list(reader.feed(line))


def test_an_endless_line_is_refused() -> None:
    with pytest.raises(SseError):
        list(EventReader().feed(b"x" * (EVENT_LIMIT_BYTES + 1)))


@given(st.lists(st.binary(max_size=200), max_size=20))
def test_any_bytes_are_events_or_the_named_error(chunks: list[bytes]) -> None:
    try:
        for event in _read(*chunks):
            read_part(event)
    except SseError:
        pass


_KEYS = st.sampled_from(
    ["error", "choices", "delta", "content", "reasoning_content", "prompt_progress", "processed", "total",
     "timings", "prompt_n", "predicted_ms", "cache_n", "finish_reason"]
)  # fmt: skip
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=6),
    max_leaves=20,
)


@given(_JSON)
def test_any_json_is_a_part_or_the_named_error(data: object) -> None:
    try:
        part = read_part(json.dumps(data))
    except SseError:
        return
    part.content.encode()
    part.reasoning.encode()


def test_a_part_carries_all_the_server_says() -> None:
    part = read_part(
        '{"choices":[{"finish_reason":"length","delta":{"content":"a","reasoning_content":"b"}}],'
        '"prompt_progress":{"total":9,"cache":2,"processed":5},'
        '"timings":{"cache_n":2,"prompt_n":7,"prompt_ms":1.5,"predicted_n":3,"predicted_ms":2.5}}'
    )
    timings = Timings(prompt_tokens=7, prompt_ms=1.5, predicted_tokens=3, predicted_ms=2.5, cached_tokens=2)
    assert part == AnswerPart("a", "b", (5, 9), timings, "length")


def test_half_a_surrogate_pair_becomes_a_replacement_character() -> None:
    assert read_part('{"choices":[{"delta":{"content":"x\\ud83d"}}]}').content == "x\ufffd"


def test_a_part_without_choices_says_nothing() -> None:
    assert read_part('{"choices":[]}') == AnswerPart()
