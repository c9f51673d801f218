"""What a llama-server would take of every device, asked without reading a tensor.

`-fit on` makes the server build model and context without memory behind them and log a table of what they
would take: 0.6 s for a model of 144 GB (b10434). It is ended once the table is there.
"""

import queue
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.engine.llama_server_args import fixed_value, option_arguments, service_arguments
from app.engine.llama_server_capabilities import Capabilities, read_capabilities, server_executable
from app.engine.llama_server_child import ServerChild
from app.engine.log_reader import explain_exit, explain_load_failure
from app.findings import FindingCode, FindingError, error
from app.options import EngineOptions
from app.planner.corrections import PartGroup

WAIT_SECONDS: Final = 60.0
"""For the table; drivers may have to wake up first."""

_POLL_SECONDS: Final = 0.1
_MIB: Final = 1024**2
_TABLE: Final = "memory breakdown [MiB]"
_LINE: Final = "memory_breakdown_print"
_NUMBER: Final = r"\s{0,20}(-?\d{1,12})\s{0,20}"
_ROW: Final = re.compile(
    r"\|\s{1,8}- (?P<device>[^\s(|]{1,64})[^|]{0,300}\|[^|]{0,120}?"
    rf"\(?{_NUMBER}={_NUMBER}\+{_NUMBER}\+{_NUMBER}\)?[^|(]{{0,60}}\|"
)


@dataclass(frozen=True, slots=True)
class BreakdownRow:
    """What one device would take; whole MiB, rounded down by the engine.

    Attributes:
        device: `RPC0`, `CUDA0`, ...; `Host` for RAM; or a kind of buffer in RAM: `CPU_REPACK`, `AMX`.
    """

    device: str
    weights_bytes: int
    context_bytes: int
    compute_bytes: int

    @property
    def bytes_by_part(self) -> Mapping[PartGroup, int]:
        """The three sizes by what they are for."""
        return {
            PartGroup.WEIGHTS: self.weights_bytes,
            PartGroup.CONTEXT: self.context_bytes,
            PartGroup.COMPUTE: self.compute_bytes,
        }


class BreakdownReader:
    """Takes a log line by line until the first table is whole."""

    def __init__(self) -> None:
        self._rows: list[BreakdownRow] | None = None
        self.is_whole = False

    @property
    def rows(self) -> tuple[BreakdownRow, ...]:
        """The rows so far."""
        return tuple(self._rows or ())

    def take(self, line: str) -> None:
        """Look at one more line; whatever is no part of the table is passed over. Never raises."""
        if self.is_whole:
            return
        if _TABLE in line:
            self.is_whole = self._rows is not None
            self._rows = [] if self._rows is None else self._rows
        elif self._rows is not None and _LINE not in line:
            self.is_whole = bool(self._rows)
        elif self._rows is not None and (row := read_row(line)):
            self._rows.append(row)


def read_row(line: str) -> BreakdownRow | None:
    """Read one row of the table; None for any other line."""
    match = _ROW.search(line)
    if match is None:
        return None
    sizes = [int(match[group]) * _MIB for group in (3, 4, 5)]
    return None if min(sizes) < 0 else BreakdownRow(match["device"], *sizes)


def ask_breakdown(
    pack_folder: Path,
    path: Path,
    options: EngineOptions,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> tuple[BreakdownRow, ...]:
    """Return what a llama-server would take with these options. Blocks; starts and ends one process.

    Call from a thread that lives as long as this process.

    Raises:
        FindingError: this build cannot tell, the model is refused, no table came, or it was cancelled.
    """
    executable = server_executable(pack_folder)
    capabilities = read_capabilities(executable)
    if capabilities.first_known("--fit", "-fit") is None:
        raise FindingError(error(FindingCode.ENGINE_CHECK_UNAVAILABLE))
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    child = ServerChild(executable, _arguments(path, options, capabilities), lines.put)
    try:
        return _first_table(child, lines, is_cancelled)
    finally:
        child.stop()


def _arguments(
    path: Path, options: EngineOptions, capabilities: Capabilities
) -> Callable[[int, str], list[str]]:
    fitting = fixed_value(capabilities, "on", "--fit", "-fit")  # the last of two counts

    def arguments(port: int, key_file: str) -> list[str]:
        return [
            *service_arguments(path, port, key_file, capabilities),
            *option_arguments(options, capabilities),
            *fitting,
        ]

    return arguments


def _first_table(
    child: ServerChild, lines: "queue.SimpleQueue[str]", is_cancelled: Callable[[], bool]
) -> tuple[BreakdownRow, ...]:
    reader, seen = BreakdownReader(), list[str]()
    deadline = time.monotonic() + WAIT_SECONDS
    while not reader.is_whole:
        if is_cancelled():
            raise FindingError(error(FindingCode.LOAD_CANCELLED))
        try:
            line = lines.get(timeout=_POLL_SECONDS)
        except queue.Empty:
            if (exit_code := child.wait(0)) is not None:
                raise FindingError(explain_exit(exit_code, seen, "check")) from None
            if time.monotonic() > deadline:
                raise FindingError(explain_load_failure(seen)) from None
            continue
        seen.append(line)
        reader.take(line)
    return reader.rows


def first_table(lines: Iterable[str]) -> tuple[BreakdownRow, ...]:
    """Return the rows of the first table in a log."""
    reader = BreakdownReader()
    for line in lines:
        reader.take(line)
    return reader.rows
