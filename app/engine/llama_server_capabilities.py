"""What one llama-server executable can do, asked of itself: `--help`, `--version`, `--list-devices`."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from app.engine.log_reader import explain_exit
from app.engine.plain_text import plain
from app.engine.protocol import DeviceInfo
from app.files import is_regular, storage_finding
from app.findings import FindingCode, FindingError, error
from app.processes.children import ChildStreams, start_child
from app.processes.environment import engine_environment

ASK_SECONDS: Final = 30.0
"""Limit for one question. Drivers wake up meanwhile: Vulkan takes seconds on a cold machine."""

SERVER_NAME: Final = "llama-server.exe" if sys.platform == "win32" else "llama-server"

_SWITCH = re.compile(r"-{1,2}[A-Za-z][\w.-]*")
_INDENT_OF_DESCRIPTIONS: Final = 5
_DEVICE = re.compile(
    r"^\s+(?P<name>[A-Za-z][\w.:-]*): (?P<description>.*) "
    r"\((?P<total>\d+) MiB, (?P<free>\d+) MiB free\)\s*$"
)
_MIB: Final = 1024**2


class HelpError(Exception):
    """A help text lists no switches."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The switches an executable knows.

    Attributes:
        switches: Every spelling of a switch -> its placeholder and description, as printed.
    """

    switches: Mapping[str, str]

    def first_known(self, *spellings: str) -> str | None:
        """Return the first spelling the executable knows."""
        return next((name for name in spellings if name in self.switches), None)

    def mentions(self, spelling: str, text: str) -> bool:
        """Say whether the description of a switch contains `text`; False for an unknown switch."""
        return text in self.switches.get(spelling, "")


def parse_help(text: str) -> Capabilities:
    """Read a help text of any llama.cpp age.

    Raises:
        HelpError: no line looks like a switch.
    """
    switches: dict[str, str] = {}
    names: list[str] = []
    for line in text.splitlines():
        body = line.lstrip()
        if len(line) - len(body) < _INDENT_OF_DESCRIPTIONS and body.startswith("-") and _SWITCH.match(body):
            names, rest = _spellings(body)
            switches.update(dict.fromkeys(names, rest))
        elif body:
            for name in names:
                switches[name] += f"\n{body}"
        else:
            names = []
    if not switches:
        raise HelpError("no switch in the help text")
    return Capabilities(switches)


def parse_version(text: str) -> str:
    """Return the version as the executable words it, e.g. `0.1.0-dev (build 1, commit 7e4c0a9)`."""
    found = re.search(r"^version:\s*(\S.*?)\s*$", text, re.MULTILINE)
    return plain(found.group(1)) if found else ""


def parse_devices(text: str) -> tuple[DeviceInfo, ...]:
    """Return the devices of `--list-devices`, which leaves out the CPU."""
    found = (match for line in text.splitlines() if (match := _DEVICE.match(line)))
    return tuple(
        DeviceInfo(
            match["name"],
            plain(match["description"]),
            _device_kind(match["name"]),
            free_bytes=int(match["free"]) * _MIB,
            total_bytes=int(match["total"]) * _MIB,
        )
        for match in found
    )


def server_executable(pack_folder: Path) -> Path:
    """Return the pack's server for this system, in the folder or its `bin`, whether it exists or not."""
    beside, below = pack_folder / SERVER_NAME, pack_folder / "bin" / SERVER_NAME
    return below if is_regular(below) and not is_regular(beside) else beside


@cache
def read_capabilities(executable: Path) -> Capabilities:
    """Ask the executable for its switches, once per process.

    Raises:
        FindingError: it does not start here, or prints no help.
    """
    try:
        return parse_help(ask(executable, ("--help",)))
    except HelpError as reason:
        raise FindingError(
            error(FindingCode.ENGINE_START_FAILED, engine=executable.parent.name, detail=str(reason))
        ) from reason


def read_version(executable: Path) -> str:
    """Return the executable's version text.

    Raises:
        FindingError: as for `read_capabilities`.
    """
    return parse_version(ask(executable, ("--version",)))


def read_devices(executable: Path, rpc_servers: Iterable[str] = ()) -> tuple[DeviceInfo, ...]:
    """Return the executable's devices, the CPU last; RPC servers appear only when they are named.

    Raises:
        FindingError: as for `read_capabilities`.
    """
    joined = ",".join(rpc_servers)
    rpc = ("--rpc", joined) if joined else ()
    listed = parse_devices(ask(executable, (*rpc, "--list-devices")))
    return (*listed, DeviceInfo("CPU", "CPU", "cpu"))


def ask(executable: Path, arguments: Iterable[str], limit_seconds: float = ASK_SECONDS) -> str:
    """Run the executable for its output, both streams together, and return it.

    Raises:
        FindingError: it is missing, cannot start, fails, or gives no answer in time.
    """
    argv = [str(executable), *arguments]
    try:
        # a file: a pipe would stay open as long as any helper process the executable leaves behind
        output = tempfile.TemporaryFile()  # noqa: SIM115  # closed below
    except OSError as reason:
        raise FindingError(storage_finding(reason, Path(tempfile.gettempprefix()))) from reason
    with output:
        return_code = _run(argv, ChildStreams(stdout=output, stderr=subprocess.STDOUT), limit_seconds)
        output.seek(0)
        text = output.read().decode(errors="replace")
    if return_code:
        raise FindingError(explain_exit(return_code, text.splitlines(), "start"))
    return text


def _run(argv: Sequence[str], streams: ChildStreams, limit_seconds: float) -> int:
    environment = engine_environment(os.environ)
    try:
        # a group of its own: a script that started something else takes that along
        child = start_child(argv, env=environment, streams=streams, die_with_parent=True, leads_group=True)
    except OSError as reason:
        engine = Path(argv[0]).parent.name
        raise FindingError(
            error(FindingCode.ENGINE_START_FAILED, engine=engine, detail=str(reason))
        ) from reason
    try:
        return child.wait(limit_seconds)
    except subprocess.TimeoutExpired as reason:
        child.kill_all()
        child.wait()
        raise FindingError(
            error(FindingCode.ENGINE_TIMED_OUT, seconds=limit_seconds, during="start")
        ) from reason


def _spellings(line: str) -> tuple[list[str], str]:
    names: list[str] = []
    position = 0
    while match := _SWITCH.match(line, position):
        names.append(match.group())
        position = match.end()
        comma = re.compile(r",\s*").match(line, position)
        if comma is None:
            break
        position = comma.end()
    return names, line[position:].strip()


def _device_kind(name: str) -> str:
    if name.upper().startswith("CPU"):
        return "cpu"
    return "accelerator" if name.upper().startswith(("BLAS", "ZDNN")) else "gpu"
