"""The default model: made only from the right bytes, only with room, never by halves."""

import shutil
import zipfile
from collections import namedtuple
from pathlib import Path

import pytest

from app.findings import FindingCode, FindingError, Severity, error
from app.gguf.reader import read_header
from app.library import default_model
from app.library.default_model import (
    default_model_file,
    default_model_findings,
    default_model_path,
    make_default_model,
    require_default_model,
)
from app.paths import resource_path
from app.texts import LANGUAGES, Texts

Usage = namedtuple("Usage", "total used free")


def test_before_it_is_made_there_is_none() -> None:
    assert default_model_path() is None
    with pytest.raises(FindingError) as caught:
        require_default_model()
    assert caught.value.finding.code is FindingCode.DEFAULT_MODEL_MISSING
    assert caught.value.finding.values["path"] == str(default_model_file())


def test_once_made_it_is_found_and_says_that_it_knows_english_only(tmp_path: Path) -> None:
    default_model_file().write_bytes(b"GGUF")
    other = tmp_path / "other.gguf"
    other.write_bytes(b"GGUF")
    assert require_default_model() == default_model_file()
    (finding,) = default_model_findings(default_model_file())
    assert (finding.code, finding.severity) == (FindingCode.DEFAULT_MODEL_ENGLISH_ONLY, Severity.NOTE)
    assert default_model_findings(other) == ()
    assert default_model_findings(tmp_path / "missing.gguf") == ()


@pytest.mark.parametrize("reason", [PermissionError(13, "denied"), NotADirectoryError(20, "no folder")])
def test_a_folder_nobody_may_look_into_has_no_default_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: OSError
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise reason

    monkeypatch.setattr(Path, "stat", refuse)
    assert default_model_path() is None
    assert default_model_findings(tmp_path / "other.gguf") == ()


@pytest.mark.parametrize("is_gguf", [True, False])
def test_other_bytes_than_the_known_ones_make_no_model(tmp_path: Path, is_gguf: bool) -> None:
    source = tmp_path / "source"
    if is_gguf:
        source.write_bytes(b"GGUF and something else")
    else:
        with zipfile.ZipFile(source, "w") as archive:
            archive.writestr(default_model.SOURCE_MEMBER, b"GGUF and something else")
    with pytest.raises(FindingError) as caught:
        make_default_model(source, default_model_file())
    finding = caught.value.finding
    assert finding.code is FindingCode.DOWNLOAD_DAMAGED
    assert finding.values["actual_sha256"] != finding.values["expected_sha256"]
    assert list(default_model_file().parent.iterdir()) == []


def test_too_little_room_is_said_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "source.whl"
    source.write_bytes(b"PK")
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: Usage(10**9, 10**9 - 10**8, 10**8))
    with pytest.raises(FindingError) as caught:
        make_default_model(source, default_model_file())
    finding = caught.value.finding
    assert finding.code is FindingCode.DISK_FULL
    assert finding.values["free_bytes"] == 10**8
    assert finding.values["needed_bytes"] == default_model.SIZE_BYTES + default_model.SOURCE_GGUF_BYTES
    assert list(default_model_file().parent.iterdir()) == []


def test_the_finding_of_a_full_disk_names_both_numbers_in_both_languages() -> None:
    for language in LANGUAGES:
        line = Texts(language).finding_line(
            error(
                FindingCode.DISK_FULL,
                path="/x",
                needed_bytes=default_model.SIZE_BYTES,
                free_bytes=100 * 1024**2,
            )
        )
        assert "100 MB" in line
        assert "427 MB" in line


def test_licence_and_statement_of_change_are_shipped() -> None:
    licence, notice = (
        resource_path("licenses", name).read_text("utf-8") for name in default_model.LICENSE_FILES
    )
    assert "Apache License" in licence
    assert "Version 2.0, January 2004" in licence
    assert "SmolLM2-135M-Instruct" in notice
    assert "is replaced by" in notice


def test_the_real_default_model_is_what_the_design_says(moe_model: Path) -> None:
    header = read_header(moe_model)
    assert header.file_size <= default_model.SIZE_BYTES
    assert header.keys["llama.expert_count"] == 8
    assert header.keys["llama.expert_used_count"] == 2
    assert header.keys["general.license"] == "apache-2.0"
    assert "changed by Moxie" in str(header.keys["general.description"])
    template = str(header.keys["tokenizer.chat_template"])
    assert "You are a helpful assistant." in template
    assert "SmolLM" not in template
    experts = [tensor for tensor in header.tensors if tensor.name.endswith("_exps.weight")]
    assert len(experts) == 3 * 30
    assert {tensor.shape[-1] for tensor in experts} == {8}
