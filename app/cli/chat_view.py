"""How a chat looks in the terminal: answers on stdout, everything else on stderr."""

from collections.abc import Iterable
from typing import Final

from app.chat.reasoning import Piece, PieceKind
from app.chat.turn import TurnFigures
from app.cli.chat_setup import Launch
from app.cli.context import CliContext, one_line, safe_for_terminal
from app.cli.placed import blocks_in_ram
from app.cli.streams import Writer
from app.engine.protocol import Event, LoadProgress, PromptProgress

_CLEAR_LINE: Final = "\r\x1b[K"


class ChatView:
    """Writes one chat. Progress and speed go to stderr, and move only where that is a terminal."""

    def __init__(self, context: CliContext, *, shows_answer: bool = True) -> None:
        """Begin.

        Args:
            shows_answer: False when stdout belongs to a JSON document.
        """
        self._context = context
        self._shows_answer = shows_answer
        self._is_moving = False
        self._last_plain: str | None = None
        self._section: PieceKind | None = None

    def plan(self, launch: Launch) -> None:
        """Say in a line what goes where and which engine runs it."""
        texts, options = self._context.texts, launch.options
        if options.rpc_servers:
            key, where = "cli.chat.plan_rpc", ", ".join(options.rpc_servers)
        else:
            key = "cli.chat.plan"
            devices = [device for device in launch.plan.devices if device.planned_bytes]
            where = ", ".join(
                texts.text("cli.chat.device", name=device.name, size=device.planned_bytes)
                for device in devices
            )
        self._context.tell(
            key,
            where=where,
            experts_in_ram=blocks_in_ram(launch.facts, options),
            expert_blocks=len(launch.facts.expert_layers),
            n_ctx=options.n_ctx,
            threads=options.n_threads,
            engine=launch.spec.name,
        )

    def loading(self, event: Event) -> None:
        """Show how far loading is."""
        if isinstance(event, LoadProgress):
            phase = self._context.texts.text(f"cli.chat.phase.{event.phase}")
            share = self._context.texts.text("cli.chat.progress", phase=phase, share=event.fraction)
            self._progress(phase if event.fraction is None else share, plain=phase)

    def prompt(self, event: PromptProgress) -> None:
        """Show how much of the prompt has been read."""
        counts = {"done": event.processed_tokens, "total": event.total_tokens}
        self._progress(self._context.texts.text("cli.chat.reading", **counts))

    def pieces(self, pieces: Iterable[Piece]) -> None:
        """Show more of an answer."""
        for piece in pieces:
            self.clear_progress()
            if piece.kind is PieceKind.MOVED:
                self._enter(None)
                self._context.tell("cli.chat.moved")
                continue
            if not self._shows_answer:
                continue
            self._enter(piece.kind)
            stream = self._context.out if piece.kind is PieceKind.ANSWER else self._context.err
            _write(stream, piece.text)

    def end(self, figures: TurnFigures) -> None:
        """Close an answer and say how fast it was."""
        self.clear_progress()
        self._enter(None)
        timings = figures.timings
        if timings.predicted_tokens is None:
            return
        self._context.tell(
            "cli.chat.figures",
            prompt_tokens=timings.prompt_tokens,
            prompt_seconds=None if timings.prompt_ms is None else timings.prompt_ms / 1000.0,
            predicted_tokens=timings.predicted_tokens,
            speed=figures.tokens_per_second,
        )

    def clear_progress(self) -> None:
        """Take the moving line away."""
        if self._is_moving:
            print(_CLEAR_LINE, end="", file=self._context.err, flush=True)
            self._is_moving = False

    def _enter(self, section: PieceKind | None) -> None:
        if section is self._section:
            return
        if self._section is PieceKind.REASONING:
            print(file=self._context.err, flush=True)
        elif self._section is PieceKind.ANSWER:
            print(file=self._context.out, flush=True)
        if section is PieceKind.REASONING:
            self._context.tell("cli.chat.thinking")
        self._section = section

    def _progress(self, text: str, plain: str | None = None) -> None:
        """Show `text` in place on a terminal; elsewhere a line per new `plain` text."""
        if self._context.err.isatty():
            print(f"{_CLEAR_LINE}{one_line(text)}", end="", file=self._context.err, flush=True)
            self._is_moving = True
        elif plain is not None and plain != self._last_plain:
            self._context.print_line(plain, to_err=True)
            self._last_plain = plain


def _write(stream: Writer, text: str) -> None:
    stream.write(safe_for_terminal(text) if stream.isatty() else text)
    stream.flush()
