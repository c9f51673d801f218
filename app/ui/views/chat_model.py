"""The messages of the open conversation, in order; the one place that holds their text for the window."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, Qt

from app.chat.reasoning import PieceKind
from app.findings import Finding
from app.ui.views.chat_items import MessageItem

ITEM_ROLE = int(Qt.ItemDataRole.UserRole)

Index = QModelIndex | QPersistentModelIndex


@dataclass(slots=True)
class _Stream:
    """An answer that still arrives, in pieces: joined only when somebody asks."""

    answer: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    reasoning_started: float | None = None
    reasoning_ended: float | None = None


class ChatModel(QAbstractListModel):
    """One row per message. `ITEM_ROLE` gives its `MessageItem`, the display role its text.

    A piece of a streamed answer costs the same however long the answer is; no `dataChanged` goes out for
    it, as the view paints it on a timer of its own.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._items: list[MessageItem] = []
        self._rows: dict[int, int] = {}
        self._streams: dict[int, _Stream] = {}

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 Qt's own default
        return 0 if parent.isValid() else len(self._items)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or not 0 <= index.row() < len(self._items):
            return None
        if role == ITEM_ROLE:
            return self.item(index.row())
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return self.item(index.row()).text
        return None

    def item(self, row: int) -> MessageItem:
        """Return the message of `row`, with all text that came so far."""
        item = self._items[row]
        stream = self._streams.get(item.id)
        if stream is None:
            return item
        return replace(item, text="".join(stream.answer), reasoning="".join(stream.reasoning))

    def item_id(self, row: int) -> int:
        """Return the id of the message of `row`, without joining its text."""
        return self._items[row].id

    def failure_of(self, row: int) -> Finding | None:
        """Return why the message of `row` broke off; None when it did not."""
        return self._items[row].failure

    def thinking_seconds(self, message_id: int) -> float | None:
        """Return how long a streaming answer has thought; None when it did not."""
        return self._thinking_seconds(self._streams.get(message_id))

    def row_of(self, message_id: int) -> int | None:
        """Return where a message is; None when it is not in this conversation."""
        return self._rows.get(message_id)

    def set_items(self, items: tuple[MessageItem, ...]) -> None:
        """Show another conversation."""
        self.beginResetModel()
        self._items = list(items)
        self._streams = {item.id: _stream_of(item) for item in items if item.is_streaming}
        self._renumber()
        self.endResetModel()

    def append(self, item: MessageItem) -> None:
        """Add a message at the end; one with this id is replaced where it is."""
        if item.id in self._rows:
            self.replace_item(item)
            return
        row = len(self._items)
        self.beginInsertRows(QModelIndex(), row, row)
        self._items.append(item)
        self._rows[item.id] = row
        if item.is_streaming:
            self._streams[item.id] = _stream_of(item)
        self.endInsertRows()

    def replace_item(self, item: MessageItem) -> None:
        """Put `item` where the message of its id is; the thinking time measured meanwhile is kept."""
        row = self._rows.get(item.id)
        if row is None:
            return
        old_stream = self._streams.pop(item.id, None)
        seconds = item.reasoning_seconds
        if seconds is None:
            seconds = self._thinking_seconds(old_stream) or self._items[row].reasoning_seconds
        self._items[row] = replace(item, reasoning_seconds=seconds)
        if item.is_streaming:
            self._streams[item.id] = _stream_of(item)
        index = self.index(row, 0)
        self.dataChanged.emit(index, index)

    def remove(self, message_id: int) -> None:
        """Take a message out; an unknown id is no error."""
        row = self._rows.get(message_id)
        if row is None:
            return
        self.beginRemoveRows(QModelIndex(), row, row)
        del self._items[row]
        self._streams.pop(message_id, None)
        self._renumber()
        self.endRemoveRows()

    def add_piece(self, message_id: int, kind: PieceKind, text: str) -> bool:
        """Add streamed text; False when no such answer is streaming."""
        stream = self._streams.get(message_id)
        if stream is None:
            return False
        match kind:
            case PieceKind.ANSWER:
                if stream.reasoning_started is not None and stream.reasoning_ended is None:
                    stream.reasoning_ended = self._clock()
                stream.answer.append(text)
            case PieceKind.REASONING:
                if stream.reasoning_started is None:
                    stream.reasoning_started = self._clock()
                stream.reasoning_ended = None
                stream.reasoning.append(text)
            case PieceKind.MOVED:
                stream.reasoning += stream.answer
                stream.answer = []
        return True

    def _thinking_seconds(self, stream: _Stream | None) -> float | None:
        if stream is None or stream.reasoning_started is None:
            return None
        ended = self._clock() if stream.reasoning_ended is None else stream.reasoning_ended
        return ended - stream.reasoning_started

    def _renumber(self) -> None:
        self._rows = {item.id: row for row, item in enumerate(self._items)}


def _stream_of(item: MessageItem) -> _Stream:
    return _Stream([item.text] if item.text else [], [item.reasoning] if item.reasoning else [])
