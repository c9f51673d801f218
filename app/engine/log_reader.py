"""What an engine's log and exit code say: memory it took, and why it stopped. Pure; never raises."""

import re
import signal
from collections.abc import Iterable, Sequence
from typing import Final

from app.engine.plain_text import plain
from app.engine.protocol import BufferUse
from app.engine.refusals import abort_cause, refusal
from app.findings import Finding, FindingCode, error

_MIB: Final = 1024**2
_LINES_THAT_MATTER: Final = 60
_LINES_OF_A_LOAD: Final = 400
_WITH_A_FILE: Final = ("load", "check")

_PARTS: Final = {
    "model": "model",
    "KV": "kv_cache",
    "RS": "state",
    "state": "state",
    "compute": "compute",
    "output": "output",
}
_BUFFER: Final = re.compile(
    r"(?:^|\s)(?P<device>[^\s\[\]:]{1,64})(?:\[(?P<server>[^\s\]]{0,256})\])?"
    r"\s{1,64}(?:DSV4 \w{1,16} )?(?P<part>model|KV|RS|state|compute|output) buffer size\s{0,8}="
    r"\s{0,16}(?P<mib>\d{1,12}(?:\.\d{1,6})?) MiB"
)

_USED_REMOTE: Final = re.compile(
    r"using device (?P<device>[^\s\[\]:]{1,64}) \((?P<server>[^\s()]{1,253}:\d{1,5})\)"
)
_NUMBER: Final = re.compile(r"\d{1,3}$")

_USED_CARD: Final = re.compile(
    r"using device (?P<device>[^\s\[\]:]{1,64}) \(.{0,256}\)"
    r" \((?P<bus>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])\)"
)

_GPU_MEMORY: Final = (
    re.compile(
        r"allocating (?P<mib>\d{1,12}(?:\.\d{1,6})?) MiB on device (?P<index>\d{1,3})"
        r": \w{1,40} failed: out of memory"
    ),
    re.compile(r"Device memory allocation of size (?P<bytes>\d{1,18}) failed"),
    re.compile(
        r"failed to allocate (?P<device>(?!CPU|AMX)\w{1,32})(?:\[\S{0,256}\])?"
        r" buffer of size (?P<bytes>\d{1,18})"
    ),
    re.compile(r"Malloc\w* failed: out of memory|(?:CUDA|ROCm|HIP|SYCL|Vulkan)\d{0,2} error: out of memory"),
    re.compile(r"ErrorOutOfDeviceMemory|VK_ERROR_OUT_OF_DEVICE_MEMORY"),
)
_RAM: Final = (
    re.compile(r"failed to allocate (?:(?:CPU|AMX)\w{0,32} )?buffer of size (?P<bytes>\d{1,18})"),
    re.compile(r"attempted to allocate\s{1,16}(?P<mib>\d{1,12}(?:\.\d{1,6})?) MB"),
    re.compile(
        r"std::bad_alloc|MemoryError|ErrorOutOfHostMemory|Cannot allocate memory|paging file is too small"
    ),
)
_ONLY_A_HINT: Final = re.compile(r"pinned memory")

_ASSERT: Final = re.compile(
    r"GGML_ASSERT\(|GGML_ABORT|\.(?:c|cc|cpp|cu|cuh|h|hpp|m):\d{1,6}: |Assertion .{1,300} failed"
)
_RPC_BROKEN: Final = re.compile(
    r"ggml-rpc\.cpp:\d{1,6}: (?!GGML_ASSERT)|Remote RPC server crashed"
    r"|RPC (?:handshake failed|server version mismatch)"
)
_RPC_SERVER: Final = re.compile(
    r"(?:Failed to connect to|RPC handshake failed for) (?P<server>[^\s:]{1,253}:\d{1,5})"
)
_PATH_SEPARATOR: Final = re.compile(r"[/\\]")
_LIBRARY: Final = (
    re.compile(r"error while loading shared libraries: (?P<library>[^\s:]{1,200})"),
    re.compile(r"(?P<library>[^\s:']{1,200}): cannot open shared object file"),
    re.compile(r"version `(?P<library>[^']{1,80})' not found"),
    re.compile(r"Could not find module '(?P<library>[^']{1,300})'"),
)

_TELLING: Final = re.compile(
    r"error|fail|invalid|unsupported|not supported|no longer|cannot|could not|corrupt|missing|mismatch"
    r"|requires|unknown|exceeds|illegal|duplicate|not found|expected|is empty|not a power",
    re.IGNORECASE,
)
_SAYS_NOTHING: Final = re.compile(
    r"failed to (?:load model(?: from \S.*|, '.*| '.*)?|create[ _]context with model.*)$"
    r"|exiting due to|cleaning up before|common_init"
)
_SAYS_WHERE: Final = re.compile(r"failed to read (?:magic|header|key-value pairs|tensor info|tensor data)$")
_LOG_STAMP: Final = re.compile(r"^\d{1,9}(?:\.\d{1,9}){3} [A-Z] (?:\w{1,8} {1,8})?")
_FUNCTION: Final = re.compile(r"^[\w~]{1,80}(?:\(\))?: (?:error loading [a-z ]{1,40}: ){0,4}")

_WINDOWS_CODES: Final = {
    0xC0000005: "ACCESS_VIOLATION",
    0xC0000006: "IN_PAGE_ERROR",
    0xC00000FD: "STACK_OVERFLOW",
    0xC0000409: "STACK_BUFFER_OVERRUN",
    0xC0000374: "HEAP_CORRUPTION",
}
_WINDOWS_ILLEGAL_INSTRUCTION: Final = 0xC000001D
_WINDOWS_MISSING_LIBRARY: Final = (0xC0000135, 0xC0000139, 0xC0000142)
_WINDOWS_NO_MEMORY: Final = (0xC0000017, 0xC000012D)
_WINDOWS_STOPPED: Final = 0xC000013A


def read_buffers(lines: Iterable[str]) -> tuple[BufferUse, ...]:
    """Return the buffers llama.cpp says it took, a `BufferUse` per line, in the log's order.

    Source: `<device> model|KV|RS|compute|output buffer size = x MiB`, two decimals, so sizes are
    exact to 0.005 MiB. An RPC device is numbered anew on each server: `RPC0[127.0.0.1:50053]` is what
    `using device RPC1 (127.0.0.1:50053)` names, else, without its address, `RPC0`.
    """
    remote: dict[str, list[str]] = {}
    uses = []
    for line in lines:
        if used := _USED_REMOTE.search(line):
            names = remote.setdefault(used["server"], [])
            if used["device"] not in names:
                names.append(used["device"])
        if match := _BUFFER.search(line):
            name = _called(match["device"], remote.get(match["server"] or "", []))
            uses.append(BufferUse(name, _PARTS[match["part"]], round(float(match["mib"]) * _MIB)))
    return tuple(uses)


def read_bus_ids(lines: Iterable[str]) -> dict[str, str]:
    """Return where the cards that llama.cpp uses sit on the PCI bus, by its names for them.

    Source: `using device CUDA0 (NVIDIA H200) (0000:18:00.0) - x MiB free`; older builds name no place.
    """
    found = (_USED_CARD.search(line) for line in lines)
    return {match["device"]: match["bus"] for match in found if match}


def _called(device: str, of_server: Sequence[str]) -> str:
    """Return the engine's own name of a device that a buffer names by its number on its server."""
    if len(of_server) < 2:  # the only one that is used of it
        return of_server[0] if of_server else device
    number = _NUMBER.search(device)
    place = int(number[0]) if number else len(of_server)
    return of_server[place] if place < len(of_server) else device


def explain_exit(
    return_code: int, lines: Sequence[str], during: str, rpc_servers: Sequence[str] = ()
) -> Finding:
    """Return why an engine process ended when nobody asked it to.

    One that ends in good order while it answers was told to, by a signal it handles itself.

    Args:
        return_code: As `subprocess` gives it: negative for a signal; Windows codes signed or not;
            128 + signal where a shell stood between.
        lines: The end of its log.
        during: What it was doing: `start`, `load`, `check`, `idle` or `generate`.
        rpc_servers: Those it was told to use; one it names itself is the one.
    """
    recent = _recent(lines)
    code = return_code & 0xFFFFFFFF
    if library := _missing_library(recent):
        return error(FindingCode.ENGINE_MISSING_LIBRARY, library=library, exit_code=return_code)
    if shortage := _memory_shortage(recent):
        return shortage
    if code in _WINDOWS_NO_MEMORY:
        return error(FindingCode.ENGINE_OUT_OF_RAM, needed_bytes=None)
    if code in _WINDOWS_MISSING_LIBRARY:
        return error(FindingCode.ENGINE_MISSING_LIBRARY, library=None, exit_code=return_code)
    name = _WINDOWS_CODES.get(code) or _signal_name(return_code)
    if name == "SIGILL" or code == _WINDOWS_ILLEGAL_INSTRUCTION:
        return error(FindingCode.CPU_INSTRUCTIONS_MISSING, exit_code=return_code)
    if name != "SIGKILL" and (broken := _broken_rpc(recent, rpc_servers)):
        return broken
    if name != "SIGKILL" and (line := _last_assert(recent)):
        of_the_file = abort_cause(line) if during in _WITH_A_FILE else None
        return error(
            of_the_file or FindingCode.ENGINE_ASSERT, line=line, during=during, exit_code=return_code
        )
    was_told = return_code == 0 and during in ("generate", "idle")
    if was_told or name in ("SIGKILL", "SIGTERM") or code == _WINDOWS_STOPPED:
        return error(FindingCode.ENGINE_KILLED, during=during, exit_code=return_code)
    if name is None and during in _WITH_A_FILE:
        if cause_in_file := refusal(_whole_load(lines)):
            return cause_in_file
        if reason := _telling_line(recent):
            return error(FindingCode.ENGINE_REJECTS_MODEL, reason=reason)
    last_line = next((line for line in reversed(recent) if line.strip()), None)
    return error(
        FindingCode.ENGINE_DIED, signal=name, exit_code=return_code, during=during, last_line=last_line
    )


def explain_load_failure(lines: Sequence[str]) -> Finding:
    """Return why an engine that still lives refused a model: memory, the file, or its own words."""
    recent = _recent(lines)
    return (
        _memory_shortage(recent)
        or refusal(_whole_load(lines))
        or error(FindingCode.ENGINE_REJECTS_MODEL, reason=_telling_line(recent) or _last_assert(recent))
    )


def _recent(lines: Sequence[str]) -> list[str]:
    return [plain(line) for line in lines[-_LINES_THAT_MATTER:]]


def _whole_load(lines: Sequence[str]) -> list[str]:
    """Return the lines of one load: the file is named before all that the engine says of it."""
    return [plain(line) for line in lines[-_LINES_OF_A_LOAD:]]


def _broken_rpc(lines: Sequence[str], servers: Sequence[str]) -> Finding | None:
    """Return the finding for an engine that gave up a server; its first word on it tells most."""
    said = [line for line in lines if _RPC_BROKEN.search(line)]
    if not said:
        return None
    named = next((match["server"] for line in said if (match := _RPC_SERVER.search(line))), None)
    server = named or ", ".join(servers) or None
    return error(FindingCode.RPC_UNREACHABLE, server=server, detail=_without_folder(said[0]))


def _memory_shortage(lines: Sequence[str]) -> Finding | None:
    shortage: Finding | None = None
    for line in lines:
        if _ONLY_A_HINT.search(line):
            continue
        gpu = _first_match(_GPU_MEMORY, line)
        ram = None if gpu else _first_match(_RAM, line)
        if gpu:
            found = error(FindingCode.ENGINE_OUT_OF_VRAM, needed_bytes=_size(gpu), device=_device(gpu))
        elif ram:
            found = error(FindingCode.ENGINE_OUT_OF_RAM, needed_bytes=_size(ram))
        else:
            continue
        if shortage is None or found.values["needed_bytes"] is not None:
            shortage = found
    return shortage


def _first_match(patterns: Iterable[re.Pattern[str]], line: str) -> re.Match[str] | None:
    return next((match for pattern in patterns if (match := pattern.search(line))), None)


def _size(match: re.Match[str]) -> int | None:
    named = match.groupdict()
    if named.get("bytes"):
        return int(named["bytes"])
    return round(float(named["mib"]) * _MIB) if named.get("mib") else None


def _device(match: re.Match[str]) -> str | None:
    named = match.groupdict()
    return named.get("device") or (f"CUDA{named['index']}" if named.get("index") else None)


def _missing_library(lines: Iterable[str]) -> str | None:
    for line in lines:
        if match := _first_match(_LIBRARY, line):
            return match["library"]
    return None


def _last_assert(lines: Sequence[str]) -> str | None:
    for line in reversed(lines):
        if _ASSERT.search(line):
            return _without_folder(line)
    return None


def _without_folder(line: str) -> str:
    """Return a line without its stamp and the folder of the source file it begins with."""
    head, _, rest = _LOG_STAMP.sub("", line).strip().partition(" ")
    return f"{_PATH_SEPARATOR.split(head)[-1]} {rest}".strip()


def _telling_line(lines: Sequence[str]) -> str | None:
    where: str | None = None
    for line in reversed(lines):
        text = _LOG_STAMP.sub("", line).strip()
        if not text or _SAYS_NOTHING.search(text) or not _TELLING.search(text):
            continue
        if not _SAYS_WHERE.search(text):
            return _FUNCTION.sub("", text) or text
        where = where or _FUNCTION.sub("", text)
    return where


def _signal_name(return_code: int) -> str | None:
    number = -return_code if return_code < 0 else return_code - 128
    try:
        return signal.Signals(number).name
    except ValueError:
        return _POSIX_NAMES.get(number)


_POSIX_NAMES: Final = {4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 9: "SIGKILL", 11: "SIGSEGV", 15: "SIGTERM"}
"""For logs read on Windows, whose `signal` knows few of them."""
