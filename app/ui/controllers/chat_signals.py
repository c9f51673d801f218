"""What the chat controller tells."""

from PySide6.QtCore import QObject, Signal


class ChatSignals(QObject):
    """The signals of `ChatController`.

    Signals:
        conversations_changed: all of them, a tuple of `ConversationSummary`.
        conversation_opened: the store's id of the one shown now, or None for a new one.
        items_reset: what is shown now, a tuple of `MessageItem`.
        version_shown: id of the message whose version is shown now, after `items_reset`.
        item_added, item_finished: a `MessageItem`.
        answer_failed: id and `Finding` of an answer that broke off, shown or not.
        item_removed: id of a message that is gone.
        text_streamed: id, `PieceKind` and text of more of an answer.
        queue_changed: what waits for the model in the chat shown, or None; its messages are shown already.
        text_returned: a message that was not sent: it belongs into the box again.
        hint_given: key of a sentence that says why.
        undo_offered: key of a sentence that says what was done, and a function that undoes it.
        store_failed: a `Finding`: chats are not saved just now.
        speed_changed: as `ModelController.speed_changed`.
        context_used: tokens of context the shown conversation takes, or None.
    """

    conversations_changed = Signal(object)
    conversation_opened = Signal(object)
    items_reset = Signal(object)
    version_shown = Signal(int)
    item_added = Signal(object)
    item_finished = Signal(object)
    item_removed = Signal(int)
    text_streamed = Signal(int, object, str)
    queue_changed = Signal(object)
    text_returned = Signal(str)
    hint_given = Signal(str)
    answer_failed = Signal(int, object)
    undo_offered = Signal(str, object)
    store_failed = Signal(object)
    speed_changed = Signal(object, bool)
    context_used = Signal(object)
