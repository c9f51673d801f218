"""What the Models page says about a file as a whole."""

from pathlib import Path

import pytest

from app.gguf.inspect_file import inspect_path
from app.ui.model_page_view import ModelPageView
from app.ui.views.models_words import complete_words
from tests.builders import moe_model, write_gguf
from tests.models.broken import BROKEN_CASES


def view_of(path: Path) -> ModelPageView:
    inspected = inspect_path(path)
    return ModelPageView(path=path, facts=inspected.facts, findings=inspected.findings)


def test_a_sound_file_is_complete(tmp_path: Path) -> None:
    told = complete_words(view_of(write_gguf(tmp_path / "m.gguf", *moe_model("qwen3moe", layers=1))))
    assert told is not None
    assert told[0].key == "ui.models.complete.one"


@pytest.mark.parametrize("what", ["names that engines cannot follow"])
def test_a_part_under_another_name_is_no_complete_model(tmp_path: Path, what: str) -> None:
    (case,) = (case for case in BROKEN_CASES if case.what == what)
    assert complete_words(view_of(case.write(tmp_path))) is None
