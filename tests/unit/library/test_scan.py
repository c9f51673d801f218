"""Folders become one row per model, whatever the files are called and however often they are met."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from app.findings import FindingCode, Severity
from app.gguf.facts import FileKind
from app.library.model_origins import ModelOrigin, ollama_names, program_folders
from app.library.scan import ModelSummary, ScanReport, scan_folders
from app.library.summary_cache import SummaryCache
from tests.builders import moe_model, text, write_gguf, write_shards

HASH = "a" * 64
CUTS = (10, 20)
needs_links = pytest.mark.skipif(sys.platform == "win32", reason="making links needs a privilege there")


def scan(
    *folders: Path, cache: SummaryCache | None = None, is_cancelled: Callable[[], bool] = lambda: False
) -> tuple[list[ModelSummary], ScanReport]:
    rows: list[ModelSummary] = []
    report = scan_folders(folders, cache or SummaryCache(None), rows.append, is_cancelled)
    return rows, report


def test_a_split_model_is_one_row_beside_a_small_one(tmp_path: Path) -> None:
    parts = write_shards(tmp_path, "Big", *moe_model("qwen3moe", layers=3), CUTS)
    write_gguf(tmp_path / "Small.gguf", *moe_model("qwen3moe", layers=1))
    rows, report = scan(tmp_path)
    assert [row.title for row in rows] == ["Big", "Small"]
    assert rows[0].path == parts[0]
    assert rows[0].files == tuple(parts)
    assert rows[0].size_bytes == sum(part.stat().st_size for part in parts)
    assert rows[0].loadable
    assert (report.found, report.unreadable, report.is_complete) == (2, (), True)


def test_a_row_carries_what_a_list_compares(tmp_path: Path) -> None:
    file = write_gguf(tmp_path / "m.gguf", *moe_model("qwen3moe", layers=2, experts=4, used=2))
    (row,), _ = scan(tmp_path)
    assert (row.kind, row.architecture, row.is_moe) == (FileKind.MODEL, "qwen3moe", True)
    assert (row.block_count, row.expert_count, row.expert_used_count, row.expert_layer_count) == (2, 4, 2, 2)
    assert row.modified_ns == file.stat().st_mtime_ns
    assert row.parameter_count is not None and row.active_parameter_count is not None
    assert 0 < row.active_parameter_count < row.parameter_count
    assert ModelSummary.from_json(json.loads(json.dumps(row.to_json()))) == row


def test_a_missing_part_is_told_in_the_one_row(tmp_path: Path) -> None:
    write_shards(tmp_path, "Big", *moe_model("qwen3moe", layers=3), CUTS)[0].unlink()
    (row,), _ = scan(tmp_path)
    assert FindingCode.SHARD_MISSING in row.codes
    assert row.severity is Severity.ERROR and not row.loadable


def test_files_that_are_parts_by_name_only_are_rows_of_their_own(tmp_path: Path) -> None:
    for number in (1, 2):
        write_gguf(tmp_path / f"m-{number:05d}-of-00002.gguf", *moe_model("qwen3moe", layers=number))
    rows, _ = scan(tmp_path)
    assert [row.block_count for row in rows] == [1, 2]


def test_what_is_no_model_is_a_row_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "page.gguf").write_text("<!doctype html>")
    (tmp_path / "notes.txt").write_text("GGUF")
    write_gguf(tmp_path / "eye.gguf", {"general.architecture": text("clip")})
    rows, _ = scan(tmp_path)
    assert [(row.title, row.kind) for row in rows] == [
        ("eye", FileKind.PROJECTOR),
        ("page", FileKind.NOT_GGUF),
    ]


def test_subfolders_come_after_a_folders_own_files_and_most_hidden_ones_never(tmp_path: Path) -> None:
    model = moe_model("qwen3moe", layers=1)
    for name in ("z.gguf", "a/b/c.gguf", ".git/g.gguf", ".lmstudio/models/l.gguf", "node_modules/n.gguf"):
        write_gguf(tmp_path / name, *model)
    rows, _ = scan(tmp_path)
    assert [row.title for row in rows] == ["z", "c", "l"]
    assert [row.origin for row in rows] == [ModelOrigin.OTHER, ModelOrigin.OTHER, ModelOrigin.LM_STUDIO]


def test_a_hidden_folder_that_is_asked_for_is_read(tmp_path: Path) -> None:
    write_gguf(tmp_path / ".mine" / "m.gguf", *moe_model("qwen3moe", layers=1))
    assert len(scan(tmp_path / ".mine")[0]) == 1


@needs_links
def test_links_that_lead_back_up_end(tmp_path: Path) -> None:
    write_gguf(tmp_path / "a" / "m.gguf", *moe_model("qwen3moe", layers=1))
    (tmp_path / "a" / "up").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "self").symlink_to(tmp_path / "self")
    (tmp_path / "self.gguf").symlink_to(tmp_path / "self.gguf")
    rows, report = scan(tmp_path, tmp_path / "a")
    assert [row.title for row in rows] == ["self", "m"]
    assert rows[0].codes == (FindingCode.PATH_MISSING,)
    assert report.unreadable == ()


@needs_links
def test_one_file_under_two_names_is_one_row(tmp_path: Path) -> None:
    file = write_gguf(tmp_path / "m.gguf", *moe_model("qwen3moe", layers=1))
    os.link(file, tmp_path / "n.gguf")
    (tmp_path / "o.gguf").symlink_to(file)
    assert [row.title for row in scan(tmp_path)[0]] == ["m"]


@needs_links
def test_a_hugging_face_cache_shows_each_model_once_by_its_name(tmp_path: Path) -> None:
    repo = tmp_path / "hub" / "models--org--some"
    blob = write_gguf(repo / "blobs" / HASH, *moe_model("qwen3moe", layers=1))
    for revision in ("1111", "2222"):
        link = repo / "snapshots" / revision / "some-Q4_K_M.gguf"
        link.parent.mkdir(parents=True)
        link.symlink_to(blob)
    (row,), _ = scan(tmp_path)
    assert (row.title, row.origin) == ("some-Q4_K_M", ModelOrigin.HUGGING_FACE)
    assert row.path.parent.name == "1111"


def test_ollamas_blobs_have_the_names_ollama_gives_them(tmp_path: Path) -> None:
    home = tmp_path / ".ollama" / "models"
    write_gguf(home / "blobs" / f"sha256-{HASH}", *moe_model("qwen3moe", layers=1))
    (home / "blobs" / f"sha256-{'b' * 64}").write_text("{{ .Prompt }}")
    manifest = home / "manifests" / "registry.ollama.ai" / "library" / "qwen3" / "30b"
    manifest.parent.mkdir(parents=True)
    layer = {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{HASH}"}
    manifest.write_text(json.dumps({"layers": [layer]}))
    (manifest.parent / "broken").write_text("[")
    (row,), _ = scan(tmp_path)
    assert (row.title, row.origin) == ("qwen3:30b", ModelOrigin.OLLAMA)
    assert ollama_names(home) == {HASH: "qwen3:30b"}


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="nothing is closed to this user")
def test_a_folder_that_is_closed_is_told_and_the_rest_is_read(tmp_path: Path) -> None:
    write_gguf(tmp_path / "m.gguf", *moe_model("qwen3moe", layers=1))
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    rows, report = scan(tmp_path)
    assert len(rows) == 1
    assert [finding.code for finding in report.unreadable] == [FindingCode.ACCESS_DENIED]


def test_a_folder_that_is_gone_is_told_and_the_rest_is_read(tmp_path: Path) -> None:
    write_gguf(tmp_path / "here" / "m.gguf", *moe_model("qwen3moe", layers=1))
    rows, report = scan(tmp_path / "gone", tmp_path / "here")
    assert len(rows) == 1
    assert [finding.code for finding in report.unreadable] == [FindingCode.PATH_MISSING]


def test_a_cancelled_scan_stops_at_the_next_file(tmp_path: Path) -> None:
    for number in range(5):
        write_gguf(tmp_path / f"{number}.gguf", *moe_model("qwen3moe", layers=1))
    rows: list[ModelSummary] = []
    report = scan_folders([tmp_path], SummaryCache(None), rows.append, lambda: len(rows) == 2)
    assert (len(rows), report.is_complete) == (2, False)


def test_folders_of_programs_are_found_where_their_variables_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOXIE_HOME", str(tmp_path / "moxie"))
    (tmp_path / "o").mkdir()
    (tmp_path / "h" / "hub").mkdir(parents=True)
    (tmp_path / "home" / ".lmstudio" / "models").mkdir(parents=True)
    moved = {"OLLAMA_MODELS": str(tmp_path / "o"), "HF_HOME": str(tmp_path / "h")}
    found = program_folders(moved, tmp_path / "home")
    assert [folder.relative_to(tmp_path).as_posix() for folder in found if tmp_path in folder.parents] == [
        "moxie/models",
        "o",
        "h/hub",
        "home/.lmstudio/models",
    ]
