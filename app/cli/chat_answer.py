"""One answer of the engine: streamed, shown, saved."""

import contextlib
from collections.abc import Callable, Generator
from dataclasses import dataclass, field

from app.chat.conversation import MessageState, history_for_prompt
from app.chat.reasoning import ReasoningSplitter
from app.chat.recorder import ConversationRecorder
from app.chat.turn import Turn
from app.cli.chat_report import ChatReport
from app.cli.chat_view import ChatView
from app.cli.context import EXIT_FAILED, EXIT_OK
from app.cli.main import EXIT_INTERRUPTED
from app.engine.blocking import AnswerEvent, BlockingEngine
from app.engine.protocol import ChatMessage, Finished, PromptProgress, Timings
from app.findings import FindingCode
from app.options import SamplingOptions

_STATUS = {
    MessageState.COMPLETE: EXIT_OK,
    MessageState.CANCELLED: EXIT_INTERRUPTED,
    MessageState.FAILED: EXIT_FAILED,
}
_ENGINE_LIVES_ON = (FindingCode.PROMPT_TOO_LONG, FindingCode.CHAT_TEMPLATE_FAILED)


@dataclass(slots=True)
class Answerer:
    """Asks a loaded engine.

    Attributes:
        system: First message of every conversation.
        opened_by_prompt: The reasoning tag the prompt itself ends with.
        exit_status: Of the newest answer, for the shell.
        can_go_on: False once the engine is gone.
        on_timings: Called with what an answer took.
    """

    engine: BlockingEngine
    sampling: SamplingOptions
    report: ChatReport
    view: ChatView
    system: str | None = None
    opened_by_prompt: str | None = None
    exit_status: int = field(default=EXIT_OK, init=False)
    can_go_on: bool = field(default=True, init=False)
    on_timings: Callable[[Timings], None] | None = field(default=None, init=False)

    def answer(self, recorder: ConversationRecorder, question: str) -> None:
        """Ask, show and save. Ctrl+C stops the answer; what came so far is kept."""
        if self.system and not recorder.conversation.messages:
            recorder.add("system", self.system)
        recorder.add("user", question)
        history = history_for_prompt(recorder.conversation)
        message = recorder.add("assistant", state=MessageState.PARTIAL)
        turn = Turn(message, recorder.save, splitter=ReasoningSplitter(self.opened_by_prompt))
        try:
            with contextlib.closing(self._events(history)) as events:
                for event in events:
                    if isinstance(event, PromptProgress):
                        self.view.prompt(event)
                    self.view.pieces(turn.feed(event))
                    if isinstance(event, Finished) and self.on_timings is not None:
                        self.on_timings(event.timings)
        except KeyboardInterrupt:
            self.view.pieces(turn.cancel())
        finally:
            turn.cancel()  # nothing once it is done; else what came is kept, as when nobody reads stdout
        self._conclude(turn, recorder)

    def _events(self, history: tuple[ChatMessage, ...]) -> Generator[AnswerEvent, None, None]:
        yield from self.engine.generate(history, self.sampling)

    def _conclude(self, turn: Turn, recorder: ConversationRecorder) -> None:
        self.view.end(turn.figures)
        answer = turn.message
        self.exit_status = _STATUS.get(answer.state, EXIT_FAILED)
        self.can_go_on = turn.failure is None or turn.failure.code in _ENGINE_LIVES_ON
        self.report.answer = answer
        self.report.conversation_id = recorder.conversation_id
        self.report.add(turn.findings)
