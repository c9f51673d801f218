"""How a setup step runs: a line when it starts, a log of its output, one sentence when it fails."""

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from build_scripts.words import say

ROOT: Final = Path(__file__).resolve().parent.parent
CACHE: Final = ROOT / ".cache"
LOG: Final = CACHE / "setup.log"

EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
EXIT_INTERRUPTED: Final = 130

CAUSES: Final[Mapping[str, tuple[str, ...]]] = {
    "wrong_hash": ("DO NOT MATCH THE HASHES",),
    "disk_full": ("No space left on device", "[Errno 28]", "not enough space on the disk"),
    "no_network": (
        "Temporary failure",
        "Name or service not known",
        "getaddrinfo failed",
        "Network is unreachable",
        "Connection refused",
        "ConnectTimeout",
        "Read timed out",
        "No matching distribution found",
        "Unable to fetch",
    ),
}
"""Sentence -> what pip or apt print when it applies; the first match counts."""


class SetupError(Exception):
    """The command cannot go on; the message is one sentence for the person."""

    def __init__(self, message: str, status: int = EXIT_FAILED) -> None:
        super().__init__(message)
        self.status = status


class Progress:
    """Prints one line per step, with the time since the command started."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    def tell(self, key: str, **values: object) -> None:
        """Print a sentence behind the elapsed minutes and seconds."""
        minutes, seconds = divmod(int(time.monotonic() - self._start), 60)
        print(f"[{minutes:2d}:{seconds:02d}] {say(key, **values)}", flush=True)


def run_logged(
    command: Sequence[str | Path],
    *,
    env: Mapping[str, str] | None = None,
    log: Path = LOG,
    cwd: Path = ROOT,
) -> str:
    """Run a command to its end and return its output; the output also goes to `log`.

    Raises:
        SetupError: it cannot be started or ends with another status than 0.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a", encoding="utf-8", errors="replace") as stream:
        stream.write(f"\n$ {' '.join(str(part) for part in command)}\n")
        stream.flush()
        start = stream.tell()
        try:
            status = subprocess.run(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                env=env,
                cwd=cwd,
                check=False,
            ).returncode
        except OSError as reason:
            raise SetupError(say("cannot_start", program=command[0], detail=reason.strerror)) from reason
    with log.open("rb") as written:
        written.seek(start)
        output = written.read().decode("utf-8", "replace")
    if status:
        raise SetupError(explain(output, log))
    return output


def explain(output: str, log: Path) -> str:
    """Return the sentence for a failed command's output."""
    for key, signs in CAUSES.items():
        if any(sign in output for sign in signs):
            return say(key, log=log)
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return say("step_failed", detail=lines[-1] if lines else "?", log=log)


def require_space(folder: Path, needed_mb: int) -> None:
    """Check the room on a disk before filling it.

    Raises:
        SetupError: less than `needed_mb` is free.
    """
    free_mb = shutil.disk_usage(folder).free // 1024**2
    if free_mb < needed_mb:
        raise SetupError(say("no_space", folder=folder, needed=needed_mb, free=free_mb))


def speak_utf8() -> None:
    """Let Chinese sentences through, whatever the console's own encoding."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="replace")


def guarded(job: Callable[[Progress], int]) -> int:
    """Run a setup and return its exit status; whatever goes wrong is one sentence on standard error."""
    speak_utf8()
    try:
        return job(Progress())
    except SetupError as reason:
        print(reason, file=sys.stderr)
        return reason.status
    except OSError as reason:
        print(say("cannot_write", path=reason.filename, detail=reason.strerror), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(say("interrupted"), file=sys.stderr)
        return EXIT_INTERRUPTED
