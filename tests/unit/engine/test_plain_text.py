"""What may be quoted."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from app.engine.plain_text import plain, plain_event
from app.engine.protocol import DeviceInfo, Failed, Hello, Loaded, Token
from app.findings import FindingCode, error, warning


def test_sequences_of_a_terminal_go_whole() -> None:
    assert plain("\x1b[1;31mred\x1b[0m \x1b]0;title\x07x\x1b]8;;http://a\x1b\\link\x1bM") == "red xlink"


def test_words_stay_apart() -> None:
    assert plain("a\tb\nc") == "a b c"


def test_ordinary_text_stays_as_it_is() -> None:
    text = "Moxie (魔匣) — “naïve” 😀 \udcff ‍"
    assert plain(text) == text


@given(st.text())
def test_nothing_that_steers_is_left(text: str) -> None:
    assert not any(unicodedata.category(char) in ("Cc", "Zl", "Zp") for char in plain(text))


def test_every_text_of_an_event_is_plain_but_an_answer() -> None:
    assert plain_event(Token(1, "a\x1b[1mb\n")) == Token(1, "a\x1b[1mb\n")
    assert plain_event(Hello("e", "1\x07", (DeviceInfo("n\x00", "d\x9b", "gpu", 1),))) == Hello(
        "e", "1", (DeviceInfo("n", "d", "gpu", 1),)
    )
    failed = Failed(error(FindingCode.CHAT_TEMPLATE_FAILED, detail="\x1b[2Jbad", seen=("a\x07", 1)))
    assert plain_event(failed) == Failed(error(FindingCode.CHAT_TEMPLATE_FAILED, detail="bad", seen=("a", 1)))
    found = (warning(FindingCode.OPTION_NOT_APPLIED, name="a\x07"),)
    said = plain_event(Loaded({"devices": ["a\x1b[m"], "n_ctx": 5}, findings=found))
    assert said == Loaded(
        {"devices": ["a"], "n_ctx": 5}, findings=(warning(FindingCode.OPTION_NOT_APPLIED, name="a"),)
    )
