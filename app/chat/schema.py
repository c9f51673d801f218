"""The tables of the conversation store, and every step that ever led to them."""

import sqlite3
from collections.abc import Sequence
from typing import Final

MIGRATIONS: Final = (
    """
    CREATE TABLE conversations (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        title TEXT,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        deleted_at REAL
    );
    CREATE TABLE messages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        conversation_id INTEGER NOT NULL REFERENCES conversations(id) ON DELETE CASCADE,
        parent_id INTEGER REFERENCES messages(id) ON DELETE CASCADE,
        role TEXT NOT NULL,
        content TEXT NOT NULL,
        reasoning TEXT NOT NULL DEFAULT '',
        state TEXT NOT NULL,
        finish_reason TEXT,
        timings TEXT NOT NULL DEFAULT '{}',
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL
    );
    CREATE INDEX messages_by_conversation ON messages(conversation_id, id);
    CREATE INDEX messages_by_parent ON messages(parent_id);
    CREATE INDEX conversations_by_time ON conversations(updated_at);
    """,
    "ALTER TABLE conversations ADD COLUMN end_id INTEGER",
)
"""Step N leads from `user_version` N to N + 1. Kept for ever: add steps, never change one."""

TABLES: Final = ("conversations", "messages")


class SchemaTooNewError(Exception):
    """A newer version of the program wrote this database."""

    def __init__(self, version: int) -> None:
        super().__init__(f"schema version {version}")
        self.version = version


def migrate(connection: sqlite3.Connection, migrations: Sequence[str] = MIGRATIONS) -> None:
    """Bring the database to the newest version; each step happens wholly or not at all.

    Raises:
        SchemaTooNewError: nothing was changed.
        sqlite3.Error: the step it happened in was undone.
    """
    while (version := _version(connection)) < len(migrations):
        try:
            connection.execute("BEGIN IMMEDIATE")
            if _version(connection) == version:  # another process may have been quicker
                for statement in migrations[version].split(";"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {version + 1}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
    if version > len(migrations):
        raise SchemaTooNewError(version)


def _version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version
