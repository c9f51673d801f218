"""Messages -> the prompt. The template is foreign code: a child with limits runs it, never this process."""

import contextlib
from collections.abc import Sequence
from typing import Final

from app.engine.backend import IsCancelled
from app.engine.protocol import ChatMessage
from app.findings import FindingCode, FindingError, error
from app.parsing.child import ChildError, ChildLimits, ChildReason, LimitedChild
from app.parsing.jobs import TEMPLATE_RENDER

LIMITS: Final = ChildLimits(cpu_seconds=2, wall_seconds=30.0)
"""For one prompt; templates of today take some milliseconds for a long conversation."""


class Prompts:
    """Makes the prompts of one model. Used by one thread."""

    def __init__(self, source: str | None, bos: str, eos: str) -> None:
        """Start the child, so that it is there when the first prompt comes.

        Args:
            source: The model's template, None for ChatML.
            bos: Text of the token that begins a sequence; `eos` of the one that ends it.
        """
        self._given = {"source": source, "bos": bos, "eos": eos}
        self._child = LimitedChild(TEMPLATE_RENDER, LIMITS)
        with contextlib.suppress(ChildError):  # the first prompt tries once more, and says why
            self._child.start()

    def prompt(self, messages: Sequence[ChatMessage], is_cancelled: IsCancelled) -> str | None:
        """Return the prompt up to where the assistant begins; None when cancelled.

        Raises:
            FindingError: `CHAT_TEMPLATE_FAILED` with what the template said, or the limit it met.
        """
        plain = [{"role": message.role, "content": message.content} for message in messages]
        try:
            return str(self._child.ask({**self._given, "messages": plain}, is_cancelled=is_cancelled))
        except ChildError as reason:
            if reason.reason is ChildReason.CANCELLED:
                return None
            raise FindingError(error(FindingCode.CHAT_TEMPLATE_FAILED, detail=_detail(reason))) from reason

    def close(self) -> None:
        """End the child."""
        self._child.close()


def _detail(reason: ChildError) -> str:
    match reason.reason:
        case ChildReason.CPU:
            return f"cpu_seconds > {LIMITS.cpu_seconds}"
        case ChildReason.TIME:
            return f"wall_seconds > {LIMITS.wall_seconds:g}"
        case ChildReason.MEMORY:
            return f"memory_bytes > {LIMITS.memory_bytes}"
        case ChildReason.TOO_LONG:
            return f"prompt_bytes > {LIMITS.answer_bytes}"
        case ChildReason.REFUSED:
            return reason.detail
    return f"{reason.reason.value} {reason.detail}"
