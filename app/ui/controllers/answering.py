"""The answer that is being written: which chat it belongs to, and what it is so far. No Qt."""

from collections.abc import Callable
from dataclasses import replace

from app.chat.conversation import Message, MessageState
from app.chat.marks import opener_in_template
from app.chat.reasoning import Piece, ReasoningSplitter
from app.chat.turn import Turn, TurnEvent
from app.engine.packs import ECHO
from app.ui.controllers.live_chat import LiveChat
from app.ui.model_view import ModelView
from app.ui.views.chat_items import MessageItem


class Answering:
    """One answer while it arrives.

    Attributes:
        chat: Where it belongs, shown or not.
        message_id: Of the message it goes into.
    """

    def __init__(
        self,
        chat: LiveChat,
        message: Message,
        save: Callable[[LiveChat, Message], None],
        opened_by_prompt: str | None,
    ) -> None:
        """Begin.

        Args:
            message: An empty one, or one that is continued.
            save: Keeps what the message holds by now; must not wait.
        """
        self.chat = chat
        self.message_id = message.id
        self._before = message
        self._save = save
        empty = replace(message, content="", reasoning="", state=MessageState.PARTIAL, finish_reason=None)
        self._turn = Turn(empty, self._keep, splitter=ReasoningSplitter(opened_by_prompt))

    @property
    def is_done(self) -> bool:
        """The answer is complete, cancelled or failed."""
        return self._turn.is_done

    def feed(self, event: TurnEvent) -> list[Piece]:
        """Take one event and return what can be shown now."""
        return self._concluded(self._turn.feed(event))

    def cancel(self) -> list[Piece]:
        """End without the engine's word; what came is kept."""
        return self._concluded(self._turn.cancel())

    def item(self) -> MessageItem:
        """Return the answer as it is shown now."""
        if not self.is_done:
            self.chat.put(self._whole(self._turn.message))
        return replace(
            self.chat.item(self.message_id),
            is_streaming=not self.is_done,
            figures=self._turn.figures,
            failure=self._turn.failure,
        )

    def _concluded(self, pieces: list[Piece]) -> list[Piece]:
        if self.is_done:
            self.chat.put_outcome(self.message_id, self._turn.figures, self._turn.failure)
        return pieces

    def _keep(self, message: Message) -> None:
        self._save(self.chat, self.chat.put(self._whole(message)))

    def _whole(self, message: Message) -> Message:
        before = self._before
        return replace(
            message,
            content=before.content + message.content,
            reasoning="\n\n".join(text for text in (before.reasoning, message.reasoning) if text),
        )


def opener_of(view: ModelView) -> str | None:
    """Return the reasoning tag the prompt ends with; the echo engine has no prompt."""
    if view.facts is None or view.engine_name == ECHO.name:
        return None
    return opener_in_template(view.facts.prompt_template)
