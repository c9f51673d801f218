"""Puts questions to the model: what goes along, and where the answer goes. No Qt of its own."""

from app.chat.conversation import Message, MessageState
from app.engine.protocol import ChatMessage
from app.texts import Texts
from app.ui.controllers.answering import Answering, opener_of
from app.ui.controllers.chat_archive import ChatArchive
from app.ui.controllers.live_chat import LiveChat
from app.ui.controllers.model_controller import ModelController
from app.ui.controllers.preferences import Preferences


class Asker:
    """Asks; chat and store have the messages first. Only while the model is ready."""

    def __init__(self, model: ModelController, archive: ChatArchive, preferences: Preferences) -> None:
        self._model = model
        self._archive = archive
        self._preferences = preferences

    def question(self, chat: LiveChat, text: str, parent_id: int | None) -> Message:
        """Put a question into the chat, after `parent_id`."""
        question = chat.add("user", text, parent_id)
        self._archive.put(chat, question)
        return question

    def answer(self, chat: LiveChat, question_id: int) -> Answering:
        """Ask for a new answer to a question."""
        history = self._history(chat, question_id)
        message = chat.add("assistant", "", question_id, MessageState.PARTIAL)
        self._archive.put(chat, message)
        return self._asked(chat, message, history)

    def rest(self, chat: LiveChat, message: Message) -> Answering:
        """Ask for the rest of an answer that ended too early."""
        request = Texts(self._preferences.language).text("ui.chat.continue_request")
        history = self._history(chat, message.id)
        return self._asked(chat, message, (*history, ChatMessage("user", request)))

    def _history(self, chat: LiveChat, end_id: int) -> tuple[ChatMessage, ...]:
        return chat.history(end_id, self._preferences.system_prompt)

    def _asked(self, chat: LiveChat, message: Message, history: tuple[ChatMessage, ...]) -> Answering:
        answering = Answering(chat, message, self._archive.put, opener_of(self._model.view))
        self._model.generate(history, self._preferences.sampling)
        return answering
