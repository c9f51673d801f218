"""Bytes of tokens become whole characters, up to a stop text."""

import itertools
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from app.engine.llama.answer_text import AnswerText


def feed(text: AnswerText, pieces: list[bytes]) -> Iterator[str]:
    for piece in pieces:
        yield text.feed(piece)
        if text.is_stopped:
            return
    yield text.rest()


def cut(data: bytes, positions: list[int]) -> list[bytes]:
    edges = [0, *sorted(position % (len(data) + 1) for position in positions), len(data)]
    return [data[a:b] for a, b in itertools.pairwise(edges)]


@given(st.text(), st.lists(st.integers(0, 1000), max_size=12))
def test_text_survives_any_cut_through_its_bytes(words: str, positions: list[int]) -> None:
    shown = list(feed(AnswerText(), cut(words.encode("utf-8", "replace"), positions)))
    assert "".join(shown) == words.encode("utf-8", "replace").decode()


@given(
    st.text("ab你", max_size=30),
    st.text("ab你", min_size=1, max_size=4),
    st.lists(st.integers(0, 99), max_size=9),
)
def test_a_stop_text_ends_the_answer_wherever_it_is_cut(words: str, stop: str, positions: list[int]) -> None:
    shown = "".join(feed(AnswerText((stop,)), cut(words.encode(), positions)))
    assert shown == words.split(stop)[0]


def test_half_a_character_is_never_shown() -> None:
    text = AnswerText()
    assert text.feed("中".encode()[:2]) == ""
    assert text.rest() == ""


def test_what_only_looks_like_a_stop_text_is_shown_after_all() -> None:
    text = AnswerText(("STOP",))
    assert text.feed(b"a ST") == "a "
    assert text.feed(b"AY") == "STAY"
    assert not text.is_stopped


@given(st.lists(st.binary(max_size=6), max_size=8))
def test_any_bytes_become_text(pieces: list[bytes]) -> None:
    assert isinstance("".join(feed(AnswerText(), pieces)).encode(), bytes)
