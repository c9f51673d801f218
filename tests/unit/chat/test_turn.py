"""A turn keeps what arrived, saves it in time, and tells the speed of generation alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.chat.conversation import Message, MessageState
from app.chat.reasoning import Piece, PieceKind
from app.chat.store import ConversationStore
from app.chat.turn import AUTOSAVE_SECONDS, Turn
from app.engine.protocol import Failed, Finished, PromptProgress, Timings, Token
from app.findings import Finding, FindingCode, FindingError, error, warning

EMPTY = Message(1, None, "assistant", "", state=MessageState.PARTIAL)
KILLED = error(FindingCode.ENGINE_KILLED, signal=9)
FULL = error(FindingCode.DISK_FULL, path="x", needed_bytes=1, free_bytes=0, detail="")


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Saves:
    """Stands in for the store."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.failure: Finding | None = None

    def __call__(self, message: Message) -> None:
        if self.failure is not None:
            raise FindingError(self.failure)
        self.messages.append(message)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def saves() -> Saves:
    return Saves()


@pytest.fixture
def turn(clock: Clock, saves: Saves) -> Iterator[Turn]:
    yield Turn(EMPTY, saves, clock=clock)


def test_a_finished_answer_is_saved_once_complete(turn: Turn, saves: Saves) -> None:
    assert turn.feed(Token(1, "<think>a</think>Hel")) == [
        Piece(PieceKind.REASONING, "a"),
        Piece(PieceKind.ANSWER, "Hel"),
    ]
    turn.feed(Token(1, "lo"))
    assert not turn.is_done
    turn.feed(Finished(1, "stop", Timings(3, 30.0, 2, 40.0)))
    assert turn.is_done
    (message,) = saves.messages
    assert (message.content, message.reasoning) == ("Hello", "a")
    assert (message.state, message.finish_reason) == (MessageState.COMPLETE, "stop")
    assert message.timings == Timings(3, 30.0, 2, 40.0)


def test_what_was_held_back_comes_out_at_the_end(turn: Turn, saves: Saves) -> None:
    turn.feed(Token(1, "a </thi"))
    assert turn.feed(Finished(1, "stop")) == [Piece(PieceKind.ANSWER, "</thi")]
    assert saves.messages[-1].content == "a </thi"


def test_it_is_saved_every_two_seconds_while_it_is_written(turn: Turn, clock: Clock, saves: Saves) -> None:
    for number in range(10):
        clock.now = number * 0.5
        turn.feed(Token(1, str(number)))
    assert [message.content for message in saves.messages] == ["01234", "012345678"]
    assert {message.state for message in saves.messages} == {MessageState.PARTIAL}


def test_a_slow_answer_is_saved_with_every_token(turn: Turn, clock: Clock, saves: Saves) -> None:
    for number in range(3):
        clock.now += AUTOSAVE_SECONDS + 1
        turn.feed(Token(1, str(number)))
    assert [message.content for message in saves.messages] == ["0", "01", "012"]


def test_a_failed_engine_leaves_the_partial_answer_and_the_reason(turn: Turn, saves: Saves) -> None:
    turn.feed(Token(1, "half"))
    turn.feed(Failed(KILLED, 1))
    assert turn.findings == (KILLED,)
    assert saves.messages[-1].content == "half"
    assert saves.messages[-1].state is MessageState.FAILED
    assert saves.messages[-1].finish_reason is None


def test_cancelled_is_cancelled_whoever_says_it(clock: Clock, saves: Saves) -> None:
    by_engine, by_person = Turn(EMPTY, saves, clock=clock), Turn(EMPTY, saves, clock=clock)
    by_engine.feed(Finished(1, "cancelled"))
    by_person.cancel()
    assert {message.state for message in saves.messages} == {MessageState.CANCELLED}
    assert {message.finish_reason for message in saves.messages} == {"cancelled"}


def test_the_first_end_counts(turn: Turn, saves: Saves) -> None:
    turn.feed(Finished(1, "stop"))
    turn.cancel()
    turn.fail(KILLED)
    assert not turn.findings
    assert [message.state for message in saves.messages] == [MessageState.COMPLETE]


def test_a_full_disk_does_not_stop_the_answer_and_the_next_save_tries_again(
    turn: Turn, clock: Clock, saves: Saves
) -> None:
    saves.failure = FULL
    for _ in range(3):
        clock.now += 3
        assert turn.feed(Token(1, "x"))
    assert turn.findings == (warning(FindingCode.DISK_FULL, **FULL.values),)
    saves.failure = None
    turn.feed(Finished(1, "stop"))
    assert saves.messages[-1].content == "xxx"
    assert not turn.findings


def test_a_lone_closer_moves_the_answer_to_the_reasoning(turn: Turn) -> None:
    turn.feed(Token(1, "plan "))
    turn.feed(Token(1, "more</think>Hi"))
    turn.feed(Finished(1, "stop"))
    assert (turn.message.reasoning, turn.message.content) == ("plan more", "Hi")


@pytest.mark.parametrize("per_chunk", [1, 10])
@pytest.mark.parametrize("is_reasoning", [False, True])
def test_speed_leaves_the_prompt_out(turn: Turn, clock: Clock, per_chunk: int, is_reasoning: bool) -> None:
    turn.feed(PromptProgress(1, 400, 400))
    clock.now = 10.0
    turn.feed(Token(1, "x", is_reasoning, per_chunk))
    assert turn.figures.tokens_per_second is None
    for _ in range(50):
        clock.now += 0.02 * per_chunk
        turn.feed(Token(1, "x", is_reasoning, per_chunk))
    turn.feed(Finished(1, "stop"))
    figures = turn.figures
    assert figures.first_token_ms == pytest.approx(10_000)
    assert figures.tokens_per_second == pytest.approx(50, abs=0.01)
    assert figures.timings.prompt_tokens == 400
    assert figures.timings.prompt_ms == pytest.approx(10_000)
    assert figures.timings.predicted_tokens == 51 * per_chunk


def test_the_engines_own_figures_win(turn: Turn, clock: Clock) -> None:
    clock.now = 10.0
    for _ in range(51):
        turn.feed(Token(1, "x"))
        clock.now += 0.02
    turn.feed(Finished(1, "stop", Timings(7, 9_500.0, 52, 1_000.0, 2)))
    assert turn.figures.timings == Timings(7, 9_500.0, 52, 1_000.0, 2)
    assert turn.figures.tokens_per_second == pytest.approx(52)


def test_one_token_or_none_has_no_speed_and_divides_by_nothing(turn: Turn, clock: Clock) -> None:
    assert turn.figures.tokens_per_second is None
    assert turn.figures.first_token_ms is None
    clock.now = 1.0
    turn.feed(Token(1, "x"))
    turn.feed(Finished(1, "stop"))
    assert turn.figures.tokens_per_second is None
    assert turn.figures.timings.predicted_tokens == 1
    assert turn.figures.timings.predicted_ms is None


def test_a_turn_saves_into_the_store(tmp_path: Path, clock: Clock) -> None:
    store = ConversationStore(tmp_path / "chats.sqlite3")
    conversation_id = store.create()
    store.append(conversation_id, "user", "Q")
    answer = store.append(conversation_id, "assistant", state=MessageState.PARTIAL)
    turn = Turn(answer, store.update, clock=clock)
    turn.feed(Token(1, "A"))
    turn.feed(Finished(1, "length", Timings(1, 1.0, 1, 1.0)))
    conversation = store.read(conversation_id)
    store.close()
    assert conversation is not None
    assert conversation.messages[-1].content == "A"
    assert conversation.messages[-1].finish_reason == "length"
    assert conversation.messages[-1].timings == Timings(1, 1.0, 1, 1.0)
