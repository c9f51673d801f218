"""A llama-server executable -> `Backend`: started per model, fed over HTTP, judged by its own log."""

import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from app.engine.backend import Emit, EngineGoneError, IsCancelled
from app.engine.llama_server_args import (
    has_quantised_v,
    option_arguments,
    service_arguments,
    with_safe_kv,
    without_impossible_kv,
)
from app.engine.llama_server_capabilities import (
    read_capabilities,
    read_devices,
    read_version,
    server_executable,
)
from app.engine.llama_server_child import ServerChild
from app.engine.llama_server_generation import answer, why_gone
from app.engine.llama_server_http import ServerLost, get_json
from app.engine.llama_server_log import context_of_one_slot, read_applied
from app.engine.log_reader import explain_exit, read_buffers, read_bus_ids
from app.engine.protocol import (
    Checked,
    CheckModel,
    Finished,
    Generate,
    Hello,
    Loaded,
    LoadModel,
    LoadProgress,
)
from app.engine.rpc_address import check_reachable, resolve, unencrypted_notes
from app.findings import Finding, FindingCode, FindingError, error
from app.options import EngineOptions

ENGINE_NAME: Final = "llama-server"
PORT_ATTEMPTS: Final = 3

_HTTP_OK: Final = 200
_HTTP_LOADING: Final = 503
_PORT_TAKEN: Final = re.compile(r"couldn't bind|address already in use", re.IGNORECASE)
_NEEDS_FLASH_ATTENTION: Final = re.compile(r"V cache.*requires flash[_ ]attn", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Limits:
    """How patient the backend is, in seconds.

    Attributes:
        silence: Neither a log line nor an HTTP answer for so long while loading: the load failed.
            An engine that answers "loading" may take as long as it needs.
        reply: For one answer to a small question.
        poll: Between two looks at a loading engine.
    """

    silence: float = 180.0
    reply: float = 1.0
    poll: float = 0.1


class _PortTakenError(Exception):
    """Someone else has the port: start again on another."""


class _FlashAttentionMissingError(Exception):
    """The model forces flash attention off, which its quantised V cache needs."""


class LlamaServerBackend:
    """Runs one model in a child llama-server."""

    def __init__(
        self, pack_folder: Path, limits: Limits | None = None, on_line: Callable[[str], None] | None = None
    ) -> None:
        """Name the pack; nothing starts yet.

        Args:
            on_line: Gets every line the engine prints; None passes them on to stderr.
        """
        self._name = pack_folder.name
        self._executable = server_executable(pack_folder)
        self._limits = limits or Limits()
        self._on_line = on_line or _to_stderr
        self._child: ServerChild | None = None
        self._rpc_servers: tuple[str, ...] = ()

    def hello(self) -> Hello:
        """Ask the executable for version and devices; RPC servers are no part of this."""
        version = read_version(self._executable)
        return Hello(ENGINE_NAME, version, read_devices(self._executable))

    def load(self, command: LoadModel, emit: Emit, is_cancelled: IsCancelled) -> Loaded:
        """Start the server with the model and wait until it answers."""
        self.close()
        emit(LoadProgress("starting"))
        reachable, notes = _with_checked_rpc(command.options)
        self._rpc_servers = reachable.rpc_servers
        options, changes = without_impossible_kv(reachable)
        findings = (*notes, *changes)
        try:
            self._child = self._started(command.path, options, emit, is_cancelled)
        except _FlashAttentionMissingError:
            options, more = with_safe_kv(options)
            findings = (*findings, *more)
            self._child = self._started(command.path, options, emit, is_cancelled)
        return self._loaded(self._child, options, findings)

    def check(self, command: CheckModel) -> Checked:  # noqa: ARG002  # the port's signature
        """A server has no dry run."""
        raise FindingError(error(FindingCode.ENGINE_CHECK_UNAVAILABLE))

    def generate(self, command: Generate, emit: Emit, is_cancelled: IsCancelled) -> Finished:
        """Stream one chat completion."""
        if self._child is None:
            values = {"engine": ENGINE_NAME, "detail": "Generate before LoadModel"}
            raise FindingError(error(FindingCode.ENGINE_START_FAILED, **values))
        return answer(self._child, command, emit, is_cancelled, self._rpc_servers)

    def check_alive(self) -> None:
        """Look whether the server is still there."""
        if self._child is not None and (finding := why_gone(self._child, "idle", self._rpc_servers)):
            raise EngineGoneError(finding)

    def close(self) -> None:
        """End the server."""
        if self._child is not None:
            self._child.stop()
            self._child = None

    def _started(
        self, path: str, options: EngineOptions, emit: Emit, is_cancelled: IsCancelled
    ) -> ServerChild:
        capabilities = read_capabilities(self._executable)
        placed = option_arguments(options, capabilities)

        def arguments(port: int, key_file: str) -> Sequence[str]:
            return [*service_arguments(Path(path).absolute(), port, key_file, capabilities), *placed]

        for attempt in range(PORT_ATTEMPTS):
            child = ServerChild(self._executable, arguments, self._on_line)
            is_ready = False
            try:
                self._wait_until_ready(child, emit, is_cancelled, options)
                self._recognise(child, path)
                is_ready = True
                return child
            except _PortTakenError:
                if attempt == PORT_ATTEMPTS - 1:
                    raise FindingError(
                        error(FindingCode.ENGINE_START_FAILED, engine=self._name, detail=child.lines[-1])
                    ) from None
            finally:
                if not is_ready:
                    child.stop()
        raise AssertionError("the last attempt returns or raises")

    def _wait_until_ready(
        self, child: ServerChild, emit: Emit, is_cancelled: IsCancelled, options: EngineOptions
    ) -> None:
        phase, answered_at = child.phase, time.monotonic()
        while True:
            if is_cancelled():
                raise FindingError(error(FindingCode.LOAD_CANCELLED))
            exit_code = child.wait(self._limits.poll)
            if exit_code is not None:
                raise _load_failure(exit_code, child.lines, options)
            if child.phase != phase:
                phase = child.phase
                emit(LoadProgress(phase))
            status = self._health(child)
            if status == _HTTP_OK:
                child.forget_key_file()
                return
            if status == _HTTP_LOADING:
                answered_at = time.monotonic()
            seconds = self._limits.silence
            if min(child.seconds_silent, time.monotonic() - answered_at) > seconds:
                raise FindingError(error(FindingCode.ENGINE_TIMED_OUT, seconds=seconds, during="load"))

    def _health(self, child: ServerChild) -> int | None:
        try:
            return get_json(child.address, "/health", self._limits.reply)[0]
        except ServerLost:
            return None

    def _recognise(self, child: ServerChild, path: str) -> None:
        """Make sure that what answered is our child: it knows the key, and it has our model."""
        props = self._ask(child, "/props")
        said = props.get("model_path") if isinstance(props, dict) else None
        is_other = isinstance(said, str) and said != "" and _as_told(said) != _as_told(path)
        if props is None or child.wait(0) is not None or is_other:
            raise _PortTakenError

    def _ask(self, child: ServerChild, question: str) -> Any:
        """Return the JSON behind `question`, or None if it is refused or absent."""
        try:
            status, data = get_json(child.address, question, max(self._limits.reply, 10.0))
        except ServerLost:
            return None
        return data if status == _HTTP_OK else None

    def _loaded(self, child: ServerChild, options: EngineOptions, findings: tuple[Finding, ...]) -> Loaded:
        props, slots = self._ask(child, "/props"), self._ask(child, "/slots")
        child.settle()
        lines = child.lines
        return Loaded(
            read_applied(lines, props, options),
            read_buffers(lines),
            context_of_one_slot(props, slots),
            findings,
            read_bus_ids(lines),
        )


def _load_failure(exit_code: int, lines: Sequence[str], options: EngineOptions) -> Exception:
    if any(_PORT_TAKEN.search(line) for line in lines):
        return _PortTakenError()
    if has_quantised_v(options) and any(_NEEDS_FLASH_ATTENTION.search(line) for line in lines):
        return _FlashAttentionMissingError()
    return FindingError(explain_exit(exit_code, lines, "load", options.rpc_servers))


def _with_checked_rpc(options: EngineOptions) -> tuple[EngineOptions, tuple[Finding, ...]]:
    """Return options with the addresses that were checked; a server nobody reaches is no silent CPU load."""
    servers = {server: resolve(server) for server in options.rpc_servers}
    for server, address in servers.items():
        check_reachable(server, address)
    endpoints = tuple(address.endpoint for address in servers.values())
    return replace(options, rpc_servers=endpoints), unencrypted_notes(servers)


def _as_told(path: str) -> Path:
    """Return a path as JSON tells it: bytes that are no UTF-8 are replaced, by each server in its own way."""
    text = os.fsencode(Path(path).absolute()).decode("utf-8", "replace")
    return Path(text.replace("\ufffd", ""))


def _to_stderr(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
