"""Reading what is written into the fields of the parameters."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.options import BOUNDS
from app.texts import LANGUAGES, Texts
from app.ui.views.parameter_values import (
    DECIMAL,
    WHOLE,
    NumberField,
    ValueRefused,
    context_stops,
    creativity,
    length_stops,
    number_text,
    read_number,
    read_stop,
    stop_text,
)
from app.ui.views.words import say

TEMPERATURE = NumberField("temperature", DECIMAL)
TOP_K = NumberField("top_k", WHOLE)
MAX_TOKENS = NumberField("max_tokens", WHOLE, "no_limit")


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        (TEMPERATURE, "0.7", 0.7),
        (TEMPERATURE, " 0,7 ", 0.7),
        (TEMPERATURE, "1", 1.0),
        (TOP_K, "1,000", 1000),
        (TOP_K, "１２", 12),
        (MAX_TOKENS, "", None),
        (MAX_TOKENS, "4 096", 4096),
    ],
)
def test_a_number_is_read_as_people_write_it(field: NumberField, text: str, value: float | None) -> None:
    assert read_number(field, text) == value


@pytest.mark.parametrize(
    ("field", "text", "sentence"),
    [
        (TEMPERATURE, "11", "Write a number from 0 to 10."),
        (TEMPERATURE, "", "Write a number from 0 to 10."),
        (TEMPERATURE, "nan", "Write a number from 0 to 10."),
        (TEMPERATURE, "inf", "Write a number from 0 to 10."),
        (TOP_K, "-1", "Write a whole number from 0 to 1,000,000."),
        (TOP_K, "1.5", "Write a whole number from 0 to 1,000,000."),
        (MAX_TOKENS, "0", "Write a whole number from 1 to 16,777,216, or leave it empty: no limit."),
    ],
)
def test_a_wrong_value_says_what_to_write(field: NumberField, text: str, sentence: str) -> None:
    with pytest.raises(ValueRefused) as refused:
        read_number(field, text)
    assert say(Texts("en"), refused.value.words) == sentence
    assert say(Texts("zh_CN"), refused.value.words)


@given(st.text(), st.sampled_from([TEMPERATURE, TOP_K, MAX_TOKENS]))
def test_any_text_is_a_value_within_bounds_or_refused(text: str, field: NumberField) -> None:
    try:
        value = read_number(field, text)
    except ValueRefused:
        return
    low, high = BOUNDS[field.name]
    assert value is None or low <= value <= high


@pytest.mark.parametrize("value", [0.7, 0.05, 1.0, 40, 2**32 - 1])
def test_a_value_is_written_so_that_it_reads_back(value: float) -> None:
    name = "seed" if isinstance(value, int) else "temperature"
    field = NumberField(name, WHOLE if isinstance(value, int) else DECIMAL)
    back = read_number(field, number_text(value))
    assert back is not None
    assert math.isclose(back, value)


def test_stops_are_lines_and_breaks_are_written_out() -> None:
    assert read_stop("###\n\nUser:\\n\n###") == ("###", "User:\n")
    assert read_stop(stop_text(("a", "b\nc\t"))) == ("a", "b\nc\t")


def test_the_context_is_offered_up_to_what_the_model_knows() -> None:
    assert context_stops(40_960, None) == (2048, 4096, 8192, 16384, 32768, 40_960)
    assert context_stops(40_960, 5000, 512)[:3] == (512, 2048, 4096)
    assert 5000 in context_stops(40_960, 5000, 512)
    assert context_stops(None)[0] == 2048


def test_the_answers_length_in_force_is_always_offered() -> None:
    assert length_stops(None)[-1] is None
    assert 777 in length_stops(777)


def test_each_temperature_has_a_word_in_both_languages() -> None:
    words = {creativity(step / 10) for step in range(30)}
    assert words == {"exact", "careful", "balanced", "creative", "wild"}
    for language in LANGUAGES:
        assert all(Texts(language).text(f"ui.parameters.creativity.{word}") for word in words)
