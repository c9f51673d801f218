"""The conversations of the window: opened, continued, answered, changed, kept."""

from typing import Final

from app.chat.conversation import Message
from app.ui.controllers.live_chat import LiveChat, RemovedMessage
from app.ui.controllers.shown_chat import ShownChat
from app.ui.controllers.waiting import can_wait, hint_for

CLOSE_SECONDS: Final = 5.0


class ChatController(ShownChat):
    """Owns the conversations. Methods return at once, except `close`.

    Message ids are this window's: those of stored messages are the store's, new ones lie above.
    What it tells: `ChatSignals`.
    """

    def start(self) -> None:
        """Open the store and have the conversations told."""
        self._archive.list()

    # which chat

    def new_chat(self) -> None:
        """Show an empty chat; nothing is stored until the first message."""
        self._opening += 1
        if not self._current.is_empty:
            self._show(self._archive.new_chat())

    def open_chat(self, conversation_id: int) -> None:
        """Show a stored chat; one that is being answered goes on behind."""
        self._opening += 1
        for held in self._held():
            if held.stored_id == conversation_id:
                self._show(held)
                return
        self._read(conversation_id)

    def delete_chat(self, conversation_id: int) -> None:
        """Take a chat off the list; it can be undone."""
        was_shown = self.current_id == conversation_id
        if self._answering is not None and self._answering.chat.stored_id == conversation_id:
            self._model.stop()
        for questions in (self._waiting, self._returning):
            for chat in questions.chats:
                if chat.stored_id == conversation_id:
                    questions.take(chat)
        self._archive.delete(conversation_id)
        if was_shown:
            self._show(self._archive.new_chat())

        def undo() -> None:
            self._archive.restore(conversation_id)
            if was_shown and self._current.is_empty:
                self.open_chat(conversation_id)

        self.undo_offered.emit("ui.chat.chat_deleted", undo)

    def rename_chat(self, conversation_id: int, title: str) -> None:
        """Give a chat a title of its own."""
        if title.strip():
            self._archive.rename(conversation_id, title.strip())

    # what is said

    def send(self, text: str) -> bool:
        """Ask; or keep the message until the model can answer. One that is only planned is loaded for it.

        Returns:
            False when neither is possible: `hint_given` says why, `text_returned` gives it back.
        """
        if not text.strip():
            return False
        if self._model.view.loads_for_message:
            self._model.load()
        view = self._model.view
        if view.can_send or can_wait(view):
            chat, line = self._current, self._current.line()
            question = self._asker.question(chat, text, line[-1].id if line else None)
            self.item_added.emit(chat.item(question.id))
            self._waiting.add(chat, question)
            self._answer_next()
            self._tell_queue()
            return True
        self.hint_given.emit(hint_for(view))
        self.text_returned.emit(text)
        return False

    def stop(self) -> None:
        """End the running answer, or take back what waits."""
        if self._answering is not None:
            self._model.stop()
        else:
            self._take_back()

    def regenerate(self, message_id: int) -> None:
        """Answer again: another version beside the old one. It can be undone."""
        message = self._current.message(message_id)
        if message is None or not self._can_ask():
            return
        asked_by = message.id if message.role == "user" else message.parent_id
        if asked_by is not None:
            hidden = _after(self._current.line(), asked_by)
            self._answer_to(asked_by)
            if self._answering is not None:
                self._offer_former(self._answering.message_id, hidden, len(hidden) > 1)

    def show_version(self, message_id: int, step: int) -> None:
        """Show the version before a message (-1) or the next (1), with what followed it."""
        chat = self._current
        if self._answering_in(chat) or self.queued_text is not None:
            self.hint_given.emit("ui.chat.version_busy")
            return
        shown = chat.show_version(message_id, step) if chat.message(message_id) is not None else None
        if shown is not None:
            self._archive.put_end(chat)
            self.items_reset.emit(self._items())
            self.version_shown.emit(shown)
            self.context_used.emit(chat.context_tokens)

    def edit(self, message_id: int, text: str) -> None:
        """Ask differently: another version of the question, and its answer. It can be undone."""
        message = self._current.message(message_id)
        if message is None or not text.strip():
            return
        if not self._can_ask():
            self.text_returned.emit(text)
            return
        hidden = (message, *_after(self._current.line(), message_id))
        question = self._asker.question(self._current, text, message.parent_id)
        self._answer_to(question.id)
        self._offer_former(question.id, hidden, len(hidden) > 2)

    def continue_answer(self, message_id: int) -> None:
        """Let the model go on with an answer that ended too early."""
        message = self._current.message(message_id)
        if message is not None and message.role == "assistant" and self._can_ask():
            self._answering = self._asker.rest(self._current, message)
            self.items_reset.emit(self._items())

    def delete_message(self, message_id: int) -> None:
        """Take a message out; it can be undone. The answer that is being written stays."""
        chat = self._current
        is_streaming = self._answering is not None and self._answering.message_id == message_id
        if chat.message(message_id) is None or (is_streaming and self._answering_in(chat)):
            return
        before = [message.id for message in chat.line()]
        self._waiting.forget(message_id)
        removed = chat.remove(message_id)
        self._archive.delete_message(chat, message_id)
        self._archive.put_end(chat)
        is_one_less = [m.id for m in chat.line()] == [known for known in before if known != message_id]
        if is_one_less and not chat.is_empty:
            self.item_removed.emit(message_id)
        else:
            self.items_reset.emit(self._items())  # an older version comes back, or nothing is left
        self._undoable.add(chat)
        self.undo_offered.emit("ui.chat.message_deleted", lambda: self._undo_delete(chat, removed))

    def close(self) -> None:
        """Keep what came of a running answer, and wait until all is saved, five seconds at most.

        Nothing else can be done in `store_tasks` afterwards.
        """
        if self._answering is not None:
            self._answering.cancel()
            self._answering = None
        self._archive.close(CLOSE_SECONDS)

    # an answer

    def _answer_to(self, question_id: int) -> None:
        self._answering = self._asker.answer(self._current, question_id)
        self.items_reset.emit(self._items())

    def _offer_former(self, new_id: int, hidden: tuple[Message, ...], are_later: bool) -> None:
        """Offer what a new version has hidden, if there is anything to see of it."""
        if any(message.content or message.reasoning for message in hidden):
            chat = self._current
            self._undoable.add(chat)
            key = "ui.chat.later_hidden" if are_later else "ui.chat.version_hidden"
            self.undo_offered.emit(key, lambda: self._show_former(chat, new_id, hidden[-1].id))

    def _show_former(self, chat: LiveChat, new_id: int, former_end: int) -> None:
        """Take out a new version and what followed it; what the person wrote there goes into the box."""
        branch = chat.branch(new_id)
        for message in branch:
            self._waiting.forget(message.id)
        answering = self._answering
        if answering is not None and any(message.id == answering.message_id for message in branch):
            self._when_answered = lambda: self._show_former(chat, new_id, former_end)
            self._model.stop()
            return
        for message in reversed(branch):
            chat.remove(message.id)
            self._archive.delete_message(chat, message.id)
        chat.end_at(former_end)
        self._archive.put_end(chat)
        self._show(chat)
        written = [message.content for message in branch if message.role == "user"]
        if written:
            self.text_returned.emit("\n\n".join(written))

    def _undo_delete(self, chat: LiveChat, removed: RemovedMessage) -> None:
        message = chat.restore(removed)
        self._archive.restore_message(chat, message)
        self._archive.put_end(chat)
        if chat is self._current:
            self.items_reset.emit(self._items())


def _after(line: tuple[Message, ...], message_id: int) -> tuple[Message, ...]:
    """Return what follows a message of a line."""
    ids = [message.id for message in line]
    return line[ids.index(message_id) + 1 :] if message_id in ids else ()
