"""Reasoning is told from the answer whatever the cut, and no mark is ever visible."""

import re
from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.chat.marks import CLOSERS, MESSAGE_ENDS, NEXT_MESSAGE, OPENERS, opener_in_template
from app.chat.reasoning import Piece, PieceKind, ReasoningSplitter

CUTS = (1, 2, 3, 5, 10_000)

STREAMS = {
    "a block": ("<think>a<b</think>\n\nAnswer", "a<b", "Answer"),
    "closer cut in two": ("two and two</think>Four.", "two and two", "Four."),
    "only a closer": ("plan</think>Hi", "plan", "Hi"),
    "never closed": ("<think>still thinking", "still thinking", ""),
    "tags as text": ("Use the tag <think> in XML: `<think>`", "", "Use the tag <think> in XML: `<think>`"),
    "channels": (
        "<|channel|>analysis<|message|>R<|end|><|start|>assistant<|channel|>final<|message|>A<|return|>",
        "R",
        "A",
    ),
    "ends in half a tag": ("Hello</thi", "", "Hello</thi"),
    "reasoning ends in half a tag": ("<think>hm</thi", "hm</thi", ""),
    "begins with half a tag": ("<thi", "", "<thi"),
    "no-break space before the tag": ("\u00a0\n<think>a</think>b", "a", "b"),
    "zero-width space before the tag": ("\ufeff\u200b<think>a</think>b", "a", "b"),
    "empty block": ("<think>\n\n</think>\n\nHi", "", "Hi"),
    "two blocks": ("<think>a</think>\n<think>b</think>c", "ab", "c"),
    "both tags in an answer": (
        "Write <think>x</think> around it.",
        "",
        "Write <think>x</think> around it.",
    ),
    "closer in an answer after a block": (
        "<think>a</think>Close with </think>.",
        "a",
        "Close with </think>.",
    ),
    "closer between backticks": ("Close it with `</think>`.", "", "Close it with `</think>`."),
    "closer after code": ("try `x`</think>Hi", "try `x`", "Hi"),
    "closer after code at the end": ("try `x`</think>", "try `x`", ""),
    "closer first": ("</think>Hi", "", "Hi"),
    "plain text": ("  Hello, <b>world</b> [1] </p>", "", "  Hello, <b>world</b> [1] </p>"),
    "mistral": ("[THINK]a[1][/THINK]b", "a[1]", "b"),
    "seed": ("<seed:think>a</seed:think>b", "a", "b"),
    "gemma": ("<|channel>thought\na<channel|>b", "a", "b"),
    "channel with a role first": (
        "<|start|>assistant<|channel|>analysis<|message|>R<|end|>"
        "<|start|>assistant<|channel|>commentary<|message|>P<|end|>"
        "<|start|>assistant<|channel|>final<|message|>A",
        "R",
        "PA",
    ),
    "channels without their hidden end marks": (
        "<|channel|>analysis<|message|>R<|start|>assistant<|channel|>commentary<|message|>P"
        "<|start|>assistant<|channel|>final<|message|>A <|start|>",
        "R",
        "PA <|start|>",
    ),
    "a tool call is no answer": (
        "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>",
        "{}",
        "",
    ),
    "channel answer only": ("<|channel|>final<|message|>Hi<|return|>", "", "Hi"),
    "end mark as text": (
        "<|channel|>final<|message|>`<|end|>` ends it<|return|>",
        "",
        "`<|end|>` ends it",
    ),
    "role without channel": ("<|start|>assistant<|message|>Hi<|end|>", "", "Hi"),
    "channel cut in its header": ("<|channel|>analysis<|message|>R<|end|><|start|>assistant<|cha", "R", ""),
    "no header after all": (f"<|channel|>{'x' * 300}", "", "x" * 300),
}


def split(chunks: Iterable[str], opened_by_prompt: str | None = None) -> list[Piece]:
    splitter = ReasoningSplitter(opened_by_prompt)
    pieces = [piece for chunk in chunks for piece in splitter.feed(chunk)]
    return pieces + splitter.finish()


def collect(pieces: Sequence[Piece]) -> tuple[str, str]:
    reasoning, answer = "", ""
    for kind, text in pieces:
        if kind is PieceKind.MOVED:
            reasoning, answer = reasoning + answer, ""
        elif kind is PieceKind.REASONING:
            reasoning += text
        else:
            answer += text
    return reasoning, answer


def cut(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


@pytest.mark.parametrize("size", CUTS)
@pytest.mark.parametrize("name", STREAMS)
def test_reasoning_and_answer_are_equal_for_every_cut(name: str, size: int) -> None:
    stream, reasoning, answer = STREAMS[name]
    assert collect(split(cut(stream, size))) == (reasoning, answer)


@pytest.mark.parametrize("size", CUTS)
def test_nothing_of_a_tag_is_visible_even_for_a_moment(size: int) -> None:
    for stream in ("<think>a<b</think>\n\nAnswer", "two and two</think>Four.", STREAMS["channels"][0]):
        shown = "".join(text for _, text in split(cut(stream, size)))
        assert "think" not in shown
        assert "|" not in shown
        assert shown in ("a<bAnswer", "two and twoFour.", "RA")


def test_a_lone_closer_moves_what_was_shown_exactly_once() -> None:
    pieces = split(cut("plan</think>Hi</think>", 1))
    assert [kind for kind, _ in pieces].count(PieceKind.MOVED) == 1
    assert collect(pieces) == ("plan", "Hi</think>")


def test_plain_text_is_shown_without_delay() -> None:
    splitter = ReasoningSplitter()
    assert splitter.feed("Hello") == [Piece(PieceKind.ANSWER, "Hello")]
    assert splitter.feed(" a <b") == [Piece(PieceKind.ANSWER, " a <b")]
    assert splitter.feed(" 1 <") == [Piece(PieceKind.ANSWER, " 1 ")]


@pytest.mark.parametrize("size", CUTS)
def test_a_block_opened_by_the_prompt_is_never_shown_as_answer(size: int) -> None:
    for stream in ("\nplan</think>\nHi", "<think>\nplan</think>Hi"):
        pieces = split(cut(stream, size), opened_by_prompt="<think>")
        assert PieceKind.MOVED not in [kind for kind, _ in pieces]
        assert collect(pieces) == ("plan", "Hi")


@pytest.mark.parametrize("size", CUTS)
def test_what_the_engine_marked_is_reasoning_and_the_rest_is_answer_as_it_stands(size: int) -> None:
    splitter = ReasoningSplitter()
    pieces = [
        piece for chunk in cut("R <think> R", size) for piece in splitter.feed(chunk, is_reasoning=True)
    ]
    for chunk in cut("A <think> </think> A", size):
        pieces += splitter.feed(chunk)
    pieces += splitter.finish()
    assert collect(pieces) == ("R <think> R", "A <think> </think> A")


def test_a_template_that_opens_a_block_is_recognised() -> None:
    qwen = "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n<think>\\n' }}{%- endif %}"
    deepseek = "{% if add_generation_prompt and not ns.is_tool %}{{'<｜Assistant｜><think>\\n'}}{% endif %}"
    hybrid = (
        "{% if add_generation_prompt %}{{ 'assistant\\n' }}{% if not thinking %}"
        "{{ '<think>\\n\\n</think>\\n\\n' }}{% endif %}{% endif %}"
    )
    asked_for = (
        "{% if add_generation_prompt %}{{ 'assistant\\n' }}{% if thinking %}{{ '<think>' }}"
        "{% else %}{{ '</think>' }}{% endif %}{% endif %}"
    )
    history_only = (
        "{{ message.content.split('</think>')[-1] }}{% if add_generation_prompt %}{{ 'x' }}{% endif %}"
    )
    assert opener_in_template(qwen) == "<think>"
    assert opener_in_template(deepseek) == "<think>"
    for template in (hybrid, asked_for, history_only, "", None):
        assert opener_in_template(template) is None


MARKS = st.sampled_from(
    (*OPENERS, *CLOSERS, *MESSAGE_ENDS, NEXT_MESSAGE, "<|channel|>", "<|start|>", "<|message|>")
)
TEXTS = st.text(alphabet="ab<>/`|[ \n\u00a0think", max_size=6)
STREAM = st.lists(st.one_of(MARKS, TEXTS), max_size=10).map("".join)


@given(stream=STREAM, sizes=st.lists(st.integers(1, 7), min_size=1, max_size=20), hinted=st.booleans())
def test_any_cut_gives_the_same_result(stream: str, sizes: list[int], hinted: bool) -> None:
    opener = "<think>" if hinted else None
    chunks, rest = [], stream
    for size in sizes:
        chunks.append(rest[:size])
        rest = rest[size:]
    assert collect(split([*chunks, rest], opener)) == collect(split([stream], opener))


# no letters of a tag, so that dropping one tag cannot make another out of its neighbours
NEUTRAL = st.text(alphabet="abx<>/`|[ \n\u00a0", max_size=6)
TAG_STREAM = st.lists(st.one_of(st.sampled_from((*OPENERS, *CLOSERS)), NEUTRAL), max_size=10).map("".join)


@given(stream=TAG_STREAM, size=st.integers(1, 7))
def test_no_character_outside_a_tag_is_lost(stream: str, size: int) -> None:
    shown = "".join(text for _, text in split(cut(stream, size)))
    assert bare(shown) == bare(stream)


@given(stream=st.text(max_size=60), size=st.integers(1, 7))
def test_text_without_tags_comes_out_unchanged(stream: str, size: int) -> None:
    if not any(mark in stream for mark in (*OPENERS, *CLOSERS, "<|channel|>", "<|start|>")):
        assert collect(split(cut(stream, size))) == ("", stream)


def bare(text: str) -> str:
    """Return `text` without whole tags and without white space: neither is promised to come out."""
    tags = "|".join(re.escape(tag) for tag in (*OPENERS, *CLOSERS))
    return re.sub(r"[\s\u200b\ufeff]", "", re.sub(tags, "", text))
