"""The two jobs on chat templates. They run in a limited child: what they are given is foreign code."""

from functools import lru_cache
from typing import Any, Final

from app.parsing.chat_template import ChatTemplate, ChatTemplateError
from app.parsing.jobs import JobRefusedError
from app.parsing.template_cases import ANSWER, SECOND, SYSTEM, TOOL, TOOL_NAME, USER, Message, cases

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
        "tries": {name: _try(template, messages) for name, messages in cases().items()},
        "tools": _try(template, cases()["user"], {"tools": [TOOL]}),
        "switch": any(_turns(template, name) for name in _SWITCHES),
        "turn_end": _after_answer(template, cases()["conversation"][:2]),
        "next_turn": _after_answer(template, cases()["conversation"]),
        "previews": {name: _preview(template, messages) for name, messages in value["previews"].items()},
    }


@lru_cache(maxsize=2)
def _compiled(source: str | None, bos: str, eos: str) -> ChatTemplate:
    return ChatTemplate(source, bos, eos)


def _try(
    template: ChatTemplate, messages: list[Message], given: dict[str, object] | None = None
) -> dict[str, Any]:
    """Return which of our texts are in the prompt, or what was said instead of one."""
    try:
        prompt = template.render(messages, given)
    except ChatTemplateError as reason:
        return {"error": str(reason)}
    known = (SYSTEM, USER, SECOND, ANSWER, TOOL_NAME)
    return {"holds": [text for text in known if text in prompt]}


def _turns(template: ChatTemplate, switch: str) -> bool:
    try:
        prompts = {template.render(cases()["user"], {switch: value}) for value in (True, False)}
    except ChatTemplateError:
        return False
    return len(prompts) == 2


def _after_answer(template: ChatTemplate, messages: list[Message]) -> str | None:
    """Return what comes after an answer, at the end of a conversation or before the next question."""
    try:
        prompt = template.render(messages, asks_answer=False)
    except ChatTemplateError:
        return None
    _, mark, tail = prompt.rpartition(ANSWER)
    return tail.partition(SECOND)[0][:_TAIL_CHARACTERS] if mark else None


def _preview(template: ChatTemplate, messages: list[Message]) -> str | None:
    try:
        return template.prompt(messages)
    except ChatTemplateError:
        return None
