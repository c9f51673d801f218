"""A conversation in the terminal: lines in, answers out."""

import contextlib
import sys
from typing import Final

from app.chat.conversation import storable
from app.chat.recorder import ConversationRecorder
from app.chat.store import ConversationStore
from app.cli.chat_answer import Answerer
from app.cli.context import EXIT_FAILED, EXIT_OK, CliContext
from app.cli.main import EXIT_INTERRUPTED

_QUIT: Final = ("/quit", "/exit")
_NEW: Final = "/new"

_LINE_EDITING: Final = (
    "tab: self-insert",  # no file names in a conversation
    "set convert-meta off",  # Chinese arrives whole under a locale that is missing, too
    "set input-meta on",
    "set output-meta on",
)


def talk(answerer: Answerer, store: ConversationStore | None) -> int:
    """Take questions until `/quit`, the end of the input or a second Ctrl+C; return the exit status."""
    context = answerer.report.context
    _enable_line_editing()
    context.tell("cli.chat.welcome")
    recorder = ConversationRecorder(store)
    was_interrupted = False
    while answerer.can_go_on:
        try:
            line = _read_line(context)
        except KeyboardInterrupt:
            if was_interrupted:
                return EXIT_INTERRUPTED
            was_interrupted = True
            context.tell("cli.chat.interrupted")
            continue
        was_interrupted = False
        question = storable(line or "").strip()
        if line is None or question in _QUIT:
            return EXIT_OK
        if question == _NEW:
            recorder = ConversationRecorder(store)
            context.tell("cli.chat.new")
        elif question:
            answerer.answer(recorder, question)
    return EXIT_FAILED


def _read_line(context: CliContext) -> str | None:
    """Return the next line, None at the end of the input."""
    if sys.stdin is None:
        return None
    if not (sys.stdin.isatty() and context.out.isatty()):
        return sys.stdin.readline() or None
    try:
        return input(context.texts.text("cli.chat.you"))
    except EOFError:
        context.print_line(to_err=True)
        return None


def _enable_line_editing() -> None:
    """Let lines be edited where the terminal does not do that itself (Windows consoles do)."""
    if sys.platform == "win32":
        return
    with contextlib.suppress(ImportError):
        import readline

        for setting in _LINE_EDITING:
            readline.parse_and_bind(setting)
