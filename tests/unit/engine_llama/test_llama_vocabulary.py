"""Text to tokens and back with a real vocabulary."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.engine.llama.bindings import Library
from app.engine.llama.vocabulary import Vocabulary

pytestmark = pytest.mark.engine


def load_vocabulary(library: Library, path: Path) -> Iterator[Vocabulary]:
    llama = library.llama
    params = llama.llama_model_default_params()
    params.vocab_only = True
    model = llama.llama_model_load_from_file(os.fsencode(path), params)
    yield Vocabulary(library, llama.llama_model_get_vocab(model))
    llama.llama_model_free(model)


@pytest.fixture
def vocabulary(library: Library, exact_twin: Path) -> Iterator[Vocabulary]:
    yield from load_vocabulary(library, exact_twin)


@pytest.fixture
def thinking_vocabulary(library: Library, with_think_token: Path) -> Iterator[Vocabulary]:
    yield from load_vocabulary(library, with_think_token)


def bytes_of(vocabulary: Vocabulary, text: str) -> bytes:
    return b"".join(vocabulary.piece(token) for token in vocabulary.tokenize(text))


# this vocabulary lacks control characters and the first bytes of planes where nothing is assigned
CHARACTERS = st.characters(
    exclude_characters="<", exclude_categories=["Cs", "Cc", "Cn"], max_codepoint=0x1FFFF
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=st.text(CHARACTERS))
def test_text_survives_the_way_through_tokens(vocabulary: Vocabulary, words: str) -> None:
    assert bytes_of(vocabulary, words) == words.encode()


def test_control_tokens_written_in_a_prompt_are_one_token_without_text(vocabulary: Vocabulary) -> None:
    assert len(vocabulary.tokenize("<|im_start|>")) == 1
    assert bytes_of(vocabulary, "<|im_start|>a<|im_end|>") == b"a"


def test_the_end_of_a_turn_ends_the_answer(vocabulary: Vocabulary) -> None:
    (end,) = vocabulary.tokenize(vocabulary.eos)
    (word,) = vocabulary.tokenize(" sea")
    assert vocabulary.ends_answer(end)
    assert not vocabulary.ends_answer(word)


def test_a_control_token_that_marks_reasoning_keeps_its_text(thinking_vocabulary: Vocabulary) -> None:
    assert len(thinking_vocabulary.tokenize("<|think|>\n")) == 1
    assert bytes_of(thinking_vocabulary, "<|think|>\nso<|im_end|>") == b"<|think|>\nso"
