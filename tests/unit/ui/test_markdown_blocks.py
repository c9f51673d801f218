"""Markdown becomes plain facts; whatever a model writes comes out as text and nothing raises."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.ui.markdown.blocks import Alignment, Block, Fence, Prose, Rule, Span, Table
from app.ui.markdown.highlight import colored
from app.ui.markdown.parser import parse, safe_link, spans
from app.ui.markdown.safe_text import harmless

MARKS = st.text(alphabet="`~*_#>-+|[]()!<>&;:\\ \n\t0123456789.ax\u202e\x00\ufdd0\ud800漢", max_size=300)


def blocks_of(text: str) -> list[Block]:
    return list(parse(text))


def spans_of(text: str) -> list[Span]:
    return [span for block in blocks_of(text) for span in _spans_in(block)]


def shown(text: str) -> str:
    """All characters that are drawn, code included."""
    parts: list[str] = []
    for block in blocks_of(text):
        parts += [block.code] if isinstance(block, Fence) else [span.text for span in _spans_in(block)]
    return "".join(parts)


def _spans_in(block: Block) -> Iterator[Span]:
    match block:
        case Prose(paragraphs):
            for paragraph in paragraphs:
                yield from spans(paragraph.inline)
        case Table(heads, rows):
            for cell in (*heads, *(cell for row in rows for cell in row)):
                yield from spans(cell)


def test_headings_emphasis_and_code_become_looks() -> None:
    heading, text = (p for block in blocks_of("## Title\n\n**b** *i* ~~s~~ `c`") for p in block.paragraphs)  # type: ignore[union-attr]
    assert heading.level == 2
    styled = [span for span in spans(text.inline) if span.text.strip()]
    assert styled == [
        Span("b", is_bold=True),
        Span("i", is_italic=True),
        Span("s", is_struck=True),
        Span("c", is_code=True),
    ]


def test_lists_keep_their_numbers_depth_and_tasks() -> None:
    (prose,) = blocks_of("3. three\n4. four\n   - inner\n\n- [ ] open\n- [x] done\n")
    assert isinstance(prose, Prose)
    assert [(p.marker, p.indent) for p in prose.paragraphs] == [
        ("3.", 1),
        ("4.", 1),
        ("◦", 2),
        ("☐", 1),
        ("☑", 1),
    ]


def test_an_empty_list_item_still_shows_its_mark() -> None:
    (prose,) = blocks_of("- \n- b")
    assert isinstance(prose, Prose)
    assert [p.marker for p in prose.paragraphs] == ["•", "•"]


def test_quotes_tell_their_depth() -> None:
    (prose,) = blocks_of("> a\n> > b")
    assert isinstance(prose, Prose)
    assert [p.quote_depth for p in prose.paragraphs] == [1, 2]


def test_a_table_has_equal_rows_and_sides() -> None:
    (table,) = blocks_of("|a|b|c|\n|:-|-:|:-:|\n|1|2|\n|1|2|3|4|\n")
    assert isinstance(table, Table)
    assert table.alignments == (Alignment.LEFT, Alignment.RIGHT, Alignment.CENTER)
    assert [len(row) for row in table.rows] == [3, 3]


def test_a_fence_that_is_never_closed_is_code_to_the_end() -> None:
    first, fence = blocks_of("Before\n\n```py\nx = 1\n\ny = 2")
    assert isinstance(first, Prose)
    assert fence == Fence("py", "x = 1\n\ny = 2")


def test_a_rule_is_a_rule() -> None:
    assert blocks_of("---") == [Rule()]


@pytest.mark.parametrize(
    "text",
    [
        "<b>bold</b>",
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "<!-- hidden -->",
        "[Note]: this is text",
    ],
)
def test_html_and_definitions_are_words(text: str) -> None:
    assert shown(text) == text


def test_only_web_and_mail_addresses_are_links() -> None:
    found = spans_of(
        "[a](https://x.org) [b](javascript:alert(1)) [c](file:///etc/passwd) <mailto:a@b.c> ftp://x.y"
    )
    assert [span.href for span in found if span.href] == ["https://x.org", "mailto:a@b.c"]
    assert "javascript:alert(1)" in shown("[b](javascript:alert(1))")
    assert "file:///etc/passwd" in shown("[c](file:///etc/passwd)")


def test_a_bare_address_is_a_link_without_the_full_stop() -> None:
    found = [
        span for span in spans_of("See https://example.org/a?b=1. And（https://例子.cn/x）。") if span.href
    ]
    assert [span.text for span in found] == ["https://example.org/a?b=1", "https://例子.cn/x"]


def test_an_image_is_a_link_and_never_a_picture() -> None:
    (span,) = spans_of("![chart](https://tracker.example/p.png)")
    assert span == Span("chart", href="https://tracker.example/p.png")


@pytest.mark.parametrize(
    "address", ["javascript:1", "data:text/html,x", "https://a\u202eb", "https://a\nb", "//x", ""]
)
def test_other_addresses_open_nothing(address: str) -> None:
    assert safe_link(address) is None


def test_control_and_direction_characters_are_named() -> None:
    assert (
        harmless("a\x1b[31m\u202eb\u2066\x00\x85\ufffc\ufdd0\ud800\r\nc")
        == "a␛[31m[U+202E]b[U+2066]␀[U+0085]\ufffd\ufffd\ufffd\nc"
    )
    assert "\u202e" not in shown("&#8238; and \u202e")


def test_words_of_all_languages_and_emoji_stay() -> None:
    text = "漢字 かな العربية 👩‍💻 é\tx"
    assert harmless(text) == text


def test_a_line_of_a_megabyte_is_shown_whole() -> None:
    text = "*a_" * 350_000
    assert shown(text) == text


def test_deeper_nesting_than_anyone_reads_is_shown_whole() -> None:
    text = ">" * 3_000 + " end"
    assert shown(text) == text


def test_long_answers_are_read_in_parts_with_nothing_lost() -> None:
    paragraph = "Some words of a paragraph that is repeated.\n\n```\ncode\n\nmore\n```\n\n"
    found = blocks_of(paragraph * 900)
    assert sum(isinstance(block, Fence) for block in found) == 900
    assert all(block.code == "code\n\nmore" for block in found if isinstance(block, Fence))


def test_code_is_coloured_by_its_language() -> None:
    code = "def f():\n    return 'x'  # note"
    found = {code[start : start + length]: color for start, length, color in colored("python", code)}
    assert (found["def"], found["f"], found["# note"]) == ("code_keyword", "code_name", "code_comment")
    assert not list(colored("no-such-language", code))
    assert not list(colored("", code))


@settings(max_examples=300, deadline=None)
@given(MARKS)
def test_no_text_raises_or_shows_dangerous_characters(text: str) -> None:
    drawn = shown(text)
    assert not set(drawn) & set("\u202e\x00\ufdd0\ud800")
    for span in spans_of(text):
        assert span.href is None or span.href.startswith(("http://", "https://", "mailto:"))


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["- a", "1. b", "> c", "```", "    d", "| e |", "|-|", "# f", "", "* * *", "- [x] g", "\tz"]
        )
    )
)
def test_no_mix_of_block_marks_loses_a_word(lines: list[str]) -> None:
    drawn = shown("\n".join(lines))
    for word in "abcdfz":
        assert drawn.count(word) >= sum(word in line for line in lines)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(["python", "html", "json", "bash", "c++", "markdown"]), MARKS)
def test_colouring_any_text_raises_nothing_and_stays_inside(language: str, code: str) -> None:
    end = 0
    for start, length, _ in colored(language, code):
        assert end <= start
        end = start + length
    assert end <= len(code)
