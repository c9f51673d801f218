"""The line under a message: what the answer cost, and what can be done with the message."""

from collections.abc import Iterable
from typing import Final

from PySide6.QtCore import QEvent, QObject, Signal
from PySide6.QtWidgets import QGraphicsOpacityEffect, QWidget

from app.chat.conversation import MessageState
from app.ui.markdown.part import Part
from app.ui.theme.look import Look, LookSource
from app.ui.views.chat_items import MessageItem
from app.ui.views.version_switch import VersionSwitch
from app.ui.widgets.buttons import IconButton
from app.ui.widgets.labels import ElidedLabel

_LINE: Final = 28
_GAP: Final = 4
_ACTIONS: Final = {
    "stop": "stop",
    "copy": "copy",
    "edit": "edit",
    "continue": "play",
    "regenerate": "retry",
    "delete": "delete",
}
"""What can be done, in order, and its icon."""


class MessageFoot(Part):
    """Figures left, actions right, and beside them which version of the message it is.

    Actions of older messages appear under the mouse and under the keyboard; versions always do.

    Signals:
        action_requested: `stop`, `copy`, `edit`, `continue`, `regenerate` or `delete`.
        version_requested: -1 for the version before, 1 for the next.
    """

    action_requested = Signal(str)
    version_requested = Signal(int)

    def __init__(self, looks: LookSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._looks = looks
        self._figures = ElidedLabel("caption", "faint")
        self._figures.setParent(self)
        self._is_user = False
        self._versions: VersionSwitch | None = None
        self._actions = QWidget(self)
        self._effect = QGraphicsOpacityEffect(self._actions)
        self._effect.setOpacity(0.0)
        self._actions.setGraphicsEffect(self._effect)
        self._buttons: dict[str, IconButton] = {}
        self._is_always_shown = False
        self._is_hovered = False

    def show_item(self, item: MessageItem) -> None:
        """Offer what fits `item`, and say what it cost."""
        offered = set(_offered(item))
        for name in _ACTIONS:
            if name in offered:
                self._button(name).show()
            elif name in self._buttons:
                self._buttons[name].hide()
        self._figures.setText(figures_line(item, self._looks.look))
        self._is_user = item.is_user
        if item.version_count > 1 or self._versions is not None:
            self.versions.show_version(item.version, item.version_count)

    @property
    def versions(self) -> VersionSwitch:
        """The way to the other versions, made when there is one."""
        if self._versions is None:
            self._versions = VersionSwitch(self._looks, self)
            self._versions.step_requested.connect(self.version_requested)
        return self._versions

    def prepare(self, name: str) -> None:
        """Make the button of an action that will be offered."""
        self._button(name).hide()

    def set_always_shown(self, *, is_always_shown: bool) -> None:
        """Keep the actions in sight, as under the newest answer."""
        self._is_always_shown = is_always_shown
        self._show_or_hide()

    def set_hovered(self, *, is_hovered: bool) -> None:
        """Take whether the mouse is over the message."""
        self._is_hovered = is_hovered
        self._show_or_hide()

    @property
    def actions_width(self) -> int:
        """Room the buttons need."""
        shown = [button for button in self._buttons.values() if not button.isHidden()]
        return sum(button.sizeHint().width() + _GAP for button in shown) + self._fit_versions()

    def fit(self, width: int) -> int:
        height = round(_LINE * self._looks.look.zoom)
        x = 0
        for name in _ACTIONS:
            button = self._buttons.get(name)
            if button is None or button.isHidden():
                continue
            button.adjustSize()
            button.move(x, (height - button.height()) // 2)
            x += button.width() + _GAP
        left = max(0, width - x + _GAP)
        self._actions.setGeometry(left, 0, x, height)
        versions_width = self._fit_versions()
        figures_left = 0 if self._is_user else versions_width
        if self._versions is not None:
            self._versions.move(max(0, left - versions_width) if self._is_user else 0, 0)
        self._figures.setGeometry(figures_left, 0, max(0, left - 8 - figures_left), height)
        self.resize(width, height)
        return height

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.FocusIn, QEvent.Type.FocusOut):
            self._show_or_hide()
        return super().eventFilter(watched, event)

    @property
    def are_actions_visible(self) -> bool:
        """The buttons can be seen now; by Tab they are reached in any case."""
        has_focus = any(button.hasFocus() for button in self._buttons.values())
        return self._is_always_shown or self._is_hovered or has_focus

    def _button(self, name: str) -> IconButton:
        """Return the button of an action, made when it is offered first."""
        button = self._buttons.get(name)
        if button is None:
            button = IconButton(self._looks, _ACTIONS[name], small=True)
            button.setParent(self._actions)
            button.set_words(self._looks.look.text(f"ui.chat.action.{name}"))
            button.clicked.connect(lambda: self.action_requested.emit(name))
            button.installEventFilter(self)
            self._buttons[name] = button
        return button

    def _fit_versions(self) -> int:
        """Return the room of the way to the other versions, with a gap; none where there are none."""
        if self._versions is None or self._versions.isHidden():
            return 0
        return self._versions.fit(round(_LINE * self._looks.look.zoom)) + 2 * _GAP

    def _show_or_hide(self) -> None:
        self._effect.setEnabled(not self.are_actions_visible)


def figures_line(item: MessageItem, look: Look) -> str:
    """Return what an answer cost and how it ended; what is not known is left out."""
    if item.is_user or item.is_streaming:
        return ""
    return look.text("ui.chat.figure.separator").join(_figures(item, look))


def _figures(item: MessageItem, look: Look) -> Iterable[str]:
    figures = item.figures
    if figures is not None:
        tokens = figures.timings.predicted_tokens
        if tokens is not None:
            yield look.text("ui.chat.figure.tokens", count=tokens)
        if figures.tokens_per_second is not None:
            yield look.text("ui.chat.figure.speed", speed=figures.tokens_per_second)
        first_ms = figures.first_token_ms if figures.first_token_ms is not None else figures.timings.prompt_ms
        if first_ms is not None:
            yield look.text("ui.chat.figure.first_token", seconds=first_ms / 1000.0)
    yield look.text(f"ui.chat.end.{_end(item)}")


def _end(item: MessageItem) -> str:
    match item.state:
        case MessageState.CANCELLED:
            return "cancelled"
        case MessageState.FAILED:
            return "failed"
        case MessageState.PARTIAL:
            return "partial"
    return item.finish_reason if item.finish_reason in ("stop", "length", "context") else "complete"


def _offered(item: MessageItem) -> Iterable[str]:
    if item.is_streaming:
        yield "stop"
        return
    yield from ("copy", "delete")
    if item.is_user:
        yield "edit"
        return
    yield "regenerate"
    if item.can_continue and item.text:
        yield "continue"
