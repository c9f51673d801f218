"""The two jobs on chat templates. They run in a limited child: what they are given is foreign code."""

from functools import lru_cache
from typing import Any, Final

from app.parsing.chat_template import ChatTemplate, ChatTemplateError, Message
from app.parsing.jobs import JobRefusedError

SYSTEM: Final = "Mx7systemQ"
USER: Final = "Mx7userQ"
SECOND: Final = "Mx7secondQ"
ANSWER: Final = "Mx7answerQ"
"""Texts no template contains by itself, so that what became of them can be seen."""

TOOL: Final = {
    "type": "function",
    "function": {
        "name": "Mx7toolQ",
        "description": "Mx7toolQ",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "Mx7cityQ"}},
            "required": ["city"],
        },
    },
}
_TOOL_NAME: Final = "Mx7toolQ"
_SWITCHES: Final = ("enable_thinking", "thinking")
"""Variables by which templates turn reasoning on and off (Qwen, GLM; DeepSeek)."""

_TAIL_CHARACTERS: Final = 256


def render(value: Any, _attachment: bytes) -> str:
    """Return the prompt of `{source, bos, eos, messages}`.

    Raises:
        JobRefusedError: with what the template said.
    """
    try:
        return _compiled(value["source"], value["bos"], value["eos"]).prompt(value["messages"])
    except ChatTemplateError as reason:
        raise JobRefusedError(str(reason)) from reason


def check(value: Any, _attachment: bytes) -> dict[str, Any]:
    """Return what became of each try with the template of `{source, bos, eos, previews}`.

    `previews` are conversations by name, and come back as prompts. `broken` stands alone, when the
    template does not compile.
    """
    try:
        template = _compiled(value["source"], value["bos"], value["eos"])
    except ChatTemplateError as reason:
        return {"broken": {"detail": str(reason), "line": reason.line}}
    return {
        "tries": {name: _try(template, messages) for name, messages in _cases().items()},
        "tools": _try(template, [_said("user", USER)], {"tools": [TOOL]}),
        "switch": any(_turns(template, name) for name in _SWITCHES),
        "turn_end": _turn_end(template),
        "previews": {name: _preview(template, messages) for name, messages in value["previews"].items()},
    }


def _cases() -> dict[str, list[Message]]:
    user, answer = _said("user", USER), _said("assistant", ANSWER)
    return {
        "user": [user],
        "system": [_said("system", SYSTEM), user],
        "conversation": [user, answer, _said("user", SECOND)],
        "two-users": [user, _said("user", SECOND)],
    }


@lru_cache(maxsize=2)
def _compiled(source: str | None, bos: str, eos: str) -> ChatTemplate:
    return ChatTemplate(source, bos, eos)


def _said(role: str, content: str) -> Message:
    return {"role": role, "content": content}


def _try(
    template: ChatTemplate, messages: list[Message], given: dict[str, object] | None = None
) -> dict[str, Any]:
    """Return which of our texts are in the prompt, or what was said instead of one."""
    try:
        prompt = template.render(messages, given)
    except ChatTemplateError as reason:
        return {"error": str(reason)}
    known = (SYSTEM, USER, SECOND, ANSWER, _TOOL_NAME)
    return {"holds": [text for text in known if text in prompt]}


def _turns(template: ChatTemplate, switch: str) -> bool:
    try:
        prompts = {template.render([_said("user", USER)], {switch: value}) for value in (True, False)}
    except ChatTemplateError:
        return False
    return len(prompts) == 2


def _turn_end(template: ChatTemplate) -> str | None:
    """Return what comes after an answer, up to the end of the conversation; None when that is unknown."""
    messages = [_said("user", USER), _said("assistant", ANSWER)]
    try:
        prompt = template.render(messages, asks_answer=False)
    except ChatTemplateError:
        return None
    _, mark, tail = prompt.rpartition(ANSWER)
    return tail[:_TAIL_CHARACTERS] if mark else None


def _preview(template: ChatTemplate, messages: list[Message]) -> str | None:
    try:
        return template.prompt(messages)
    except ChatTemplateError:
        return None
