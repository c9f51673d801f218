"""What a chat template does, tried in a limited child before anything is loaded, and what it shows."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

from app.gguf.special_tokens import SpecialTokens
from app.parsing.child import ChildError, ChildLimits, ChildReason, run_limited
from app.parsing.jobs import TEMPLATE_CHECK
from app.parsing.template_cases import ANSWER, SECOND, SYSTEM, TOOL_NAME, USER, Message
from app.texts import LANGUAGES, Texts

LIMITS: Final = ChildLimits(cpu_seconds=2, wall_seconds=60.0)
"""For all tries together; templates of today take some ten milliseconds."""

MAX_DETAIL_CHARS: Final = 300
_LIMITS_MET: Final = (ChildReason.CPU, ChildReason.MEMORY, ChildReason.TOO_LONG)
_DID_NOT_START: Final = "1"
"""Exit code of a Python that could not even begin; says nothing about the template."""


class TemplateCase(StrEnum):
    """The conversations every template must take."""

    USER = "user"
    CONVERSATION = "conversation"


class TemplateFault(StrEnum):
    """Why a template cannot be used."""

    BROKEN = "broken"
    LOOPS = "loops"
    RAISES = "raises"
    DROPS_TEXT = "drops-text"


@dataclass(frozen=True, slots=True)
class TemplateCheck:
    """What became of the tries.

    Attributes:
        fault: None when the template can be used; then `case` is None and `detail` empty.
        case: The conversation it failed for.
        detail: What jinja or the template said; for `LOOPS` the limit it met: `cpu`, `memory`, `too-long`.
        line: Of the template, from 1, where it does not compile.
        supports_system: A system text has a place of its own; else it goes in front of the first question.
        supports_tools: Descriptions of tools reach the model.
        has_thinking_switch: A variable turns reasoning on and off.
        needs_alternation: Two messages of the user in a row are refused; Moxie joins such neighbours.
        turn_end: What stands after the last answer; None when that cannot be seen.
        next_turn: What stands between an answer and the next question.
        previews: The prompts of the conversations asked for, by their names.
    """

    fault: TemplateFault | None = None
    case: TemplateCase | None = None
    detail: str = ""
    line: int | None = None
    supports_system: bool = False
    supports_tools: bool = False
    has_thinking_switch: bool = False
    needs_alternation: bool = False
    turn_end: str | None = None
    next_turn: str | None = None
    previews: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return what `moxie inspect` prints."""
        return {
            "parses": self.fault is not TemplateFault.BROKEN,
            "usable": self.fault is None,
            "supports_system": self.supports_system,
            "supports_tools": self.supports_tools,
            "has_thinking_switch": self.has_thinking_switch,
            "needs_alternation": self.needs_alternation,
            "turn_end": self.turn_end,
            "previews": dict(self.previews),
        }


def check_template(
    source: str | None, tokens: SpecialTokens, conversations: Mapping[str, Sequence[Message]] | None = None
) -> TemplateCheck | None:
    """Try a template on conversations of every kind. Blocks for the start of a process, some 0.1 s.

    One template is tried once as long as this program runs.

    Args:
        source: The template, None for ChatML.
        conversations: What to make previews of, by name; None for the sample in each language.

    Returns:
        None when there is no verdict: no process could be started, or it was given no time.
    """
    asked = sample_conversations() if conversations is None else conversations
    question = {
        "source": source,
        "bos": tokens.bos,
        "eos": tokens.eos,
        "previews": {name: [dict(message) for message in said] for name, said in asked.items()},
    }
    try:
        outcome = _outcome(json.dumps(question))
    except ChildError:
        return None
    return _judged(outcome, tokens)


def preview_of(source: str | None, tokens: SpecialTokens, messages: Sequence[Message]) -> str | None:
    """Return the prompt exactly as the engine reads it, control tokens written out; blocks as above.

    None when the template makes no prompt of these messages.
    """
    checked = check_template(source, tokens, {"it": messages})
    return None if checked is None else checked.previews.get("it")


def sample_conversations() -> dict[str, tuple[Message, ...]]:
    """Return a short conversation in each language of the program."""
    return {language: sample_conversation(Texts(language)) for language in LANGUAGES}


def sample_conversation(texts: Texts) -> tuple[Message, ...]:
    """Return a short conversation that ends with a question, in the language of `texts`."""
    said = (("system", "system"), ("user", "question"), ("assistant", "answer"), ("user", "second"))
    return tuple({"role": role, "content": texts.text(f"template.sample.{name}")} for role, name in said)


@lru_cache(maxsize=32)
def _outcome(question: str) -> Mapping[str, Any]:
    """Return what the child says, or the limit it met.

    Raises:
        ChildError: it says nothing about the template.
    """
    try:
        answer: Mapping[str, Any] = run_limited(TEMPLATE_CHECK, json.loads(question), limits=LIMITS)
        return answer
    except ChildError as reason:
        if reason.reason in _LIMITS_MET:
            return {"limit": reason.reason.value}
        is_crash = reason.reason is ChildReason.DIED and reason.detail.lstrip("-").isdecimal()
        if is_crash and reason.detail != _DID_NOT_START:
            return {"broken": {"detail": f"exit code {reason.detail}", "line": None}}
        raise


def _judged(outcome: Mapping[str, Any], tokens: SpecialTokens) -> TemplateCheck:
    match outcome:
        case {"limit": str(limit)}:
            return TemplateCheck(TemplateFault.LOOPS, detail=limit)
        case {"broken": {"detail": str(detail), "line": line}}:
            return TemplateCheck(TemplateFault.BROKEN, detail=_plain(detail), line=line)
    tries = outcome["tries"]
    fault, case, detail = _fault_of(tries)
    return TemplateCheck(
        fault,
        case,
        detail,
        supports_system={SYSTEM, USER} <= _held(tries["system"]),
        supports_tools=TOOL_NAME in _held(outcome["tools"]),
        has_thinking_switch=outcome["switch"],
        needs_alternation="error" in tries["two-users"] and "error" not in tries["user"],
        turn_end=outcome["turn_end"],
        next_turn=outcome["next_turn"],
        previews={
            name: _with_bos(prompt, tokens)
            for name, prompt in outcome["previews"].items()
            if prompt is not None
        },
    )


def _fault_of(tries: Mapping[str, Any]) -> tuple[TemplateFault | None, TemplateCase | None, str]:
    wanted = {TemplateCase.USER: {USER}, TemplateCase.CONVERSATION: {USER, ANSWER, SECOND}}
    for case, texts in wanted.items():
        tried = tries[case.value]
        if "error" in tried:
            return TemplateFault.RAISES, case, _plain(tried["error"])
        if not texts <= _held(tried):
            return TemplateFault.DROPS_TEXT, case, ""
    return None, None, ""


def _held(tried: Mapping[str, Any]) -> set[str]:
    return set(tried.get("holds", ()))


def _with_bos(prompt: str, tokens: SpecialTokens) -> str:
    is_missing = tokens.adds_bos and tokens.bos and not prompt.startswith(tokens.bos)
    return tokens.bos + prompt if is_missing else prompt


def _plain(detail: str) -> str:
    """Return what foreign code says as one short line."""
    line = "".join(char if char.isprintable() else " " for char in detail)
    return line if len(line) <= MAX_DETAIL_CHARS else line[:MAX_DETAIL_CHARS] + "…"
