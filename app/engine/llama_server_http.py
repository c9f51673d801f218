"""Talks to one llama-server on 127.0.0.1, directly: no system proxy, one connection per question."""

import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self

from app.engine.llama_server_sse import DONE, AnswerPart, EventReader, read_part

HOST: Final = "127.0.0.1"
POLL_SECONDS: Final = 0.05
"""How often a stream looks whether it was cancelled."""

_READ_BYTES: Final = 65_536
_REPLY_LIMIT_BYTES: Final = 4 * 1024**2


class ServerLost(Exception):
    """The server is not there, or the connection ended before the answer did."""


class ServerRefusal(Exception):
    """The server answered with an error instead of an answer.

    Attributes:
        status: HTTP status; 200 when the error came inside the stream.
        details: The `error` object: `message`, `type` and whatever else it holds.
    """

    def __init__(self, status: int, details: Mapping[str, Any]) -> None:
        super().__init__(f"HTTP {status}: {details.get('message')}")
        self.status = status
        self.details = details


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where the child listens, and the key that only it and we know."""

    port: int
    key: str

    @property
    def headers(self) -> dict[str, str]:
        """Headers of every request."""
        return {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}


def get_json(address: ServerAddress, path: str, timeout_seconds: float) -> tuple[int, Any]:
    """Return status and JSON body; the body is None when it is no JSON.

    Raises:
        ServerLost: nobody answered in time.
    """
    connection = http.client.HTTPConnection(HOST, address.port, timeout=timeout_seconds)
    try:
        connection.request("GET", path, headers=address.headers)
        reply = connection.getresponse()
        return reply.status, _json_or_none(reply.read(_REPLY_LIMIT_BYTES))
    except (OSError, http.client.HTTPException) as reason:
        raise ServerLost(f"{type(reason).__name__}: {reason}") from reason
    finally:
        connection.close()


class AnswerStream:
    """One streamed chat completion. Cancelling closes the connection from a thread of its own,
    so that it works while the server is silent, too.
    """

    def __init__(
        self, address: ServerAddress, request: Mapping[str, Any], is_cancelled: Callable[[], bool]
    ) -> None:
        self.was_cancelled = False
        self._address = address
        self._body = json.dumps(request, ensure_ascii=False).encode("utf-8", "replace")
        self._is_cancelled = is_cancelled
        self._connection = http.client.HTTPConnection(HOST, address.port)
        self._socket: socket.socket | None = None
        self._done = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="answer-watcher", daemon=True)

    def __enter__(self) -> Self:
        """Connect.

        Raises:
            ServerLost: nobody listens.
        """
        try:
            self._connection.connect()
        except OSError as reason:
            raise ServerLost(str(reason)) from reason
        self._socket = self._connection.sock
        self._watcher.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._watcher.join()
        self._connection.close()

    def parts(self) -> Iterator[AnswerPart]:
        """Yield the parts of the answer; ends early, without an error, when it is cancelled.

        Raises:
            ServerLost, ServerRefusal, SseError: see there.
        """
        try:
            yield from self._read_parts()
        except (OSError, ValueError, AttributeError, http.client.HTTPException, ServerLost) as reason:
            # http.client answers a socket closed under it with any of these
            if self.was_cancelled:
                return
            if isinstance(reason, ServerLost):
                raise
            raise ServerLost(f"{type(reason).__name__}: {reason}") from reason

    def _read_parts(self) -> Iterator[AnswerPart]:
        self._connection.request("POST", "/v1/chat/completions", self._body, self._address.headers)
        reply = self._connection.getresponse()
        if reply.status != http.client.OK:
            raise ServerRefusal(reply.status, _refusal(reply.read(_REPLY_LIMIT_BYTES)))
        events = EventReader()
        while chunk := reply.read1(_READ_BYTES):
            for data in events.feed(chunk):
                if data == DONE:
                    return
                part = read_part(data)
                if part.error is not None:
                    raise ServerRefusal(reply.status, part.error)
                yield part
                if self.was_cancelled:
                    return
        raise ServerLost("the stream ended without its end mark")

    def _watch(self) -> None:
        while not self._done.wait(POLL_SECONDS):
            if self._is_cancelled():
                self.was_cancelled = True
                self._hang_up()
                return

    def _hang_up(self) -> None:
        if self._socket is None:
            return
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # it is closed already


def _refusal(body: bytes) -> Mapping[str, Any]:
    data = _json_or_none(body)
    details = data.get("error") if isinstance(data, Mapping) else None
    if isinstance(details, Mapping):
        return details
    return {"message": str(details) if details else body[:500].decode(errors="replace")}


def _json_or_none(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
