"""The chat that is shown, those that are held behind it, and the questions that wait for the model."""

from collections.abc import Callable
from weakref import WeakSet

from PySide6.QtCore import Slot

from app.chat.store import ConversationStore
from app.chat.turn import TurnEvent
from app.ui.controllers.answering import Answering
from app.ui.controllers.asker import Asker
from app.ui.controllers.chat_archive import ChatArchive, ReadChat
from app.ui.controllers.chat_signals import ChatSignals
from app.ui.controllers.live_chat import LiveChat
from app.ui.controllers.model_controller import ModelController
from app.ui.controllers.preferences import Preferences
from app.ui.controllers.waiting import WaitingQuestions, hint_for, waits_in_vain
from app.ui.tasks import SerialTasks
from app.ui.views.chat_items import MessageItem


class ShownChat(ChatSignals):
    """Shows one chat, and has what waits answered when the model can; who inherits changes chats."""

    def __init__(
        self,
        model: ModelController,
        store_tasks: SerialTasks,
        preferences: Preferences,
        open_store: Callable[[], ConversationStore],
    ) -> None:
        """Begin with an empty chat.

        Args:
            open_store: Opens the store; called in `store_tasks`.
        """
        super().__init__()
        self._model = model
        self._archive = ChatArchive(store_tasks, open_store)
        self._asker = Asker(model, self._archive, preferences)
        self._archive.listed.connect(self.conversations_changed)
        self._archive.failed.connect(self.store_failed)
        self._current = self._archive.new_chat()
        self._answering: Answering | None = None
        self._waiting = WaitingQuestions()
        self._returning = WaitingQuestions()  # back into the box once their chat is shown
        self._undoable = WeakSet[LiveChat]()  # for as long as somebody holds an undo
        self._when_answered: Callable[[], None] | None = None
        self._told_queue: str | None = None
        self._opening = 0
        model.answer_event.connect(self._on_answer_event)
        model.view_changed.connect(self._on_view)
        model.speed_changed.connect(self.speed_changed)

    @property
    def current_id(self) -> int | None:
        """The store's id of the chat shown; None for a new one."""
        return self._current.stored_id

    @property
    def queued_text(self) -> str | None:
        """What waits for the model in the chat shown."""
        return self._waiting.text_in(self._current)

    def _can_ask(self) -> bool:
        view = self._model.view
        if not view.can_send:
            self.hint_given.emit(hint_for(view))
        return view.can_send

    # an answer

    @Slot(object)
    def _on_answer_event(self, event: TurnEvent) -> None:
        answering = self._answering
        if answering is None:
            return
        is_shown = answering.chat is self._current
        for kind, text in answering.feed(event):
            if is_shown:
                self.text_streamed.emit(answering.message_id, kind, text)
        if answering.is_done:
            self._answering = None
            item = answering.item()
            if item.failure is not None:
                self.answer_failed.emit(item.id, item.failure)
            if is_shown:
                self.item_finished.emit(item)
                self.context_used.emit(self._current.context_tokens)
            self._archive.list()
            then, self._when_answered = self._when_answered, None
            if then is not None:
                then()

    # what waits

    @Slot()
    def _on_view(self) -> None:
        if self._waiting.chats:
            self._answer_next()
            if waits_in_vain(self._model.view):
                self._take_back()
            self._tell_queue()

    def _answer_next(self) -> None:
        # the view in force may be newer than the one that is being told
        if self._answering is not None or not self._model.view.can_send:
            return
        question = self._waiting.take_next()
        if question is not None:
            self._answering = self._asker.answer(question.chat, question.message_id)
            if question.chat is self._current:
                self.item_added.emit(self._answering.item())

    def _take_back(self) -> None:
        """Let nothing wait any more: it goes into the box again, elsewhere once its chat is shown."""
        self._returning.move_from(self._waiting)
        self._return_to_box()

    def _return_to_box(self) -> None:
        text = self._returning.text_in(self._current)
        if text is None:
            return
        for question in self._returning.take(self._current):
            self._current.remove(question.message_id)
            self._archive.delete_message(self._current, question.message_id)
        self.items_reset.emit(self._items())
        self._tell_queue()
        self.text_returned.emit(text)

    def _tell_queue(self) -> None:
        if self.queued_text != self._told_queue:
            self._told_queue = self.queued_text
            self.queue_changed.emit(self._told_queue)

    # what is shown

    def _held(self) -> list[LiveChat]:
        """Chats whose newest state is in memory."""
        answering = () if self._answering is None else (self._answering.chat,)
        return [self._current, *answering, *self._waiting.chats, *self._returning.chats, *self._undoable]

    def _answering_in(self, chat: LiveChat) -> bool:
        return self._answering is not None and self._answering.chat is chat

    def _show(self, chat: LiveChat, items: tuple[MessageItem, ...] | None = None) -> None:
        self._current = chat
        self.conversation_opened.emit(chat.stored_id)
        self.items_reset.emit(self._items() if items is None else items)
        self._tell_queue()
        self.context_used.emit(chat.context_tokens)
        self._return_to_box()

    def _read(self, conversation_id: int) -> None:
        self._opening += 1
        opening = self._opening

        def show(read: ReadChat | None) -> None:
            if read is None:
                self._archive.list()  # somebody else deleted it
            elif opening == self._opening:
                self._show(read.chat, read.items)

        self._archive.read(conversation_id, show)

    def _items(self) -> tuple[MessageItem, ...]:
        items = self._current.items()
        answering = self._answering
        if answering is None or not self._answering_in(self._current):
            return items
        return tuple(answering.item() if item.id == answering.message_id else item for item in items)
