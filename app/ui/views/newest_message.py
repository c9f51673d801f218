"""The newest message: its actions are always seen, and it says what leads on after a failure."""

from dataclasses import replace

from app.ui.model_view import ModelView
from app.ui.views.message_widget import MessageWidget


class NewestMessage:
    """Tells one message at a time that it is the newest."""

    def __init__(self) -> None:
        self._widget: MessageWidget | None = None
        self._view = ModelView()

    def show_view(self, view: ModelView) -> None:
        """Take the state of the model."""
        view = replace(view, tokens_per_second=None)
        if view != self._view:
            self._view = view
            if self._widget is not None:
                self._widget.show_view(view)

    def mark(self, widget: MessageWidget | None, known: dict[int, MessageWidget]) -> None:
        """Make `widget` the newest; the one before it hears of it if it is among those still known."""
        if widget is self._widget:
            return
        if self._widget is not None and self._widget in known.values():
            self._widget.foot.set_always_shown(is_always_shown=False)
            self._widget.show_view(None)
        self._widget = widget
        if widget is not None:
            widget.foot.set_always_shown(is_always_shown=True)
            widget.show_view(self._view)

    def forget(self) -> None:
        """All widgets go away."""
        self._widget = None
