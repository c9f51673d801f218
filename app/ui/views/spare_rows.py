"""Widgets of messages made before they are needed: a message is sent and answered without a halt."""

from collections.abc import Iterator
from typing import Final

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QWidget

from app.ui.markdown.parts import PartEvents
from app.ui.markdown.selection import SelectionOwner
from app.ui.theme.look import LookSource
from app.ui.theme.style_sheet import polish
from app.ui.views.chat_items import MessageItem
from app.ui.views.message_widget import MessageWidget
from app.ui.views.slices import Turns

_REST_MS: Final = 250
"""Without a new message, before the next spare widgets are made."""

_NOTHING: Final = {True: MessageItem(0, "user", ""), False: MessageItem(0, "assistant", "")}
"""What spare widgets show, by whether they are the person's."""


class SpareRows(QObject):
    """Gives widgets of messages out, and has one of each side ready when it can.

    Signals:
        height_changed: id of a message whose widget has another height.
        asked: message id and what a button of it says.
        edit_accepted: message id, new text.
        version_requested: message id, -1 for the version before it, 1 for the next.
    """

    height_changed = Signal(int)
    asked = Signal(int, str)
    edit_accepted = Signal(int, str)
    version_requested = Signal(int, int)

    def __init__(
        self, looks: LookSource, owner: SelectionOwner, events: PartEvents, viewport: QWidget
    ) -> None:
        super().__init__(viewport)
        self._looks = looks
        self._owner = owner
        self._events = events
        self._viewport = viewport
        self._spare: dict[bool, MessageWidget] = {}
        self._turns = Turns(self, self._make_missing)
        self._rest = QTimer(self, interval=_REST_MS, singleShot=True)
        self._rest.timeout.connect(self._turns.ask)

    @property
    def spare_count(self) -> int:
        """Widgets that wait for their message."""
        return len(self._spare)

    def take(self, item: MessageItem) -> MessageWidget:
        """Return a widget that shows `item`."""
        widget = self._spare.pop(item.is_user, None)
        if widget is None:
            widget = MessageWidget(self._looks, self._owner, self._events, item)
        else:
            widget.show_item(item)
        message_id = item.id
        widget.height_changed.connect(lambda: self.height_changed.emit(message_id))
        widget.asked.connect(lambda what: self.asked.emit(message_id, what))
        widget.edit_accepted.connect(lambda text: self.edit_accepted.emit(message_id, text))
        widget.version_requested.connect(lambda step: self.version_requested.emit(message_id, step))
        self.prepare()
        return widget

    def prepare(self) -> None:
        """Have spare widgets made when nothing happens for a while."""
        self._rest.start()

    def drop(self) -> None:
        """Let go of the spare widgets: they have an old look."""
        for widget in self._spare.values():
            widget.deleteLater()
        self._spare.clear()

    def _make_missing(self) -> Iterator[None]:
        for is_user, nothing in _NOTHING.items():
            if is_user in self._spare or not self._viewport.isVisible():
                continue
            widget = MessageWidget(self._looks, self._owner, self._events, nothing)
            widget.setParent(self._viewport)
            yield
            if not is_user:
                widget.foot.prepare("stop")
                yield
            yield from polish(widget)
            self._spare[is_user] = widget
