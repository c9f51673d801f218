"""The conversations a chat template is tried with; read by both ends of the child."""

from collections.abc import Mapping
from typing import Any, Final

Message = Mapping[str, Any]
"""`role` and `content`."""

SYSTEM: Final = "Mx7systemQ"
USER: Final = "Mx7userQ"
SECOND: Final = "Mx7secondQ"
ANSWER: Final = "Mx7answerQ"
"""Texts no template contains by itself, so that what became of them can be seen."""

TOOL_NAME: Final = "Mx7toolQ"
TOOL: Final = {
    "type": "function",
    "function": {
        "name": TOOL_NAME,
        "description": TOOL_NAME,
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "Mx7cityQ"}},
            "required": ["city"],
        },
    },
}


def cases() -> dict[str, list[Message]]:
    """Return the conversations by name."""
    user, answer = _said("user", USER), _said("assistant", ANSWER)
    return {
        "user": [user],
        "system": [_said("system", SYSTEM), user],
        "conversation": [user, answer, _said("user", SECOND)],
        "two-users": [user, _said("user", SECOND)],
    }


def _said(role: str, content: str) -> Message:
    return {"role": role, "content": content}
