"""`moxie selftest` tells an installation that works from one that does not."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.paths import source_root

WITHOUT_WORKER = """
import sys
sys.modules["llama_cpp"] = None
sys.argv = ["moxie", *sys.argv[1:]]
from app.__main__ import main
sys.exit(main())
"""
TIMEOUT_SECONDS = 120


def python(*args: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, *args],
        capture_output=True,
        encoding="utf-8",
        cwd=source_root(),
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done


def states(document: dict[str, Any]) -> dict[str, str]:
    return {step["name"]: step["state"] for step in document["steps"]}


@pytest.mark.engine
def test_an_installation_that_works_passes_with_every_engine(data_home: Path, engine_pack: Path) -> None:
    (data_home / "engines").mkdir(parents=True)
    (data_home / "engines" / "pack").symlink_to(engine_pack)
    done = python("-m", "app", "selftest", "--json")
    document = json.loads(done.stdout)
    assert done.returncode == 0
    assert document["ok"] is True
    assert states(document) == dict.fromkeys(
        (
            *("imports", "catalogues", "data-folder", "chat-store", "tiny-model"),
            *("engine:worker", "engine:pack"),
        ),
        "ok",
    )
    assert {key for step in document["steps"] for key in step} == {
        *("name", "state", "ms", "detail", "findings")
    }
    assert list((data_home).glob(".selftest*")) == []


def test_without_an_engine_it_fails_and_says_what_is_missing() -> None:
    done = python("-c", WITHOUT_WORKER, "selftest", "--json")
    document = json.loads(done.stdout)
    assert done.returncode == 1
    assert document["ok"] is False
    assert states(document)["engine"] == "failed"
    assert document["steps"][-1]["findings"][0]["code"] == "engine-missing"


@pytest.mark.skipif(sys.platform == "win32", reason="the broken engine is a shell script")
def test_an_engine_that_does_not_start_fails_with_its_finding_in_words(data_home: Path) -> None:
    broken = data_home / "engines" / "broken" / "llama-server"
    broken.parent.mkdir(parents=True)
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    done = python("-c", WITHOUT_WORKER, "selftest", "--lang", "zh_CN")
    assert done.returncode == 1
    assert "失败：engine:broken" in done.stdout
    assert "错误" in done.stdout


@pytest.mark.parametrize("what", ["folder", "damaged"])
def test_conversations_that_cannot_be_opened_fail_and_stay_as_they_are(data_home: Path, what: str) -> None:
    data_home.mkdir()
    store = data_home / "chats.sqlite3"
    if what == "folder":
        store.mkdir()
    else:
        store.write_bytes(b"these were conversations once " * 200)
    done = python("-c", WITHOUT_WORKER, "selftest", "--json")
    steps = {step["name"]: step for step in json.loads(done.stdout)["steps"]}
    assert steps["chat-store"]["state"] == "failed"
    assert [finding["values"]["path"] for finding in steps["chat-store"]["findings"]] == [str(store)]
    assert [path.name for path in data_home.glob("chats*")] == ["chats.sqlite3"]
    assert store.is_dir() is (what == "folder")
