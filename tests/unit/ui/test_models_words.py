"""What the Models page says about a file as a whole."""

from dataclasses import replace
from pathlib import Path

import pytest

from app.gguf.inspect_file import inspect_path
from app.ui.controllers.model_details_job import details_of
from app.ui.model_page_view import ModelPageView
from app.ui.views.model_details.size_rows import figures_of
from app.ui.views.models_words import complete_words, fact_words
from tests.builders import moe_model, write_gguf
from tests.gguf_bytes import Tensor, text
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


def test_a_context_of_a_million_is_called_so(tmp_path: Path) -> None:
    view = view_of(write_gguf(tmp_path / "m.gguf", *moe_model("qwen3moe", layers=1)))
    assert view.facts is not None
    said = fact_words(replace(view, facts=replace(view.facts, context_length=1024**2)))
    assert next(words.values["value"] for words in said if words.key.endswith("context")) == "1M"


def test_a_projector_is_not_read_per_token(tmp_path: Path) -> None:
    keys = {"general.architecture": text("clip"), "general.type": text("mmproj")}
    path = write_gguf(tmp_path / "mmproj.gguf", keys, [Tensor("v.blk.0.attn_q.weight", (32, 32))])
    assert [figure.name.key for figure in figures_of(details_of(path))] == ["ui.details.bits"]
