"""Engine packs: what is let in, what is kept, and which engine a person gets."""

import io
import json
import os
import shutil
import stat
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.engine import pack_archive, packs
from app.engine.pack_archive import BROKEN_ARCHIVE, zip_members
from app.engine.pack_install import add_pack, verify_pack
from app.engine.pack_smoke import smoke_test
from app.engine.packs import (
    EngineEntry,
    PackRecord,
    SmokeResult,
    choose_engine,
    find_engine,
    list_engines,
    read_record,
    write_record,
)
from app.engine.spec import BackendKind
from app.findings import FindingCode, FindingError, Severity
from app.paths import engines_folder
from tests.fake_pack import make_fake_pack

posix = pytest.mark.skipif(sys.platform == "win32", reason="the fake engine is a POSIX script")
pytestmark = posix


@pytest.fixture(autouse=True)
def no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """The built-in worker is there only where a test says so."""
    monkeypatch.setattr(packs, "_worker_is_installed", lambda: False)


def _fails(call: Callable[[], object]) -> FindingCode:
    with pytest.raises(FindingError) as caught:
        call()
    return caught.value.finding.code


def _source(tmp_path: Path) -> Path:
    folder = tmp_path / "source" / "build" / "bin"
    make_fake_pack(folder)
    (folder / "libx.so").write_bytes(b"lib")
    (tmp_path / "source" / "LICENSE").write_text("do as you like", encoding="utf-8")
    (tmp_path / "source" / "README.md").write_text("hello", encoding="utf-8")
    return tmp_path / "source"


def _zip(file: Path, entries: Mapping[str, bytes], source: Path | None = None) -> Path:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
        for path in sorted(source.rglob("*")) if source else ():
            if path.is_file():
                archive.writestr(path.relative_to(source or path).as_posix(), path.read_bytes())
    return file


def test_a_folder_becomes_a_pack_with_its_licence(tmp_path: Path) -> None:
    entry = add_pack(_source(tmp_path), "first")
    folder = engines_folder() / "first"
    assert entry.spec.pack_folder == folder
    assert entry.build == "9.9 (build 1, commit abc)"
    assert sorted(p.name for p in folder.iterdir()) == [
        "libx.so", "licenses", "llama-server", "pack.json", "scenario.json",
    ]  # fmt: skip
    assert (folder / "licenses" / "LICENSE").read_text(encoding="utf-8") == "do as you like"
    assert os.access(folder / "llama-server", os.X_OK)


def test_a_zip_that_lost_its_executable_bits_works(tmp_path: Path) -> None:
    entry = add_pack(_zip(tmp_path / "llama b1 (win).zip", {}, _source(tmp_path)))
    assert entry.name == "llama-b1-win"
    assert find_engine("llama-b1-win").record == entry.record
    assert verify_pack(entry) == ()


def test_a_wheels_name_loses_its_tags(tmp_path: Path) -> None:
    wheel = _zip(tmp_path / "skulk_vulkan-0.1.0-py3-none-manylinux_2_35_x86_64.whl", {}, _source(tmp_path))
    assert add_pack(wheel).name == "skulk_vulkan-0.1.0"
    assert add_pack(wheel).name == "skulk_vulkan-0.1.0-2"


def test_a_bin_brings_the_lib_beside_it_along(tmp_path: Path) -> None:
    source = _source(tmp_path)
    (source / "build" / "lib").mkdir()
    (source / "build" / "lib" / "liby.so").write_bytes(b"lib")
    (source / "build" / "share").mkdir()
    (source / "build" / "share" / "page.html").write_bytes(b"no")
    folder = add_pack(source, "p").spec.pack_folder
    assert folder is not None
    assert sorted(p.name for p in folder.iterdir()) == ["bin", "lib", "licenses", "pack.json"]
    assert (folder / "lib" / "liby.so").is_file() and (folder / "bin" / "libx.so").is_file()
    assert find_engine("p").build == "9.9 (build 1, commit abc)"


def test_links_to_libraries_become_files(tmp_path: Path) -> None:
    source = _source(tmp_path)
    (source / "build" / "bin" / "libx.so.1").symlink_to("libx.so")
    folder = add_pack(source, "p").spec.pack_folder
    assert folder is not None
    assert (folder / "libx.so.1").read_bytes() == b"lib"
    assert not (folder / "libx.so.1").is_symlink()


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    source = _source(tmp_path)
    secret = tmp_path / "secret"
    secret.write_text("s", encoding="utf-8")
    (source / "build" / "bin" / "libx.so.1").symlink_to(secret)
    assert _fails(lambda: add_pack(source)) is FindingCode.PACK_INVALID


@pytest.mark.parametrize(
    "name",
    [
        "../evil",
        "a/../../evil",
        "/evil",
        "C:/evil",
        "a\\..\\evil",
        "./evil",
        "a//evil",
        "evil.",
        "a/ev\x00il",
    ],
)
def test_a_zip_entry_that_leaves_its_folder_is_refused(tmp_path: Path, name: str) -> None:
    kept = add_pack(_source(tmp_path), "kept")
    archive = tmp_path / "bad.zip"
    with zipfile.ZipFile(archive, "w") as out:
        info = zipfile.ZipInfo("x")
        info.filename = info.orig_filename = name
        out.writestr(info, b"boo")
        out.writestr("llama-server", b"x")
    assert _fails(lambda: add_pack(archive)) is FindingCode.PACK_INVALID
    assert [entry.name for entry in list_engines()] == ["kept"]
    assert verify_pack(kept) == ()
    assert not list(tmp_path.rglob("evil*"))


def test_a_link_in_a_zip_is_refused(tmp_path: Path) -> None:
    info = zipfile.ZipInfo("bin/libx.so")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    archive = tmp_path / "bad.zip"
    with zipfile.ZipFile(archive, "w") as out:
        out.writestr(info, b"/etc/passwd")
        out.writestr("bin/llama-server", b"x")
    assert _fails(lambda: add_pack(archive)) is FindingCode.PACK_INVALID


def test_names_that_differ_in_case_only_are_refused(tmp_path: Path) -> None:
    archive = _zip(tmp_path / "bad.zip", {"llama-server": b"x", "LLAMA-server": b"y"})
    assert _fails(lambda: add_pack(archive)) is FindingCode.PACK_INVALID


def test_a_truncated_zip_is_refused_and_the_former_pack_is_untouched(tmp_path: Path) -> None:
    kept = add_pack(_source(tmp_path), "kept")
    whole = _zip(tmp_path / "whole.zip", {}, tmp_path / "source").read_bytes()
    cut = tmp_path / "cut.zip"
    for size in (0, 10, len(whole) // 2, len(whole) - 5):
        cut.write_bytes(whole[:size])
        assert _fails(lambda: add_pack(cut)) is FindingCode.PACK_INVALID
    assert [entry.name for entry in list_engines()] == ["kept"]
    assert verify_pack(kept) == ()
    assert [p.name for p in engines_folder().iterdir()] == ["kept"]


def test_a_damaged_entry_is_refused(tmp_path: Path) -> None:
    archive = _zip(tmp_path / "bad.zip", {}, _source(tmp_path))
    data = bytearray(archive.read_bytes())
    data[200:260] = bytes(60)
    archive.write_bytes(data)
    assert _fails(lambda: add_pack(archive)) is FindingCode.PACK_INVALID


def test_a_source_beyond_the_limits_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = _source(tmp_path)
    archive = _zip(tmp_path / "big.zip", {}, source)
    monkeypatch.setattr(pack_archive, "SIZE_LIMIT_BYTES", 1000)
    assert _fails(lambda: add_pack(source)) is FindingCode.PACK_INVALID
    assert _fails(lambda: add_pack(archive)) is FindingCode.PACK_INVALID
    monkeypatch.setattr(pack_archive, "ENTRIES_LIMIT", 2)
    assert _fails(lambda: add_pack(source)) is FindingCode.PACK_INVALID
    assert _fails(lambda: add_pack(archive)) is FindingCode.PACK_INVALID


def test_a_source_without_a_server_is_no_pack(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert _fails(lambda: add_pack(tmp_path / "empty")) is FindingCode.PACK_WITHOUT_SERVER
    windows = _zip(tmp_path / "w.zip", {"llama-server.exe": b"MZ"})
    assert _fails(lambda: add_pack(windows)) is FindingCode.PACK_WITHOUT_SERVER


def test_a_server_that_does_not_start_is_not_installed(tmp_path: Path) -> None:
    archive = _zip(tmp_path / "w.zip", {"llama-server": b"\x7fELF nonsense"})
    assert _fails(lambda: add_pack(archive)) is FindingCode.ENGINE_START_FAILED
    assert list(engines_folder().iterdir()) == []


def test_a_missing_source_is_a_missing_path(tmp_path: Path) -> None:
    assert _fails(lambda: add_pack(tmp_path / "nothing")) is FindingCode.PATH_MISSING


@pytest.mark.parametrize("name", ["worker", "Echo", "a/b", "", ".hidden", "nul", "x" * 65, "名字", "end."])
def test_a_name_that_could_be_mistaken_is_refused(tmp_path: Path, name: str) -> None:
    assert _fails(lambda: add_pack(_source(tmp_path), name)) is FindingCode.PACK_NAME_INVALID


def test_a_taken_name_is_refused_and_the_pack_behind_it_stays(tmp_path: Path) -> None:
    entry = add_pack(_source(tmp_path), "mine")
    assert _fails(lambda: add_pack(tmp_path / "source", "Mine")) is FindingCode.PACK_NAME_TAKEN
    assert verify_pack(entry) == ()


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = _source(tmp_path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "rename", full)
    assert _fails(lambda: add_pack(source)) is FindingCode.DISK_FULL
    assert list(engines_folder().iterdir()) == []


def test_a_changed_file_is_named_and_the_engine_is_not_started(tmp_path: Path) -> None:
    entry = add_pack(_source(tmp_path), "p")
    folder = engines_folder() / "p"
    (folder / "libx.so").write_bytes(b"other")
    (folder / "licenses" / "LICENSE").unlink()
    findings = smoke_test(entry)
    assert {finding.code for finding in findings} == {FindingCode.PACK_HASH_MISMATCH}
    assert {finding.values["file"] for finding in findings} == {"libx.so", "licenses/LICENSE"}
    assert not (folder / "starts").exists()
    kept = read_record(folder)
    assert kept is not None and kept.smoke is not None and not kept.smoke.passed


def test_a_pack_that_answers_wrong_fails_its_self_test(tmp_path: Path) -> None:
    entry = add_pack(_source(tmp_path), "p")
    (finding,) = smoke_test(entry)
    assert finding.code is FindingCode.PACK_SMOKE_FAILED
    assert finding.values == {"name": "p", "step": "chat", "answer": "hm魔匣"}
    assert choose_fails(None, None) is FindingCode.ENGINE_MISSING


def test_a_pack_that_dies_of_an_override_fails_its_self_test(tmp_path: Path) -> None:
    source = tmp_path / "source"
    make_fake_pack(source, [{"lines": ["free(): invalid pointer"], "exit": "SIGABRT"}])
    failed, cause = smoke_test(add_pack(source, "p"))
    assert failed.values["step"] == "--cpu-moe"
    assert cause.code in (FindingCode.ENGINE_DIED, FindingCode.ENGINE_ASSERT)


@pytest.mark.engine
def test_the_real_pack_passes_its_self_test(engine_pack: Path) -> None:
    entry = add_pack(engine_pack, "real")
    assert smoke_test(entry) == ()
    assert choose_engine(None, None).name == "real"


def _put(name: str, added: str, *, passed: bool | None) -> None:
    folder = engines_folder() / name
    make_fake_pack(folder)
    smoke = None if passed is None else SmokeResult(passed, added)
    write_record(folder, PackRecord("x.zip", added, "b1", ("CPU",), {}, smoke))


def choose_fails(name: str | None, settings_engine: str | None) -> FindingCode:
    return _fails(lambda: choose_engine(name, settings_engine))


def test_the_named_engine_wins_then_the_settings_then_the_worker_then_the_newest_that_passed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _put("old", "2026-01-01", passed=True)
    _put("new", "2026-03-01", passed=True)
    _put("broken", "2026-04-01", passed=False)
    _put("untested", "2026-05-01", passed=None)
    assert choose_engine("old", "new").name == "old"
    assert choose_engine(None, "untested").name == "untested"
    assert choose_engine(None, None).name == "new"
    monkeypatch.setattr(packs, "_worker_is_installed", lambda: True)
    assert choose_engine(None, None).backend is BackendKind.LLAMA
    assert choose_engine("echo", None).backend is BackendKind.ECHO


def test_without_any_engine_there_is_a_finding() -> None:
    assert choose_fails(None, None) is FindingCode.ENGINE_MISSING
    _put("broken", "2026-04-01", passed=False)
    assert choose_fails(None, None) is FindingCode.ENGINE_MISSING


def test_an_unknown_name_comes_with_the_known_ones() -> None:
    _put("a", "2026-01-01", passed=True)
    with pytest.raises(FindingError) as caught:
        choose_engine("b", None)
    assert caught.value.finding.values == {"name": "b", "known": ("a",)}
    assert choose_fails(None, "gone") is FindingCode.ENGINE_NOT_FOUND


def test_the_list_hides_the_engine_without_a_model_and_marks_the_selected_one() -> None:
    _put("b", "2026-01-01", passed=True)
    _put("a", "2026-02-01", passed=True)
    shutil.copytree(engines_folder() / "a", engines_folder() / ".adding-x")
    assert [(e.name, e.is_selected) for e in list_engines()] == [("a", True), ("b", False)]
    assert [e.name for e in list_engines("b") if e.is_selected] == ["b"]
    assert [e.name for e in list_engines(with_echo=True)] == ["a", "b", "echo"]


def test_a_pack_put_there_by_hand_is_listed_without_a_record() -> None:
    make_fake_pack(engines_folder() / "own")
    (entry,) = list_engines()
    assert entry == EngineEntry(entry.spec)
    assert entry.to_json()["build"] is None


@given(st.binary(max_size=300))
@settings(max_examples=50)
def test_any_record_is_read_or_is_none(content: bytes) -> None:
    folder = engines_folder() / "fuzz"
    folder.mkdir(exist_ok=True)
    (folder / "pack.json").write_bytes(content)
    assert read_record(folder) is None or isinstance(json.loads(content), dict)


def test_a_record_survives_writing_and_reading() -> None:
    folder = engines_folder() / "p"
    folder.mkdir()
    smoke = SmokeResult(False, "2026", ("engine-died",))
    record = PackRecord("包.zip", "2026", "b1", ("CPU",), {"a/b": "00"}, smoke)
    write_record(folder, record)
    assert read_record(folder) == record


_VALID = io.BytesIO()
with zipfile.ZipFile(_VALID, "w", zipfile.ZIP_DEFLATED) as _archive:
    _archive.writestr("bin/llama-server", b"x" * 500)
    _archive.writestr("LICENSE", b"words")


@given(st.lists(st.tuples(st.integers(0, len(_VALID.getvalue()) - 1), st.integers(0, 255)), max_size=6))
@example([(_VALID.getvalue().rindex(b"bin/llama-server"), 0)])  # a member without a name
def test_a_damaged_archive_gives_members_or_a_named_error(changes: list[tuple[int, int]]) -> None:
    data = bytearray(_VALID.getvalue())
    for position, value in changes:
        data[position] = value
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for member in zip_members(Path("x.zip"), archive):
                with member.open() as stream:
                    stream.read(1000)
    except FindingError as reason:
        assert reason.finding.code is FindingCode.PACK_INVALID
    except BROKEN_ARCHIVE:
        pass


@pytest.mark.parametrize(
    "entries",
    [
        {"llama-server": b"x", "a": b"1", "a/b": b"2"},
        {"llama-server": b"x", "A/b": b"1", "a": b"2"},
        {"llama-server": b"x", "n" * 300: b"1"},
        {"llama-server": b"x", "/".join(["dir"] * 400): b"1"},
        {"bin/llama-server": b"x", "bin/licenses": b"1", "LICENSE": b"2"},
    ],
)
def test_entries_that_cannot_lie_beside_each_other_are_refused(
    tmp_path: Path, entries: dict[str, bytes]
) -> None:
    archive = _zip(tmp_path / "bad.zip", entries)
    assert _fails(lambda: add_pack(archive)) is FindingCode.PACK_INVALID
    assert list(engines_folder().iterdir()) == []


def test_a_licence_deep_in_the_archive_gets_a_name_that_fits(tmp_path: Path) -> None:
    deep = "/".join(["d" * 90] * 4) + "/LICENSE"
    entry = add_pack(_zip(tmp_path / "p.zip", {deep: b"free"}, _source(tmp_path)))
    assert entry.record is not None
    (name,) = (path for path in entry.record.files if path.endswith("d-LICENSE"))
    assert (engines_folder() / entry.name / name).read_bytes() == b"free"


def test_a_pack_made_of_a_pack_has_a_record_of_its_own(tmp_path: Path) -> None:
    add_pack(_source(tmp_path), "first")
    second = add_pack(engines_folder() / "first", "second")
    assert second.record is not None
    assert "pack.json" not in second.record.files
    assert verify_pack(second) == ()
    assert verify_pack(next(entry for entry in list_engines() if entry.name == "second")) == ()


def test_a_source_whose_name_is_no_text_is_recorded(tmp_path: Path) -> None:
    source = _source(tmp_path).rename(tmp_path / os.fsdecode(b"p\xff"))
    entry = add_pack(source, "p")
    assert read_record(engines_folder() / "p") == entry.record


def test_a_result_that_cannot_be_kept_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = add_pack(_source(tmp_path), "p")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    failed, kept = smoke_test(entry)
    assert failed.code is FindingCode.PACK_SMOKE_FAILED
    assert (kept.code, kept.severity) == (FindingCode.DISK_FULL, Severity.WARNING)
