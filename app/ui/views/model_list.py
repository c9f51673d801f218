"""The list of models on the left of the Models page: search, add, choose."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPoint, QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QKeyEvent
from PySide6.QtWidgets import QListView, QMenu, QWidget

from app.ui.theme.look import LookSource
from app.ui.views.library_facts import Fit, GroupRow, LibraryModel, library_rows
from app.ui.views.model_list_delegate import ModelListDelegate
from app.ui.views.model_list_rows import ModelListRows, group_words
from app.ui.widgets.buttons import IconButton
from app.ui.widgets.controls import SearchField
from app.ui.widgets.labels import TextLabel
from app.ui.widgets.layouts import column, row
from app.ui.widgets.panel import Panel

WIDTH: Final = 272
_SEEN_AFTER_MS: Final = 60


class ModelList(Panel):
    """Shows models by where they lie; the head of the group in sight stays above the rows.

    Signals:
        model_chosen: `Path` of the model that is selected now.
        opened: `Path` of a model whose page is wanted: Enter, or a double click.
        rows_seen: tuple of `Path`: the models in sight, the first row first.
        file_requested, folder_requested: something is to be added.
        show_in_folder_requested, copy_path_requested, again_requested: `Path` of the model that is meant.
        removal_requested: `Path` of the file or folder that was added and is to be looked at no longer.
    """

    model_chosen = Signal(object)
    opened = Signal(object)
    rows_seen = Signal(object)
    file_requested = Signal()
    folder_requested = Signal()
    show_in_folder_requested = Signal(object)
    copy_path_requested = Signal(object)
    again_requested = Signal(object)
    removal_requested = Signal(object)

    def __init__(self, looks: LookSource, parent: QWidget | None = None) -> None:
        super().__init__(looks, "right", parent=parent)
        self._looks = looks
        self._models: tuple[LibraryModel, ...] = ()
        self._is_searching = False
        self._chosen: Path | None = None
        self._added: tuple[Path, ...] = ()
        self._title = TextLabel("title")
        self.add_folder = IconButton(looks, "folder")
        self.add_file = IconButton(looks, "plus")
        self.search = SearchField(looks)
        self._head = TextLabel("caption", "faint")
        self.rows = ModelListRows(looks, self)
        self.list = QListView()
        self._nothing = TextLabel("body", "faint", wrap=True)
        self._seen = QTimer(self, singleShot=True, interval=_SEEN_AFTER_MS)
        self._lay_out()
        self._connect()
        looks.changed.connect(self._apply_look)
        self._apply_look()

    def show_models(self, models: tuple[LibraryModel, ...], *, is_searching: bool) -> None:
        """Set the models, in the order to be shown; `is_searching` while more may come."""
        self._models, self._is_searching = models, is_searching
        self._show_rows()

    def show_fits(self, fits: Mapping[Path, Fit]) -> None:
        """Set how models fit this PC, as far as that is known."""
        self.rows.set_fits(fits)
        self.list.viewport().update()

    def choose(self, path: Path | None) -> None:
        """Select a model without a signal; None or a model that is not in the list selects none."""
        self._chosen = path
        self._select_again()
        self.list.scrollTo(self.list.currentIndex())

    def show_added(self, added: tuple[Path, ...]) -> None:
        """Set the files and folders that the person added: those can be taken out again."""
        self._added = added

    def tell_seen(self) -> None:
        """Tell soon which models are in sight, though nothing was scrolled."""
        self._seen.start()

    def menu_for(self, model: LibraryModel) -> QMenu:
        """Return what can be done with a model's row."""
        look, path = self._looks.look, model.path
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        entries = [
            ("show_in_folder", partial(self.show_in_folder_requested.emit, path)),
            ("copy_path", partial(self.copy_path_requested.emit, path)),
            ("again", partial(self.again_requested.emit, path)),
        ]
        if (entry := self._entry_of(path)) is not None:
            key = "remove_file" if entry == path else "remove_folder"
            entries.append((key, partial(self.removal_requested.emit, entry)))
        for key, slot in entries:
            action = QAction(look.text(f"ui.models.menu.{key}", name=entry.name if entry else ""), menu)
            action.triggered.connect(slot)
            menu.addAction(action)
        return menu

    @property
    def first_path(self) -> Path | None:
        """The first model shown."""
        shown = (self.rows.row_at(number) for number in range(min(3, self.rows.rowCount())))
        return next((row.path for row in shown if isinstance(row, LibraryModel)), None)

    def focus_search(self) -> None:
        """Put the cursor into the search field."""
        self.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.search.selectAll()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() is QEvent.Type.KeyPress:
            if watched is self.list and self._is_list_key(event):
                return True
            if watched is self.search and self._is_search_key(event.key()):
                return True
        if watched is self.list.viewport() and event.type() is QEvent.Type.Resize:
            self._seen.start()
        return super().eventFilter(watched, event)

    def _lay_out(self) -> None:
        view = self.list
        view.setModel(self.rows)
        view.setItemDelegate(ModelListDelegate(self._looks, view))
        view.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        view.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        view.setFrameShape(QListView.Shape.NoFrame)
        view.setMouseTracking(True)
        view.setUniformItemSizes(True)
        view.setProperty("surface", "plain")
        view.viewport().setAutoFillBackground(False)
        head = row(self._title, None, self.add_folder, self.add_file, gap=4)
        layout = column(head, self.search, self._head, self._nothing, gap=8, margins=(12, 12, 12, 8))
        layout.addWidget(view, 1)
        self.setLayout(layout)

    def _connect(self) -> None:
        self.add_file.clicked.connect(self.file_requested)
        self.add_folder.clicked.connect(self.folder_requested)
        self.search.textChanged.connect(self._show_rows)
        for watched in (self.search, self.list, self.list.viewport()):
            watched.installEventFilter(self)
        self.list.selectionModel().currentChanged.connect(self._on_current_changed)
        self.list.doubleClicked.connect(self._open)
        self.list.verticalScrollBar().valueChanged.connect(self._on_scrolled)
        self._seen.timeout.connect(self._tell_seen)
        self.list.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.list.customContextMenuRequested.connect(self._show_menu)

    def _is_list_key(self, event: QKeyEvent) -> bool:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._open(self.list.currentIndex())
            return True
        text = event.text()
        control = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier
        if text and text.isprintable() and not text.isspace() and not event.modifiers() & control:
            self.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
            self.search.setText(self.search.text() + text)
            return True
        return False

    def _is_search_key(self, key: int) -> bool:
        if key == Qt.Key.Key_Down:
            self.list.setFocus(Qt.FocusReason.TabFocusReason)
            if self.rows.model_at(self.list.currentIndex()) is None:
                self._select_first()
            return True
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._select_first()
            return True
        return False

    def _select_first(self) -> None:
        number = self.rows.number_of(self.first_path)
        if number is not None:
            self.list.setCurrentIndex(self.rows.index(number))

    def _open(self, index: QModelIndex) -> None:
        model = self.rows.model_at(index)
        if model is not None:
            self.opened.emit(model.path)

    def _show_menu(self, at: QPoint) -> None:
        model = self.rows.model_at(self.list.indexAt(at))
        if model is not None:
            self.menu_for(model).popup(self.list.viewport().mapToGlobal(at))

    def _entry_of(self, path: Path) -> Path | None:
        """Return what was added that a model comes from: the nearest folder, or the file itself."""
        entries = [entry for entry in self._added if path.is_relative_to(entry)]
        return max(entries, key=lambda entry: len(entry.parts), default=None)

    def _on_current_changed(self, current: QModelIndex, _before: QModelIndex) -> None:
        model = self.rows.model_at(current)
        if model is not None and model.path != self._chosen:
            self._chosen = model.path
            self.model_chosen.emit(model.path)

    def _show_rows(self) -> None:
        look, words = self._looks.look, self.search.text().strip()
        at = self.list.verticalScrollBar().value()
        with QSignalBlocker(self.list.selectionModel()):
            is_new = self.rows.set_rows(library_rows(self._models, words))
        if is_new:
            self._select_again()
            self.list.verticalScrollBar().setValue(at)
        is_empty = self.rows.rowCount() == 0
        key = "searching" if self._is_searching else "nothing_found" if words else "none"
        self._nothing.setText(look.text(f"ui.models.list.{key}", words=words))
        self._nothing.setVisible(is_empty)
        self._show_head()
        self._seen.start()

    def _select_again(self) -> None:
        """Select what was chosen; the list stays where it is, wherever that one lies now."""
        number = self.rows.number_of(self._chosen)
        chosen = QModelIndex() if number is None else self.rows.index(number)
        self.list.setAutoScroll(False)
        with QSignalBlocker(self):
            self.list.setCurrentIndex(chosen)
        self.list.setAutoScroll(True)

    def _on_scrolled(self) -> None:
        self._show_head()
        self._seen.start()

    def _top_number(self) -> int:
        """Return the first row in sight, without having the view lay all rows out."""
        height = max(1, self.list.sizeHintForRow(0))
        return self.list.verticalScrollBar().value() // height

    def _show_head(self) -> None:
        head = self.rows.group_at(self._top_number())
        self._head.setVisible(head is not None)
        if isinstance(head, GroupRow):
            self._head.setText(group_words(self._looks.look, head))

    def _tell_seen(self) -> None:
        height = max(1, self.list.sizeHintForRow(0))
        first, count = self._top_number(), self.list.viewport().height() // height + 2
        shown = (self.rows.row_at(number) for number in range(first, first + count))
        paths = tuple(row.path for row in shown if isinstance(row, LibraryModel) and not row.has_errors)
        if paths and self.isVisible():
            self.rows_seen.emit(paths)

    def _apply_look(self) -> None:
        look = self._looks.look
        self.setFixedWidth(round(WIDTH * max(1.0, min(1.3, look.zoom))))
        self._title.setText(look.text("ui.models.title"))
        self.add_file.set_words(look.text("ui.models.add_file"))
        self.add_folder.set_words(look.text("ui.models.add_folder"))
        self.search.set_words(look.text("ui.models.search"))
        self.list.setAccessibleName(look.text("ui.models.list.name"))
        self.setAccessibleName(look.text("ui.models.title"))
        self._show_rows()
        self.list.scheduleDelayedItemsLayout()
