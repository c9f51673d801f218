"""How a chat is shown."""

import io
from dataclasses import dataclass

import pytest

from app.chat.reasoning import Piece, PieceKind
from app.chat.turn import TurnFigures
from app.cli.chat_setup import options_with_rpc
from app.cli.chat_view import ChatView
from app.cli.context import CliContext, safe_for_terminal
from app.engine.protocol import LoadProgress, PromptProgress, Timings
from app.options import ALL_LAYERS, EngineOptions
from app.planner.facts import Wishes
from app.settings import Settings
from app.texts import Texts


class TerminalText(io.StringIO):
    def isatty(self) -> bool:
        return True


@dataclass
class Screen:
    out: io.StringIO
    err: io.StringIO

    def view(self, *, shows_answer: bool = True) -> ChatView:
        return ChatView(CliContext(Texts("en"), Settings(), self.out, self.err), shows_answer=shows_answer)


@pytest.fixture
def screen() -> Screen:
    return Screen(io.StringIO(), io.StringIO())


def test_answers_and_reasoning_take_different_ways(screen: Screen) -> None:
    view = screen.view()
    view.pieces([Piece(PieceKind.REASONING, "hm"), Piece(PieceKind.ANSWER, "A")])
    view.pieces([Piece(PieceKind.ANSWER, "B")])
    view.end(TurnFigures(Timings(2, 500.0, 3, 1500.0), 500.0, 2.0))
    assert screen.out.getvalue() == "AB\n"
    assert screen.err.getvalue() == (
        "Thinking:\nhm\nPrompt: 2 tokens in 0.50 s. Answer: 3 tokens, 2.0 tokens per second.\n"
    )


def test_text_that_turned_out_to_be_reasoning_is_declared_so(screen: Screen) -> None:
    screen.view().pieces(
        [Piece(PieceKind.ANSWER, "plan"), Piece(PieceKind.MOVED, ""), Piece(PieceKind.ANSWER, "Hi")]
    )
    assert screen.out.getvalue() == "plan\nHi"
    assert "was the model's thinking" in screen.err.getvalue()


def test_with_json_the_answer_does_not_reach_stdout(screen: Screen) -> None:
    screen.view(shows_answer=False).pieces([Piece(PieceKind.ANSWER, "A")])
    assert screen.out.getvalue() == ""


def test_progress_is_a_line_per_phase_where_nothing_can_move(screen: Screen) -> None:
    view = screen.view()
    for event in (
        LoadProgress("weights", 0.1),
        LoadProgress("weights", 0.9),
        LoadProgress("context"),
        PromptProgress(1, 5, 10),
    ):
        view.prompt(event) if isinstance(event, PromptProgress) else view.loading(event)
    assert screen.err.getvalue() == "Loading the weights\nPreparing the context\n"


def test_progress_moves_on_a_terminal_and_leaves_no_trace() -> None:
    screen = Screen(io.StringIO(), TerminalText())
    view = screen.view()
    view.loading(LoadProgress("weights", 0.5))
    view.prompt(PromptProgress(1, 5, 1000))
    view.clear_progress()
    shown = screen.err.getvalue()
    assert "Loading the weights: 50%" in shown
    assert "5 of 1,000 tokens" in shown
    assert shown.endswith("\r\x1b[K")


def test_controls_are_replaced_and_text_is_kept() -> None:
    assert safe_for_terminal("\x1b]52;c;x\x07 a\tb\n魔匣\x9b") == "\ufffd]52;c;x\ufffd a\tb\n魔匣\ufffd"


def test_rpc_takes_everything_unless_the_experts_are_wished_here() -> None:
    planned = EngineOptions(n_gpu_layers=7, n_cpu_moe=4, offload_kqv=False, tensor_split=(1.0, 2.0))
    servers = ("10.0.0.2:50052",)
    auto = options_with_rpc(planned, Wishes(moe="auto"), servers)
    four = options_with_rpc(planned, Wishes(moe=4), servers)
    assert (auto.n_gpu_layers, auto.n_cpu_moe, auto.offload_kqv) == (ALL_LAYERS, 0, True)
    assert (auto.tensor_split, auto.rpc_servers) == ((), servers)
    assert four.n_cpu_moe == 4
