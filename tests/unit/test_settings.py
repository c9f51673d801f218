"""Settings survive, and bad ones fall back with a finding."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.findings import FindingCode
from app.settings import Settings, load_settings, save_settings


def test_no_file_means_defaults_and_no_complaint(tmp_path: Path) -> None:
    assert load_settings(tmp_path / "settings.json") == (Settings(), ())


def test_what_was_saved_is_read_back(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    save_settings(file, Settings(language="zh_CN", engine="worker"))
    assert load_settings(file) == (Settings(language="zh_CN", engine="worker"), ())


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b"null", b"3"])
def test_an_unreadable_file_gives_defaults_and_a_finding(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "settings.json"
    file.write_bytes(content)
    settings, findings = load_settings(file)
    assert settings == Settings()
    assert [f.code for f in findings] == [FindingCode.SETTINGS_INVALID]


def test_one_bad_value_does_not_cost_the_others(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text('{"language": 7, "engine": "worker"}', encoding="utf-8")
    settings, findings = load_settings(file)
    assert settings == Settings(language=None, engine="worker")
    assert [(f.code, f.values["name"]) for f in findings] == [(FindingCode.SETTINGS_INVALID, "language")]


def test_an_unknown_language_is_not_used(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text('{"language": "tlh"}', encoding="utf-8")
    settings, findings = load_settings(file)
    assert settings.language is None
    assert [f.values["name"] for f in findings] == ["language"]


@given(st.binary(max_size=200))
def test_no_content_makes_reading_fail(content: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "settings.json"
        file.write_bytes(content)
        settings, _ = load_settings(file)
        assert isinstance(settings, Settings)
