"""The main window: where everything stands, which keys lead where, and what may be dropped. No more."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from PySide6.QtCore import QEvent, QTimer, Signal
from PySide6.QtGui import (
    QCloseEvent,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QHideEvent,
    QKeySequence,
    QResizeEvent,
    QShortcut,
    QShowEvent,
)
from PySide6.QtWidgets import QMainWindow, QStackedWidget

from app.hardware.facts import Sample
from app.ui.model_view import ModelPhase, ModelView
from app.ui.theme.look import LookSource
from app.ui.views import dock as dock_tabs
from app.ui.views.chat_place import ChatPlace
from app.ui.views.conversation_list import NEW_SHORTCUT, SEARCH_SHORTCUT, ConversationList
from app.ui.views.dock import Dock
from app.ui.views.drop import DropOverlay, Refusal, dropped_path
from app.ui.views.model_bar import DOCK_SHORTCUT, ModelBar
from app.ui.views.model_palette import ModelPalette
from app.ui.views.model_picker import SHORTCUT as MODEL_SHORTCUT
from app.ui.views.models_page import ModelsPage
from app.ui.views.rail import PLACES, Rail, place_shortcut
from app.ui.views.settings_page import SettingsPage
from app.ui.views.slices import Turns
from app.ui.views.state_words import model_name
from app.ui.views.status_bar import StatusBar
from app.ui.widgets.layouts import column, holder, row
from app.ui.widgets.toast import Toast

CHAT: Final = "chat"
MODELS: Final = "models"
SETTINGS: Final = "settings"
STOP_KEY: Final = "Esc"
DOCK_FROM_WIDTH: Final = 1040
"""Narrower windows show the side panel only when asked."""


class MainWindow(QMainWindow):
    """Creates the views and hands them what all of them show; whoever holds it connects their signals.

    Signals:
        path_dropped: `Path` of a file or folder that was dropped.
        close_requested: the window is to be closed; it closes after `allow_close`.
        seen_changed: whether it can be seen: neither minimised nor hidden.
    """

    path_dropped = Signal(object)
    close_requested = Signal()
    seen_changed = Signal(bool)

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._view = ModelView()
        self._turns = Turns(self, self._show_parts)
        self._dock_wish: bool | None = None
        self._may_close = False
        self._is_seen = True
        self.rail = Rail(looks)
        self.model_bar = ModelBar(looks)
        self.conversation_list = ConversationList(looks)
        self.chat_place = ChatPlace(looks)
        self.dock = Dock(looks)
        self.models_page = ModelsPage(looks)
        self.settings_page = SettingsPage(looks)
        self.status_bar = StatusBar(looks)
        self.palette_popup = ModelPalette(looks, self)
        self.pages = QStackedWidget()
        self._lay_out()
        self.toast = Toast(looks, self.centralWidget())
        self._overlay = DropOverlay(looks, self.centralWidget())
        self._stop_key = self._bind_keys()
        self._connect()
        self.setAcceptDrops(True)
        self.chat_place.composer.setFocus()
        looks.changed.connect(self._apply_look)
        self._apply_look()
        self.show_view(self._view)

    def show_view(self, view: ModelView) -> None:
        """Show the state of the model everywhere."""
        self._view = view
        self._turns.ask()
        self._turns.finish()
        self.dock.plan_tab.show_view(view)

    def show_view_in_turns(self, view: ModelView) -> None:
        """Do the same view by view, from the next turn of the event loop on: no turn takes long."""
        self._view = view
        self._turns.ask()

    @property
    def is_settled(self) -> bool:
        """All that can be seen shows the last view."""
        plan_tab = self.dock.plan_tab
        pages = (plan_tab, self.models_page)
        return not self._turns.is_running and all(page.is_settled or not page.isVisible() for page in pages)

    def _show_parts(self) -> Iterator[None]:
        shows = (
            self.model_bar.show_view,
            self.chat_place.show_view,
            self._show_rest,
            self.dock.parameters_tab.show_view,
            self.dock.plan_tab.show_view_in_turns,
        )
        for show in shows:
            show(self._view)
            yield

    def _show_rest(self, view: ModelView) -> None:
        self.status_bar.show_view(view)
        self._stop_key.setEnabled(view.can_stop)
        self._arrange_dock()
        self._apply_look()

    def show_sample(self, sample: Sample) -> None:
        """Show what was measured."""
        self.model_bar.show_memory(sample, self._view)
        self.dock.monitor_tab.show_sample(sample)

    def show_place(self, key: str) -> None:
        """Open a place of the rail."""
        self.rail.set_place(key)
        self.pages.setCurrentIndex([place.key for place in PLACES].index(key))

    @property
    def place(self) -> str:
        """Key of the place that is open."""
        return PLACES[self.pages.currentIndex()].key

    def open_palette(self) -> None:
        """Open the palette below the model's name."""
        self.palette_popup.open_at(self.model_bar.picker)

    def show_findings(self) -> None:
        """Bring the findings of the plan to the front."""
        self.show_place(CHAT)
        self.set_dock_open(True)
        self.dock.show_tab(dock_tabs.PLAN)

    def show_toast(
        self,
        text: str,
        action_text: str = "",
        on_action: Callable[[], None] | None = None,
        *,
        is_undo: bool = False,
    ) -> None:
        """Say something over the foot of the window; an undo can be had by its key as well."""
        self.toast.show_message(text, action_text, on_action, is_undo=is_undo)

    def set_dock_open(self, is_open: bool | None) -> None:
        """Show or hide the side panel; None = as it fits: hidden until there is a model."""
        self._dock_wish = is_open
        self._arrange_dock()

    def dock_wish(self) -> bool | None:
        """Return what was last set or toggled; None when never."""
        return self._dock_wish

    def allow_close(self) -> None:
        """Close; `close_requested` has been answered."""
        self._may_close = True
        self.close()

    def closeEvent(self, event: QCloseEvent) -> None:
        if self._may_close:
            event.accept()
            return
        event.ignore()
        self.close_requested.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange_dock()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.WindowStateChange:
            self._tell_seen()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._tell_seen()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._tell_seen()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if event.mimeData().hasUrls():
            event.acceptProposedAction()
            self._overlay.show_over()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self._overlay.hide()
        event.accept()

    def dropEvent(self, event: QDropEvent) -> None:
        self._overlay.hide()
        event.acceptProposedAction()
        found = dropped_path(event.mimeData().urls())
        if isinstance(found, Refusal):
            self.show_toast(self._looks.look.text(found.key, **found.values))
        else:
            # after the drag has ended: the program the file comes from waits until then
            QTimer.singleShot(0, self, lambda: self.path_dropped.emit(found))

    def _lay_out(self) -> None:
        chat_page = row(self.conversation_list, gap=0)
        chat_page.addWidget(self.chat_place, 1)
        chat_page.addWidget(self.dock)
        for page in (holder(chat_page), self.models_page, self.settings_page):
            self.pages.addWidget(page)
        right = column(self.model_bar, gap=0)
        right.addWidget(self.pages, 1)
        right.addWidget(self.status_bar)
        body = row(self.rail, gap=0)
        body.addLayout(right, 1)
        self.setCentralWidget(holder(body, surface="window"))

    def _bind_keys(self) -> QShortcut:
        keys: list[tuple[str, Callable[[], None]]] = [
            (MODEL_SHORTCUT, self.open_palette),
            (SEARCH_SHORTCUT, self._on_search_key),
            (NEW_SHORTCUT, self.conversation_list.new_requested.emit),
            (DOCK_SHORTCUT, self._toggle_dock),
        ]
        keys += [
            (place_shortcut(number), partial(self.show_place, place.key))
            for number, place in enumerate(PLACES)
        ]
        for key, slot in keys:
            self._bind(key, slot)
        undo = QShortcut(QKeySequence(QKeySequence.StandardKey.Undo), self)
        undo.activated.connect(lambda: self.toast.undo())
        return self._bind(STOP_KEY, self.chat_place.composer.stop_requested.emit)

    def _bind(self, key: str, slot: Callable[[], None]) -> QShortcut:
        shortcut = QShortcut(QKeySequence(key), self)
        shortcut.activated.connect(slot)
        return shortcut

    def _connect(self) -> None:
        self.rail.place_chosen.connect(self.show_place)
        self.model_bar.pick_requested.connect(self.open_palette)
        self.chat_place.stage.pick_requested.connect(self.open_palette)
        self.model_bar.dock_toggled.connect(self._toggle_dock)
        self.dock.closed.connect(self._toggle_dock)
        self.status_bar.findings_requested.connect(self.show_findings)
        self.conversation_list.new_requested.connect(lambda: self.show_place(CHAT))
        self.conversation_list.opened.connect(lambda _id: self.show_place(CHAT))

    def _tell_seen(self) -> None:
        is_seen = self.isVisible() and not self.isMinimized()
        if is_seen != self._is_seen:
            self._is_seen = is_seen
            self.seen_changed.emit(is_seen)

    def _on_search_key(self) -> None:
        if self.place == MODELS:
            self.models_page.list.focus_search()
            return
        self.show_place(CHAT)
        self.conversation_list.focus_search()

    def _toggle_dock(self) -> None:
        self.set_dock_open(self.dock.isHidden())

    def _arrange_dock(self) -> None:
        room = DOCK_FROM_WIDTH * max(1.0, self._looks.look.zoom)
        fits = self._view.phase is not ModelPhase.NONE and self.width() >= room
        is_open = fits if self._dock_wish is None else self._dock_wish
        focus = self.focusWidget()
        had_focus = focus is not None and self.dock.isAncestorOf(focus)
        self.dock.setVisible(is_open)
        if had_focus and not is_open:
            self.model_bar.dock.setFocus()

    def _apply_look(self) -> None:
        look = self._looks.look
        name = model_name(self._view)
        title = look.text("ui.window.title_with_model", name=name) if name else look.text("ui.window.title")
        if title != self.windowTitle():
            self.setWindowTitle(title)
