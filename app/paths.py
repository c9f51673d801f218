"""User folders, bundled resources, and the command that starts this program again as a worker."""

import contextlib
import os
import sys
from pathlib import Path

import platformdirs

APP_NAME = "Moxie"
HOME_VARIABLE = "MOXIE_HOME"


def data_folder() -> Path:
    """Return the folder for everything Moxie keeps: models it made, engine packs, chats, settings.

    `MOXIE_HOME` moves it (tests, portable use). Absolute: engines start in other folders. Made on first use,
    where it can be made; who writes to it says so where it cannot.
    """
    chosen = os.environ.get(HOME_VARIABLE)
    folder = Path(chosen) if chosen else platformdirs.user_data_path(APP_NAME, appauthor=False)
    return _made(folder.absolute())


def models_folder() -> Path:
    """Return where models that Moxie made or fetched lie."""
    return _subfolder("models")


def engines_folder() -> Path:
    """Return where engine packs lie, one folder each."""
    return _subfolder("engines")


def chats_file() -> Path:
    """Return the SQLite file of conversations."""
    return data_folder() / "chats.sqlite3"


def repairs_file() -> Path:
    """Return the file with what was decided about models with wrong metadata."""
    return data_folder() / "repairs.json"


def storage_speeds_file() -> Path:
    """Return the file with what was measured of drives."""
    return data_folder() / "storage-speeds.json"


def calibrations_file() -> Path:
    """Return the file with how fast engines work through weights of each type."""
    return data_folder() / "calibrations.json"


def speed_history_file() -> Path:
    """Return the file with how fast answers were."""
    return data_folder() / "speed-history.json"


def engine_devices_file() -> Path:
    """Return the file with what engines listed as their devices."""
    return data_folder() / "engine-devices.json"


def engine_builds_file() -> Path:
    """Return the file with which build each engine's files are."""
    return data_folder() / "engine-builds.json"


def plan_accuracy_file() -> Path:
    """Return the file with what engines really took beside what was planned."""
    return data_folder() / "plan-accuracy.json"


def settings_file() -> Path:
    """Return the settings file."""
    return data_folder() / "settings.json"


def logs_folder() -> Path:
    """Return where engine and crash logs lie."""
    return _subfolder("logs")


def resource_path(*parts: str) -> Path:
    """Return a file shipped with the program, from source and when frozen."""
    root = Path(getattr(sys, "_MEIPASS", Path(__file__).resolve().parent.parent))
    return root.joinpath("resources", *parts)


def worker_command() -> list[str]:
    """Return argv that starts this program with more arguments to come.

    Frozen: the console executable beside the window's, which has the pipes a windowed one lacks.
    """
    if getattr(sys, "frozen", False):
        suffix = ".exe" if sys.platform == "win32" else ""
        return [str(Path(sys.executable).with_name(f"moxie-worker{suffix}"))]
    return [sys.executable, "-m", "app"]


def source_root() -> Path:
    """Return the folder that holds the `app` package; child processes start there."""
    return Path(__file__).resolve().parent.parent


def _subfolder(name: str) -> Path:
    return _made(data_folder() / name)


def _made(folder: Path) -> Path:
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    return folder
