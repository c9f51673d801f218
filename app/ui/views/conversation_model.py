"""The rows of the list of conversations, for Qt's list view."""

from typing import Any, Final

from PySide6.QtCore import (
    QAbstractListModel,
    QLocale,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Signal,
)

from app.ui.theme.look import LookSource
from app.ui.views.conversation_groups import ChatRow, Row, when_words

ROW_ROLE: Final = Qt.ItemDataRole.UserRole + 1
CURRENT_ROLE: Final = Qt.ItemDataRole.UserRole + 2
WHEN_ROLE: Final = Qt.ItemDataRole.UserRole + 3

_Index = QModelIndex | QPersistentModelIndex


class ConversationModel(QAbstractListModel):
    """Heads of groups and conversations.

    Signals:
        renamed: id, new title.
    """

    renamed = Signal(int, str)

    def __init__(self, looks: LookSource, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._looks = looks
        self._rows: tuple[Row, ...] = ()
        self._current_id: int | None = None

    def set_rows(self, rows: tuple[Row, ...], current_id: int | None) -> None:
        """Replace all rows; equal ones stay, and only another conversation may be the open one."""
        if rows and rows == self._rows:
            self._current_id = current_id
            self.dataChanged.emit(self.index(0), self.index(len(rows) - 1))
            return
        self.beginResetModel()
        self._rows, self._current_id = rows, current_id
        self.endResetModel()

    def row_of(self, conversation_id: int | None) -> int | None:
        """Return the row of a conversation."""
        for number, row in enumerate(self._rows):
            if isinstance(row, ChatRow) and row.summary.id == conversation_id:
                return number
        return None

    def chat_at(self, index: _Index) -> ChatRow | None:
        """Return the conversation at `index`; None for the head of a group."""
        row = self._rows[index.row()] if index.isValid() else None
        return row if isinstance(row, ChatRow) else None

    def when_of(self, row: ChatRow) -> str:
        """Return when the conversation was last changed, in words."""
        return when_words(row, QLocale(self._looks.look.texts.language))

    def title_of(self, row: ChatRow) -> str:
        """Return the title to show."""
        return row.summary.title or self._looks.look.text("ui.chats.untitled")

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008 Qt's signature
        return 0 if parent.isValid() else len(self._rows)

    def flags(self, index: _Index) -> Qt.ItemFlag:
        if self.chat_at(index) is None:
            return Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsEditable

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        row = self._rows[index.row()]
        look = self._looks.look
        if role == ROW_ROLE:
            return row
        if not isinstance(row, ChatRow):
            is_text = role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole)
            return look.text(f"ui.chats.{row.group}") if is_text else None
        match role:
            case Qt.ItemDataRole.DisplayRole | Qt.ItemDataRole.ToolTipRole:
                return self.title_of(row)
            case Qt.ItemDataRole.EditRole:
                return row.summary.title or ""
            case Qt.ItemDataRole.AccessibleTextRole:
                count = row.summary.message_count
                return look.text(
                    "ui.chats.row", title=self.title_of(row), when=self.when_of(row), count=count
                )
            case _ if role == WHEN_ROLE:
                return self.when_of(row)
        return row.summary.id == self._current_id if role == CURRENT_ROLE else None

    def setData(self, index: _Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        row = self.chat_at(index)
        title = str(value).strip()
        if row is None or role != Qt.ItemDataRole.EditRole or not title or title == row.summary.title:
            return False
        self.renamed.emit(row.summary.id, title)
        return True
