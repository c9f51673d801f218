"""Why a session's worker came to its end. Pure."""

import errno
import os
from collections.abc import Sequence
from typing import Final

from app.engine.log_reader import explain_exit
from app.engine.session_state import SessionState
from app.findings import Finding, FindingCode, error
from app.options import EngineOptions

CANCELLED_CODES: Final = (FindingCode.LOAD_CANCELLED, FindingCode.ENGINE_DID_NOT_STOP)
"""Ends the person asked for."""

_DURING: Final = {
    SessionState.STARTING: "start",
    SessionState.LOADING: "load",
    SessionState.GENERATING: "generate",
}


def timed_out(seconds: float, during: str) -> Finding:
    """Return the finding for a worker that did not answer in time."""
    return error(FindingCode.ENGINE_TIMED_OUT, seconds=seconds, during=during)


def silent(seconds: float, state: SessionState, options: EngineOptions) -> Finding:
    """Return the finding for an engine that neither said nor did anything: it waits for someone.

    With RPC servers that is one of them, else nobody knows.
    """
    if options.rpc_servers:
        detail = f"{os.strerror(errno.ETIMEDOUT)} ({seconds:.0f} s)"
        return error(FindingCode.RPC_UNREACHABLE, server=", ".join(options.rpc_servers), detail=detail)
    return timed_out(seconds, _DURING.get(state, "idle"))


def did_not_stop(seconds: float) -> Finding:
    """Return the finding for an answer that went on after it was cancelled."""
    return error(FindingCode.ENGINE_DID_NOT_STOP, seconds=seconds)


def engine_failed(engine: str, detail: str) -> Finding:
    """Return the finding for a worker that could not be started or listened to."""
    return error(FindingCode.ENGINE_START_FAILED, engine=engine, detail=detail)


def lost_worker(
    return_code: int, log: Sequence[str], state: SessionState, options: EngineOptions | None
) -> Finding:
    """Return the finding for a worker that ended unasked."""
    servers = options.rpc_servers if options is not None else ()
    return explain_exit(return_code, log, _DURING.get(state, "idle"), servers)
