"""`moxie doctor --json` as a process of Windows, or of Wine: it says what is absent, and only that."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.hardware.windows_runtime import read_wine_version

pytestmark = pytest.mark.skipif(sys.platform != "win32", reason="asks Windows itself")

ROOT = Path(__file__).resolve().parents[3]
CODES_OF_NO_GPU = {"nvidia-driver-missing", "gpu-not-found"}


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the command prints."""
    home = tmp_path_factory.mktemp("数据 folder")
    done = subprocess.run(
        [sys.executable, "-m", "app", "doctor", "--json"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "MOXIE_HOME": str(home), "LC_ALL": "en_US.UTF-8"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
    assert done.stderr == b""
    return json.loads(done.stdout.decode("utf-8"))


def test_the_machine_is_described(answer: Any) -> None:
    host = answer["host"]
    assert host["os_name"] == "Windows"
    assert host["ram_total_bytes"] > host["ram_available_bytes"] > 0
    assert host["commit_limit_bytes"] >= host["commit_used_bytes"] > 0
    assert host["cpu"]["logical_cores"] >= host["cpu"]["physical_cores"] >= 1
    assert "C:\\" in [disk["mount"] for disk in host["disks"]]


@pytest.mark.skipif(read_wine_version() is None, reason="a real machine may have cards")
def test_without_cards_nothing_is_made_up(answer: Any) -> None:
    assert (answer["gpus"], answer["driver"], answer["cuda"]) == ([], None, None)
    codes = {finding["code"] for finding in answer["findings"]}
    assert codes >= {*CODES_OF_NO_GPU, "in-wine"}
    system_folder = Path(os.environ["SYSTEMROOT"]) / "System32"
    assert answer["runtime"]["has_vulkan_loader"] is (system_folder / "vulkan-1.dll").is_file()
    assert (answer["runtime"]["cuda_runtimes"], answer["runtime"]["cuda_toolkits"]) == ([], [])
    assert answer["system"]["wine_version"] == read_wine_version()
    assert not {"nvidia-driver-failed", "probe-failed", "probe-timed-out"} & codes
