"""The marks models put around their reasoning, and how to find them in text that is still arriving."""

import re
from collections.abc import Iterable
from typing import Final

TAG_PAIRS: Final = {
    "<think>": "</think>",
    "[THINK]": "[/THINK]",
    "<seed:think>": "</seed:think>",
    "<|START_THINKING|>": "<|END_THINKING|>",
    "<|channel>thought": "<channel|>",
}
"""Opener and closer of a reasoning block, by model family. No mark is part of another."""

OPENERS: Final = tuple(TAG_PAIRS)
CLOSERS: Final = tuple(TAG_PAIRS.values())

CHANNEL: Final = "<|channel|>"
START: Final = "<|start|>"
MESSAGE: Final = "<|message|>"
MESSAGE_ENDS: Final = ("<|end|>", "<|return|>", "<|call|>")
"""gpt-oss: `<|start|>ROLE<|channel|>NAME<|message|>TEXT<|end|>`; the prompt has the first `<|start|>ROLE`."""

NEXT_MESSAGE: Final = f"{START}assistant{CHANNEL}"
"""Ends a message by itself: engines that hide `<|end|>` still print this."""

_INVISIBLE: Final = "\u200b\ufeff"
_OPENED_IN_PROMPT: Final = re.compile(
    r"add_generation_prompt[^%]*%\}(?:(?!\{%).)*?("
    + "|".join(re.escape(opener) for opener in OPENERS)
    + r")(?:\\n|\s)*['\"{]",
    re.DOTALL,
)


def opener_in_template(chat_template: str | None) -> str | None:
    """Return the opener a chat template always puts at the end of the prompt, so that the stream lacks it.

    None when it hangs on another condition: guessing wrong would show a whole answer as reasoning, while
    not guessing costs a `MOVED` at worst.
    """
    found = _OPENED_IN_PROMPT.search(chat_template or "")
    return found.group(1) if found else None


def without_space(text: str) -> str:
    """Return `text` without leading white space, no-break and zero-width spaces too."""
    position = 0
    while position < len(text) and (text[position].isspace() or text[position] in _INVISIBLE):
        position += 1
    return text[position:]


def mark_at_start(text: str, marks: Iterable[str]) -> str | None:
    """Return the mark `text` begins with."""
    return next((mark for mark in marks if text.startswith(mark)), None)


def first_mark(text: str, marks: Iterable[str]) -> tuple[int, str] | None:
    """Return position and name of the first whole mark in `text`."""
    found = [(position, mark) for mark in marks if (position := text.find(mark)) >= 0]
    return min(found, default=None)


def may_become_mark(text: str, marks: Iterable[str]) -> bool:
    """Say whether `text` is the beginning of a mark, or empty."""
    return any(mark.startswith(text) for mark in marks)


def shown_length(text: str, marks: Iterable[str]) -> int:
    """Return how much of `text` can be shown: all but the shortest tail that may still become a mark."""
    marks = tuple(marks)
    longest = max(map(len, marks)) - 1
    for start in range(max(0, len(text) - longest), len(text)):
        if may_become_mark(text[start:], marks):
            return start
    return len(text)
