"""System packages on Debian and its relatives; other systems bring their own."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from build_scripts.steps import run_logged

WINDOW_PACKAGES: Final = (
    "libdbus-1-3",
    "libegl1",
    "libfontconfig1",
    "libgl1",
    "libglib2.0-0",
    "libwayland-cursor0",
    "libwayland-egl1",
    "libx11-xcb1",
    "libxcb-cursor0",
    "libxcb-glx0",
    "libxcb-icccm4",
    "libxcb-image0",
    "libxcb-keysyms1",
    "libxcb-randr0",
    "libxcb-render-util0",
    "libxcb-shape0",
    "libxcb-shm0",
    "libxcb-sync1",
    "libxcb-xfixes0",
    "libxcb-xkb1",
    "libxkbcommon-x11-0",
)
"""What the libraries of PySide6 6.8 and their X11 and Wayland plugins ask of the system (readelf -d)."""

ENGINE_PACKAGES: Final = ("libgomp1", "libstdc++6")
"""What the ready-made engine asks of the system."""

CHINESE_FONT: Final = "fonts-wqy-microhei"
COMPILER_PACKAGES: Final = ("gcc", "g++", "libc6-dev")


def is_debian_root() -> bool:
    """Return whether system packages can be installed here."""
    if sys.platform == "win32":
        return False
    return shutil.which("apt-get") is not None and os.geteuid() == 0


def missing_run_packages() -> list[str]:
    """Return what the engine and a window still need, a Chinese font included."""
    missing = missing_packages((*ENGINE_PACKAGES, *WINDOW_PACKAGES))
    return missing if has_chinese_font() else [*missing, CHINESE_FONT]


def missing_packages(names: Sequence[str]) -> list[str]:
    """Return those of `names` that are not installed."""
    listed = subprocess.run(
        ["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package}\\n", *names],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
    ).stdout.decode("utf-8", "replace")
    installed = {
        line.removeprefix("installed ") for line in listed.splitlines() if line.startswith("installed ")
    }
    return [name for name in names if name not in installed]


def has_chinese_font() -> bool:
    """Return whether the system can draw Chinese."""
    if shutil.which("fc-list") is not None:
        fonts = subprocess.run(
            ["fc-list", ":lang=zh-cn", "family"], stdout=subprocess.PIPE, check=False
        ).stdout
        return bool(fonts.strip())
    return any(Path("/usr/share/fonts").rglob("wqy-microhei*"))


def install_system_packages(names: Sequence[str]) -> None:
    """Install packages without questions.

    Raises:
        SetupError: apt failed.
    """
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    run_logged(["apt-get", "update", "-q"], env=env)
    run_logged(["apt-get", "install", "-y", "-q", "--no-install-recommends", *names], env=env)
