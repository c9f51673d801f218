"""Settings survive, and bad ones fall back with a finding."""

import json
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.findings import FindingCode
from app.options import SamplingOptions
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


def test_every_setting_survives(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    settings = Settings(
        language="zh_CN",
        engine="worker",
        theme="dark",
        zoom=1.25,
        reduced_motion=False,
        is_expert=True,
        last_model="D:/模型/a b.gguf",
        library_paths=("D:/模型", "/srv/models"),
        recent_models=("D:/模型/a b.gguf", "/tmp/\udcff.gguf"),
        excluded_gpus=("uuid:gpu-aaaa", "pci:0000:03:00.0"),
        window_geometry="AdnQywADAAA=",
        system_prompt="简短回答。\n",
        sampling=SamplingOptions(temperature=0.0, top_k=1, seed=7, max_tokens=64, stop=("###",)),
    )
    assert all(getattr(settings, f.name) != getattr(Settings(), f.name) for f in fields(Settings))
    save_settings(file, settings)
    assert load_settings(file) == (settings, ())


def test_a_file_of_the_first_version_gives_its_values_and_defaults_for_the_rest(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text('{"format": 1, "language": "en", "engine": null}', encoding="utf-8")
    assert load_settings(file) == (Settings(language="en"), ())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("theme", '"purple"'),
        ("theme", "[]"),
        ("zoom", "NaN"),
        ("zoom", "20"),
        ("zoom", "true"),
        ("reduced_motion", "1"),
        ("is_expert", '"yes"'),
        ("last_model", "3"),
        ("recent_models", '"one"'),
        ("recent_models", "[1]"),
        ("library_paths", '"one"'),
        ("excluded_gpus", '"uuid:gpu-aaaa"'),
        ("excluded_gpus", "[1]"),
        ("window_geometry", "{}"),
        ("system_prompt", "[]"),
        ("sampling", "[]"),
        ("sampling.temperature", "-1"),
        ("sampling.temperature", "true"),
        ("sampling.top_k", "1.5"),
        ("sampling.stop", '"###"'),
    ],
)
def test_a_bad_value_is_named_and_costs_itself_only(tmp_path: Path, name: str, text: str) -> None:
    file = tmp_path / "settings.json"
    outer, _, inner = name.partition(".")
    value = f'{{"{inner}": {text}, "min_p": 0.1}}' if inner else text
    file.write_text(f'{{"{outer}": {value}, "engine": "worker"}}', encoding="utf-8")
    settings, findings = load_settings(file)
    expected = Settings(engine="worker", sampling=SamplingOptions(min_p=0.1) if inner else SamplingOptions())
    assert settings == expected
    assert [(f.code, f.values["name"]) for f in findings] == [(FindingCode.SETTINGS_INVALID, name)]


@given(
    st.dictionaries(
        st.sampled_from([f.name for f in fields(Settings)]),
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from([f.name for f in fields(SamplingOptions)]), inner, max_size=4
                )
            ),
            max_leaves=6,
        ),
    )
)
def test_no_value_makes_reading_fail(data: dict[str, object]) -> None:
    import json
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "settings.json"
        file.write_text(json.dumps(data), encoding="utf-8")
        settings, _ = load_settings(file)
        save_settings(file, settings)
        assert load_settings(file) == (settings, ())


@given(st.binary(max_size=200))
def test_no_content_makes_reading_fail(content: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "settings.json"
        file.write_bytes(content)
        settings, _ = load_settings(file)
        assert isinstance(settings, Settings)


def test_what_a_newer_version_keeps_survives_a_save(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    newer = {"format": 7, "hologram": {"on": True}, "engine": "old", "sampling": {"xtc": 0.5, "top_k": 9}}
    file.write_text(json.dumps(newer), encoding="utf-8")
    settings, findings = load_settings(file)
    assert findings == ()
    assert save_settings(file, replace(settings, engine="worker")) == ()
    stored = json.loads(file.read_text(encoding="utf-8"))
    assert (stored["format"], stored["hologram"], stored["sampling"]["xtc"]) == (7, {"on": True}, 0.5)
    assert (stored["engine"], stored["sampling"]["top_k"]) == ("worker", 9)


@pytest.mark.parametrize("content", [b'{"engine": "mine",}', b"[1]", b"\xff", b'{"zoom": 20}'])
def test_a_file_that_would_lose_something_is_kept_before_the_first_save(
    tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "settings.json"
    file.write_bytes(content)
    settings, _ = load_settings(file)
    (finding,) = save_settings(file, settings)
    assert finding.code is FindingCode.SETTINGS_SET_ASIDE
    (kept,) = tmp_path.glob("settings-damaged-*.json")
    assert finding.values["kept_as"] == str(kept)
    assert kept.read_bytes() == content
    assert load_settings(file) == (settings, ())
    assert save_settings(file, settings) == ()
    assert len(list(tmp_path.iterdir())) == 2
