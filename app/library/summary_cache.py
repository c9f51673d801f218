"""Rows of models seen before, so that a folder of hundreds is there at once.

SQLite, not JSON: each row is safe on disk when it is found, a window and a command line may write at once,
and a look-up does not read the rest. Nothing in it is worth a complaint: what is damaged, too old or locked
is made anew or done without.
"""

import contextlib
import json
import os
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from app import __version__
from app.library.model_files import FileGroup
from app.library.model_summary import ModelSummary

SUMMARY_VERSION: Final = 3
"""Of the rows; with the version of the program, whose rules judged them."""

ROWS_MAX: Final = 5000
_BUSY_SECONDS: Final = 0.5
_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS summaries (path BLOB PRIMARY KEY, stamp TEXT, rows TEXT, used_at REAL)"
    " WITHOUT ROWID"
)
_TRIM: Final = (
    "DELETE FROM summaries WHERE path IN (SELECT path FROM summaries ORDER BY used_at DESC LIMIT -1 OFFSET ?)"
)


class SummaryCache:
    """The rows of files that have not changed: same paths, sizes and times of all parts.

    Any thread, one at a time. Never raises; without a usable file every look-up misses.
    """

    def __init__(self, file: Path | None) -> None:
        """Open or create it; None keeps nothing."""
        self._file = file
        self._used: list[bytes] = []
        self._connection = self._open()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, reason: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def find(self, group: FileGroup) -> tuple[ModelSummary, ...] | None:
        """Return the rows of a group of files; None when it is new or has changed."""
        stamp, key = _stamp(group), os.fsencode(group.first)
        if stamp is None:
            return None
        found = self._run("SELECT rows FROM summaries WHERE path = ? AND stamp = ?", key, stamp)
        if not found:
            return None
        try:
            rows = tuple(ModelSummary.from_json(row) for row in json.loads(found[0][0]))
        except (KeyError, TypeError, ValueError, RecursionError):
            return None
        self._used.append(key)
        return rows

    def keep(self, group: FileGroup, rows: Sequence[ModelSummary]) -> None:
        """Remember the rows of a group of files."""
        stamp = _stamp(group)
        if stamp is not None:
            text = json.dumps([row.to_json() for row in rows])
            key = os.fsencode(group.first)
            self._run("INSERT OR REPLACE INTO summaries VALUES (?, ?, ?, ?)", key, stamp, text, time.time())

    def close(self) -> None:
        """Forget the rows that were not asked for longest, beyond `ROWS_MAX`."""
        if self._connection is None:
            return
        with contextlib.suppress(sqlite3.Error):
            self._connection.execute("BEGIN")
            self._connection.executemany(
                "UPDATE summaries SET used_at = ? WHERE path = ?", [(time.time(), key) for key in self._used]
            )
            self._connection.execute(_TRIM, (ROWS_MAX,))
            self._connection.execute("COMMIT")
        self._connection.close()
        self._connection = None

    def _open(self) -> sqlite3.Connection | None:
        if self._file is None:
            return None
        try:
            return _connected(self._file)
        except sqlite3.OperationalError:
            return None  # locked, or in a place that cannot be written: not damaged
        except sqlite3.DatabaseError:
            return self._made_anew(self._file)

    def _made_anew(self, file: Path) -> sqlite3.Connection | None:
        try:
            for name in (file.name, f"{file.name}-wal", f"{file.name}-shm"):
                file.with_name(name).unlink(missing_ok=True)
            return _connected(file)
        except (OSError, sqlite3.Error):
            return None

    def _run(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        if self._connection is None:
            return []
        try:
            return self._connection.execute(statement, values).fetchall()
        except sqlite3.OperationalError:
            return []
        except sqlite3.DatabaseError:
            self._connection.close()
            self._connection = None if self._file is None else self._made_anew(self._file)
            return []


def _connected(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(file, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")  # a power cut may cost rows: they are found again
        version = f"{SUMMARY_VERSION} {__version__}"
        connection.execute("CREATE TABLE IF NOT EXISTS made_by (version TEXT)")
        if connection.execute("SELECT version FROM made_by").fetchall() != [(version,)]:
            connection.execute("DROP TABLE IF EXISTS summaries")
            connection.execute("DELETE FROM made_by")
            connection.execute("INSERT INTO made_by VALUES (?)", (version,))
        connection.execute(_TABLE)
    except BaseException:
        connection.close()
        raise
    return connection


def _stamp(group: FileGroup) -> str | None:
    """Return what changes when any part does; None when one cannot be looked at."""
    stamps = [[os.fsencode(part.path).hex(), part.size_bytes, part.modified_ns] for part in group.parts]
    return None if any(None in stamp for stamp in stamps) else json.dumps(stamps)
