"""Any path gets an answer."""

import hashlib
import os
import sys
from pathlib import Path

import pytest

from app.findings import FindingCode
from app.gguf.facts import FileKind
from app.gguf.inspect_file import inspect_path
from tests.builders import Keys, dense_model, gguf_bytes, moe_model, text, write_gguf

PROJECTOR: Keys = {"general.architecture": text("clip"), "general.type": text("mmproj")}


@pytest.mark.parametrize(
    ("content", "looks_like"),
    [
        (b"<!DOCTYPE html><html><body>404</body></html>" * 40, "html"),
        (b"\r\n  <html lang='en'>", "html"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 4\n",
            "git-lfs-pointer",
        ),
        (b"PK\x03\x04" + bytes(400), "zip"),
        (b"\x50\0\0\0\0\0\0\0" + b'{"__metadata__":{"format":"pt"}}', "safetensors"),
        (b"GGML" + bytes(40), "ggml-before-gguf"),
        (bytes(8_000), "zeros"),
        (b'{"error": "not found"}', "json"),
        (b"Access denied", "text"),
        (b"\xd0\xcf\x11\xe0" * 30, None),
    ],
)
def test_a_file_that_is_not_gguf_is_told_for_what_it_is(
    tmp_path: Path, content: bytes, looks_like: str | None
) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(content)
    inspected = inspect_path(file)
    assert inspected.facts.kind is FileKind.NOT_GGUF
    assert inspected.facts.size_bytes == len(content)
    assert [(f.code, f.values["looks_like"]) for f in inspected.findings] == [
        (FindingCode.NOT_GGUF, looks_like)
    ]


def test_an_empty_file_is_said_to_be_empty(tmp_path: Path) -> None:
    file = tmp_path / "m.gguf"
    file.touch()
    assert [f.code for f in inspect_path(file).findings] == [FindingCode.FILE_EMPTY]


@pytest.mark.parametrize("name", ["missing.gguf", "nul\0byte", "x" * 5_000])
def test_a_path_where_nothing_is_becomes_a_finding(tmp_path: Path, name: str) -> None:
    codes = [f.code for f in inspect_path(tmp_path / name).findings]
    assert codes in ([FindingCode.PATH_MISSING], [FindingCode.ACCESS_DENIED])


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root and Windows read it anyway")
def test_a_file_one_may_not_read_is_access_denied(tmp_path: Path) -> None:
    file = write_gguf(tmp_path / "m.gguf", *dense_model())
    file.chmod(0)
    assert [f.code for f in inspect_path(file).findings] == [FindingCode.ACCESS_DENIED]


def test_a_file_that_vanishes_or_is_locked_while_reading_is_access_denied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_gguf(tmp_path / "m.gguf", *dense_model())

    def locked(*_args: object, **_kwargs: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", locked)
    finding = inspect_path(file).findings[0]
    assert (finding.code, finding.values["detail"]) == (FindingCode.ACCESS_DENIED, "Permission denied")


def test_a_folder_with_one_model_is_that_model_whatever_lies_beside_it(tmp_path: Path) -> None:
    model = write_gguf(tmp_path / "model.gguf", *moe_model())
    write_gguf(tmp_path / "mmproj.gguf", PROJECTOR)
    (tmp_path / "readme.md").write_text("hello")
    inspected = inspect_path(tmp_path)
    assert inspected.facts.path == model
    assert inspected.loadable


def test_a_folder_with_several_models_or_none_lists_them(tmp_path: Path) -> None:
    none = inspect_path(tmp_path).findings[0]
    assert (none.code, none.values["found"]) == (FindingCode.FOLDER_AMBIGUOUS, 0)
    for name in ("b.gguf", "a.gguf"):
        write_gguf(tmp_path / name, *dense_model())
    two = inspect_path(tmp_path).findings[0]
    assert two.values["models"] == ("a.gguf", "b.gguf")


def test_a_relative_path_is_answered_with_an_absolute_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_gguf(tmp_path / "m.gguf", *dense_model())
    monkeypatch.chdir(tmp_path)
    assert inspect_path(Path("m.gguf")).facts.path == tmp_path / "m.gguf"


def test_names_with_blanks_and_any_script_are_kept(tmp_path: Path) -> None:
    file = write_gguf(tmp_path / "测试 用户" / "模型（新） ü é [1] 100% & 'x'.gguf", *moe_model())
    inspected = inspect_path(file)
    assert os.fsencode(inspected.facts.path) == os.fsencode(file)
    assert inspected.loadable


def test_a_link_is_not_followed_so_that_parts_keep_their_names(tmp_path: Path) -> None:
    blob = write_gguf(tmp_path / "blobs" / "0a1b", *dense_model())
    link = tmp_path / "model.gguf"
    try:
        link.symlink_to(blob)
    except OSError:
        pytest.skip("this system makes no links")
    inspected = inspect_path(link)
    assert (inspected.facts.path, inspected.facts.size_bytes) == (link, blob.stat().st_size)


def test_the_file_is_the_same_after_inspecting(tmp_path: Path) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(gguf_bytes(*moe_model()))
    before = (hashlib.sha256(file.read_bytes()).digest(), file.stat().st_mtime_ns)
    inspect_path(file)
    assert (hashlib.sha256(file.read_bytes()).digest(), file.stat().st_mtime_ns) == before
