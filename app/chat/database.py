"""One SQLite file: opened, checked and brought up to date; its errors become findings here."""

import contextlib
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from app.chat.schema import MIGRATIONS, TABLES, SchemaTooNewError, migrate
from app.files import free_name, is_regular, path_kind
from app.findings import Finding, FindingCode, FindingError, Severity, error, warning

BUSY_SECONDS: Final = 5.0
"""How long a writer waits for another program."""

_BUSY: Final = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_HARDLY_FREE_BYTES: Final = 64 * 1024
_DAMAGE: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)
"""`SQLITE_ERROR` as well: our own queries are right, so it is the schema that is not ours any more."""


class ChatDatabase:
    """The connection all conversations go through. Any thread.

    Every method raises `FindingError`: `DISK_FULL`, `STORE_READ_ONLY` or `STORE_BUSY` (another program
    held the file for `BUSY_SECONDS`) when a change could not be written, and then nothing changed;
    `STORE_UNREADABLE` when the file turns out to be damaged; `NOT_A_FILE`.

    Attributes:
        findings: `STORE_UNREADABLE` when a damaged file was set aside and a new one begun; `STORE_BUSY`
            when another program holds the file: whatever is asked next tries to open it again.
    """

    def __init__(self, file: Path) -> None:
        """Open or create the file.

        Raises:
            FindingError: also `STORE_TOO_NEW`, and then the file is as it was.
        """
        self._file = file
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self.findings: tuple[Finding, ...] = ()
        try:
            with self._translated():
                self._open()
        except FindingError as reason:
            if reason.finding.code is not FindingCode.STORE_BUSY:
                raise
            self.findings = (replace(reason.finding, severity=Severity.WARNING),)

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""
        with self._lock, self._translated():
            return self._open().execute(query, values).fetchall()

    @contextmanager
    def transaction(self, *texts: str) -> Iterator[sqlite3.Connection]:
        """Make changes wholly or not at all; they are on disk when the block ends.

        Args:
            texts: What is to be written, so that a full disk can say how much room was needed.
        """
        with self._lock, self._translated(*texts):
            connection = self._open()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Let go of the file. Closing twice is harmless."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()

    def _open(self) -> sqlite3.Connection:
        if self._connection is not None:
            return self._connection
        if path_kind(self._file) is not None and not is_regular(self._file):
            raise FindingError(_not_a_file(self._file))
        try:
            self._connection = _opened(self._file)
        except (sqlite3.DatabaseError, UnicodeDecodeError) as reason:
            if _primary_code(reason) not in _DAMAGE:
                raise
            self.findings = (_set_aside(self._file),)
            self._connection = _opened(self._file)
        return self._connection

    @contextmanager
    def _translated(self, *texts: str) -> Iterator[None]:
        try:
            yield
        except SchemaTooNewError as reason:
            too_new = error(FindingCode.STORE_TOO_NEW, path=str(self._file), version=reason.version)
            raise FindingError(too_new) from reason
        except (sqlite3.DatabaseError, UnicodeDecodeError) as reason:
            code = _primary_code(reason)
            if code is None:
                raise
            needed_bytes = sum(len(text.encode()) for text in texts) or None
            raise FindingError(_finding(self._file, code, str(reason), needed_bytes)) from reason


def check_database(file: Path) -> tuple[Finding, ...]:
    """Return what keeps the conversations in `file` from being read. Changes nothing, not even beside it."""
    if path_kind(file) is None:
        return ()
    if not is_regular(file):
        return (_not_a_file(file),)
    # a log beside it means that a program has it open, which then shares its memory; else nothing may be made
    is_open = file.with_name(f"{file.name}-wal").exists()
    uri = f"{file.absolute().as_uri()}?{'mode=ro' if is_open else 'immutable=1'}"
    try:
        with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS)) as connection:
            verdict = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
            version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    except (sqlite3.DatabaseError, UnicodeDecodeError) as reason:
        return (_finding(file, _primary_code(reason) or sqlite3.SQLITE_ERROR, str(reason), None),)
    if verdict != "ok":
        return (_finding(file, sqlite3.SQLITE_CORRUPT, verdict, None),)
    if version > len(MIGRATIONS):
        return (error(FindingCode.STORE_TOO_NEW, path=str(file), version=version),)
    return ()


def _opened(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(file, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    connection.text_factory = lambda stored: stored.decode("utf-8", "replace")
    try:
        _use_write_ahead_log(connection)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if verdict != "ok":
            raise _damaged(str(verdict))
        migrate(connection)
        for table in TABLES:
            connection.execute(f"SELECT * FROM {table} LIMIT 0")
        connection.execute("BEGIN IMMEDIATE")  # says at once when the file cannot be written
        connection.execute("ROLLBACK")
    except BaseException:
        connection.close()
        raise
    return connection


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Switch once per file; SQLite itself does not wait for another program that does the same."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as reason:
            if _primary_code(reason) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _damaged(verdict: str) -> sqlite3.DatabaseError:
    reason = sqlite3.DatabaseError(verdict)
    reason.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return reason


def _primary_code(reason: sqlite3.Error | UnicodeDecodeError) -> int | None:
    """Return SQLite's result code without its extension; None when the error is Python's own.

    Python cannot even raise an error whose message quotes damaged text: that is damage, too.
    """
    if isinstance(reason, UnicodeDecodeError):
        return sqlite3.SQLITE_CORRUPT
    code: int | None = getattr(reason, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _finding(file: Path, code: int, detail: str, needed_bytes: int | None) -> Finding:
    path = str(file)
    if code in _DAMAGE:
        return error(FindingCode.STORE_UNREADABLE, path=path, kept_as=path)
    if code in _BUSY:
        return error(FindingCode.STORE_BUSY, path=path, seconds=BUSY_SECONDS)
    free_bytes = _free_bytes(file.parent)
    is_full = code == sqlite3.SQLITE_FULL
    if code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN):
        is_full = free_bytes is not None and free_bytes < _HARDLY_FREE_BYTES
    return error(
        FindingCode.DISK_FULL if is_full else FindingCode.STORE_READ_ONLY,
        path=path,
        needed_bytes=needed_bytes,
        free_bytes=free_bytes,
        detail=detail,
    )


def _free_bytes(folder: Path) -> int | None:
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None


def _not_a_file(file: Path) -> Finding:
    return error(FindingCode.NOT_A_FILE, path=str(file), kind=str(path_kind(file)))


def _set_aside(file: Path) -> Finding:
    """Rename a damaged database and what SQLite keeps beside it, so that nothing is deleted."""
    kept_as = free_name(file, datetime.now())
    try:
        file.rename(kept_as)
        for suffix in ("-wal", "-shm"):
            part = file.with_name(file.name + suffix)
            if part.exists():
                part.rename(kept_as.with_name(kept_as.name + suffix))
    except OSError as reason:
        stuck = error(FindingCode.STORE_READ_ONLY, path=str(file), detail=str(reason))
        raise FindingError(stuck) from reason
    return warning(FindingCode.STORE_UNREADABLE, path=str(file), kept_as=str(kept_as))
