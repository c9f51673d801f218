"""The palette offers what was loaded before, what lies beside it, and the model Moxie makes."""

from pathlib import Path

from app.library.default_model import default_model_file
from app.ui.known_models import known_models
from tests.controller_setup import write_model


def test_models_are_found_by_where_they_come_from(data_home: Path, tmp_path: Path) -> None:
    recent = write_model(tmp_path, "模型 recent.gguf")
    beside = write_model(tmp_path, "beside.gguf")
    default = write_model(default_model_file().parent, default_model_file().name)
    models = known_models([str(tmp_path / "gone.gguf"), str(recent)])
    found = {(model.path, model.group) for model in models}
    assert found == {(recent, "recent"), (recent, "found"), (beside, "found"), (default, "default")}
    assert str(tmp_path) in models[0].detail


def test_a_path_no_system_takes_is_left_out(data_home: Path) -> None:
    assert known_models(["\0", "/nowhere/at/all.gguf"]) == ()
