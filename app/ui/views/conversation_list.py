"""The list of conversations: search, new, open, rename in place, delete."""

import time
from collections.abc import Callable
from datetime import datetime
from typing import Final

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPoint, Qt, Signal
from PySide6.QtGui import QAction, QKeyEvent
from PySide6.QtWidgets import QAbstractItemDelegate, QListView, QMenu, QWidget

from app.chat.conversation import ConversationSummary
from app.ui.theme.look import LookSource
from app.ui.theme.tokens import LAYOUT
from app.ui.views.conversation_delegate import ConversationDelegate
from app.ui.views.conversation_groups import ChatRow, grouped_rows, matching
from app.ui.views.conversation_model import ConversationModel
from app.ui.widgets.buttons import IconButton
from app.ui.widgets.controls import SearchField
from app.ui.widgets.labels import TextLabel
from app.ui.widgets.layouts import column, row
from app.ui.widgets.panel import Panel

SEARCH_SHORTCUT: Final = "Ctrl+K"
NEW_SHORTCUT: Final = "Ctrl+N"


class ConversationList(Panel):
    """Shows the conversations by day.

    Signals:
        new_requested: an empty conversation is wanted.
        opened: id of the conversation to show.
        delete_requested: id; nothing is asked, whoever deletes offers undo.
        rename_requested: id, new title.
        search_changed: what is searched for; the list itself already shows the titles that match.
    """

    new_requested = Signal()
    opened = Signal(int)
    delete_requested = Signal(int)
    rename_requested = Signal(int, str)
    search_changed = Signal(str)

    def __init__(
        self,
        looks: LookSource,
        parent: QWidget | None = None,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(looks, "right", parent=parent)
        self._looks = looks
        self._clock = clock
        self._conversations: tuple[ConversationSummary, ...] = ()
        self._current_id: int | None = None
        self._is_update_due = False
        self._title = TextLabel("title")
        self.new = IconButton(looks, "plus")
        self.search = SearchField(looks)
        self.model = ConversationModel(looks, self)
        self.list = QListView()
        self._empty = TextLabel("body", "faint", wrap=True)
        self._lay_out()
        self._connect()
        looks.changed.connect(self._apply_look)
        self._apply_look()

    def show_conversations(
        self, conversations: tuple[ConversationSummary, ...], current_id: int | None
    ) -> None:
        """Show all conversations and mark the open one; waits while a title is being edited."""
        self._conversations, self._current_id = conversations, current_id
        self._show_rows()

    def focus_search(self) -> None:
        """Put the cursor into the search field."""
        self.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.search.selectAll()

    def _lay_out(self) -> None:
        self.list.setModel(self.model)
        self.list.setItemDelegate(ConversationDelegate(self._looks, self.list))
        self.list.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        self.list.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.list.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setFrameShape(QListView.Shape.NoFrame)
        self.list.setMouseTracking(True)
        self.list.setUniformItemSizes(True)
        self.list.setProperty("surface", "plain")
        self.list.viewport().setAutoFillBackground(False)
        head = row(self._title, None, self.new)
        layout = column(head, self.search, 2, self._empty, gap=8, margins=(12, 12, 12, 8))
        layout.addWidget(self.list, 1)
        self.setLayout(layout)

    def _connect(self) -> None:
        self.new.clicked.connect(self.new_requested)
        self.search.textChanged.connect(self._on_searched)
        self.search.installEventFilter(self)
        self.list.installEventFilter(self)
        self.list.clicked.connect(self._open)
        self.list.customContextMenuRequested.connect(self._show_menu)
        self.list.itemDelegate().closeEditor.connect(self._on_editor_closed)
        self.model.renamed.connect(self.rename_requested)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() is QEvent.Type.KeyPress:
            if watched is self.list and self._is_list_key(event.key()):
                return True
            if watched is self.search and self._is_search_key(event.key()):
                return True
        return super().eventFilter(watched, event)

    def _is_list_key(self, key: int) -> bool:
        index = self.list.currentIndex()
        if self._is_editing() or self.model.chat_at(index) is None:
            return False
        match key:
            case Qt.Key.Key_Return | Qt.Key.Key_Enter | Qt.Key.Key_Space:
                self._open(index)
            case Qt.Key.Key_F2:
                self.list.edit(index)
            case Qt.Key.Key_Delete:
                self._delete(index)
            case _:
                return False
        return True

    def _is_search_key(self, key: int) -> bool:
        if key == Qt.Key.Key_Escape and self.search.text():
            self.search.clear()
            return True
        if key in (Qt.Key.Key_Down, Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.list.setFocus(Qt.FocusReason.TabFocusReason)
            self._select_first()
            return True
        return False

    def _select_first(self) -> None:
        for number in range(self.model.rowCount()):
            index = self.model.index(number)
            if self.model.chat_at(index) is not None:
                self.list.setCurrentIndex(index)
                return

    def _open(self, index: QModelIndex) -> None:
        chat = self.model.chat_at(index)
        if chat is not None:
            self.opened.emit(chat.summary.id)

    def _delete(self, index: QModelIndex) -> None:
        chat = self.model.chat_at(index)
        if chat is not None:
            self.delete_requested.emit(chat.summary.id)

    def _show_menu(self, at: QPoint) -> None:
        index = self.list.indexAt(at)
        if self.model.chat_at(index) is None:
            return
        self.list.setCurrentIndex(index)
        self.menu_for(index).popup(self.list.viewport().mapToGlobal(at))

    def menu_for(self, index: QModelIndex) -> QMenu:
        """Return what can be done with a conversation, with the keys that do it too."""
        look = self._looks.look
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for key, shortcut, slot in (
            ("open", "Return", self._open),
            ("rename", "F2", self.list.edit),
            ("delete", "Del", self._delete),
        ):
            action = QAction(look.text(f"ui.chats.{key}"), menu)
            action.setShortcut(shortcut)
            action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
            action.triggered.connect(lambda _checked=False, slot=slot: slot(index))
            menu.addAction(action)
        return menu

    def _on_searched(self, words: str) -> None:
        self._show_rows()
        self.search_changed.emit(words)

    def _is_editing(self) -> bool:
        return self.list.state() is QListView.State.EditingState

    def _on_editor_closed(self, _editor: QWidget, _hint: QAbstractItemDelegate.EndEditHint) -> None:
        self.list.setFocus()
        if self._is_update_due:
            self._show_rows(is_editing=False)

    def _show_rows(self, *, is_editing: bool | None = None) -> None:
        self._is_update_due = self._is_editing() if is_editing is None else is_editing
        if self._is_update_due:
            return
        look, words = self._looks.look, self.search.text().strip()
        shown = matching(self._conversations, words)
        kept = self.model.chat_at(self.list.currentIndex())
        at = self.list.verticalScrollBar().value()
        rows = grouped_rows(shown, datetime.fromtimestamp(self._clock()))
        self.model.set_rows(rows, self._current_id)
        self._select_again(kept)
        self.list.verticalScrollBar().setValue(at)
        is_search_empty = bool(words and self._conversations)
        key = "ui.chats.nothing_found" if is_search_empty else "ui.chats.empty"
        self._empty.setText(look.text(key, words=words) if is_search_empty else look.text(key))
        self._empty.setVisible(not shown)

    def _select_again(self, kept: ChatRow | None) -> None:
        number = self.model.row_of(kept.summary.id if kept else self._current_id)
        if number is not None:
            self.list.setCurrentIndex(self.model.index(number))

    def _apply_look(self) -> None:
        look = self._looks.look
        self.setFixedWidth(round(LAYOUT["conversations"] * max(1.0, min(1.4, look.zoom))))
        self._title.setText(look.text("ui.chats.title"))
        self.new.set_words(look.text("ui.chats.new"), NEW_SHORTCUT)
        self.search.set_words(look.text("ui.chats.search"), SEARCH_SHORTCUT.replace("+", " "))
        self.list.setAccessibleName(look.text("ui.chats.list"))
        self.setAccessibleName(look.text("ui.chats.title"))
        self._show_rows()
        self.list.scheduleDelayedItemsLayout()
