"""One window per person and data folder: a second start hands its path over and ends."""

import contextlib
import getpass
import hashlib
import json
import logging
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from PySide6.QtCore import QDeadlineTimer, QLockFile, QObject, QThread, QTimer, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

LIMIT_BYTES: Final = 64 * 1024
"""The longest path of any system fits several times."""

_ANSWER: Final = b"ok\n"
_CONNECT_MS: Final = 500
_ANSWER_MS: Final = 2000
_START_MS: Final = 3000
"""How long the other window may be between its lock and its socket."""

_PAUSE_MS: Final = 50
_PATIENCE_MS: Final = 5000
_SOCKET_PATH_BYTES: Final = 80
"""A Unix socket's path may have 107 bytes; Qt needs some of them while it makes one."""

_log = logging.getLogger(__name__)


class HandoverError(Exception):
    """The bytes on the socket are no request of another start of this program."""


@dataclass(frozen=True, slots=True)
class Handover:
    """What a second start hands over.

    Attributes:
        path: A model to open, absolute; None to bring the window forward only.
        activation_token: What a Wayland desktop gives a program that may come forward.
    """

    path: str | None = None
    activation_token: str | None = None


def encode_handover(handover: Handover) -> bytes:
    """Return the one line that goes over the socket."""
    return json.dumps(asdict(handover)).encode("ascii") + b"\n"


def decode_handover(line: bytes) -> Handover:
    """Read what `encode_handover` wrote.

    Raises:
        HandoverError: anything else; the bytes may come from any program of this user.
    """
    if len(line) > LIMIT_BYTES:
        raise HandoverError(f"{len(line)} bytes")
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as reason:
        raise HandoverError("not JSON") from reason
    if not isinstance(data, dict) or data.keys() != {"path", "activation_token"}:
        raise HandoverError("not an object with path and activation_token")
    if not all(value is None or _can_be_name(value) for value in data.values()):
        raise HandoverError("a value is no text the system takes")
    path = data["path"]
    if path is not None and not os.path.isabs(path):  # noqa: PTH117  # a Path would change the bytes of odd names
        raise HandoverError("the path is relative")
    return Handover(**data)


def _can_be_name(value: object) -> bool:
    """Return whether the system takes this text as a path or in the environment."""
    if not isinstance(value, str) or "\0" in value:
        return False
    try:
        os.fsencode(value)
    except UnicodeEncodeError:  # half a character
        return False
    return True


def instance_name(data_folder: Path) -> str:
    """Return the name of the meeting point: another one for every user and every data folder."""
    user = ""
    with contextlib.suppress(OSError, KeyError, ImportError):  # containers may know no user
        user = getpass.getuser()
    real = os.path.normcase(os.path.realpath(data_folder))
    digest = hashlib.sha256(f"{user}\0{real}".encode("utf-8", "surrogateescape")).hexdigest()
    return f"moxie-{digest[:20]}"


class SingleInstance(QObject):
    """The right to be the window of this data folder. GUI thread; needs an application object.

    A lock file in the data folder decides; the socket only carries the path. A lock whose owner is gone is
    stale; one whose owner does not answer in time is taken over: two windows are better than none.

    Signals:
        handed_over: a `Handover` of a second start.
    """

    handed_over = Signal(object)

    def __init__(self, data_folder: Path) -> None:
        super().__init__()
        self._address = _socket_address(instance_name(data_folder))
        self._lock_file = data_folder / "window.lock"
        self._lock = QLockFile(str(self._lock_file))
        self._lock.setStaleLockTime(0)  # age alone makes no lock stale
        self._server: QLocalServer | None = None

    def claim(self, handover: Handover) -> bool:
        """Become the window and return True, or hand over to the one there is and return False.

        Waits while another start is between its lock and its socket, and for a window that hangs: seconds.
        """
        deadline = QDeadlineTimer(_START_MS)
        while not self._lock.tryLock(0):
            if self._lock.error() is not QLockFile.LockError.LockFailedError:
                break  # the folder takes no files; whoever saves says so
            if _hand_over(self._address, handover):
                return False
            if deadline.hasExpired():
                with contextlib.suppress(OSError):  # on Windows the owner's open file stays
                    self._lock_file.unlink()
                self._lock.tryLock(0)
                break
            QThread.msleep(_PAUSE_MS)
        self._listen()
        return True

    def release(self) -> None:
        """Let the next start be the window. Twice is harmless."""
        if self._server is not None:
            self._server.close()
            self._server = None
        self._lock.unlock()

    def _listen(self) -> None:
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._on_new_connection)
        if _is_ours(self._address):
            QLocalServer.removeServer(self._address)  # of a window that was killed
        self._server.listen(self._address)  # where it cannot, second starts open windows of their own

    def _on_new_connection(self) -> None:
        assert self._server is not None
        while (socket := self._server.nextPendingConnection()) is not None:
            visitor = _Visitor(socket, self.handed_over.emit)
            socket.disconnected.connect(visitor.deleteLater)


class _Visitor(QObject):
    """One connection: takes one line and answers, or hangs up on anything else."""

    def __init__(self, socket: QLocalSocket, on_handover: Callable[[Handover], None]) -> None:
        super().__init__(socket)
        self._socket = socket
        self._on_handover = on_handover
        socket.setReadBufferSize(LIMIT_BYTES + 1)
        socket.readyRead.connect(self._on_ready_read)
        QTimer.singleShot(_PATIENCE_MS, self, socket.abort)
        if socket.bytesAvailable():
            self._on_ready_read()

    def _on_ready_read(self) -> None:
        if self._socket.canReadLine():
            try:
                handover = decode_handover(bytes(self._socket.readLine().data()))
            except HandoverError as reason:
                _log.warning("a second start was not understood: %s", reason)
                self._socket.abort()
                return
            self._socket.write(_ANSWER)
            self._socket.flush()
            self._socket.disconnectFromServer()
            self._on_handover(handover)
        elif self._socket.bytesAvailable() > LIMIT_BYTES:
            self._socket.abort()


def _hand_over(address: str, handover: Handover) -> bool:
    """Return whether a window took it."""
    if not _is_ours(address):
        return False
    socket = QLocalSocket()
    socket.connectToServer(address)
    if not socket.waitForConnected(_CONNECT_MS):
        return False
    _let_others_come_forward()
    socket.write(encode_handover(handover))
    deadline = QDeadlineTimer(_ANSWER_MS)
    while not socket.canReadLine() and not deadline.hasExpired():
        if not socket.waitForReadyRead(max(1, deadline.remainingTime())):
            break
    return bytes(socket.readLine().data()) == _ANSWER


def _let_others_come_forward() -> None:
    if sys.platform == "win32":
        import ctypes

        ctypes.windll.user32.AllowSetForegroundWindow(
            -1
        )  # ASFW_ANY: this start has the right, the window not


def _socket_address(name: str) -> str:
    """Return where the socket lies: a pipe's name on Windows, elsewhere a path only this user can reach."""
    if sys.platform == "win32":
        return name
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    for folder in (runtime, tempfile.gettempdir(), "/tmp"):
        path = os.path.join(folder, name)  # noqa: PTH118  # Qt takes text
        if os.path.isabs(path) and os.path.isdir(folder) and len(os.fsencode(path)) < _SOCKET_PATH_BYTES:  # noqa: PTH112, PTH117  # as above
            return path
    return name


def _is_ours(address: str) -> bool:
    """Return whether the socket belongs to this user: in a folder for all anybody may put one."""
    if sys.platform == "win32":
        return True
    try:
        return Path(address).lstat().st_uid == os.getuid()
    except OSError:
        return False
