"""A model's own chat template: foreign code, run in a sandbox inside a limited child only."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NoReturn

from jinja2 import TemplateError, TemplateSyntaxError, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from app.parsing.template_cases import Message

CHATML: Final = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""For models without a template; llama-server falls back to the same format."""

TEMPLATE_ERRORS: Final = (
    TemplateError,
    TypeError,
    ValueError,
    ArithmeticError,
    LookupError,
    AttributeError,
    RuntimeError,
    SyntaxError,
)
"""What compiling and running a foreign template can raise; `MemoryError` is the child's to tell."""


class ChatTemplateError(Exception):
    """The template does not make a prompt of these messages.

    Attributes:
        line: Of the template, from 1, when it does not even compile; None when it fails as it runs.
    """

    def __init__(self, detail: str, line: int | None = None) -> None:
        super().__init__(detail)
        self.line = line


class ChatTemplate:
    """Turns messages into the text of a prompt."""

    def __init__(
        self,
        source: str | None,
        bos: str = "",
        eos: str = "",
        now: Callable[[], datetime] = datetime.now,
    ) -> None:
        """Compile the source.

        Args:
            source: The model's template, None for ChatML.
            bos: Text of the token that begins a sequence; `eos` of the one that ends it.
            now: The clock templates may ask with `strftime_now`.

        Raises:
            ChatTemplateError: it does not compile; with the line where jinja names one.
        """
        # both switches and both extensions are what Hugging Face renders with
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", GenerationMark]
        )
        environment.filters["tojson"] = _to_json
        given = {"bos_token": bos, "eos_token": eos, "raise_exception": _refuse}
        given["strftime_now"] = lambda form: now().strftime(form)
        try:
            self._template = environment.from_string(CHATML if source is None else source, globals=given)
        except TemplateSyntaxError as reason:
            raise ChatTemplateError(reason.message or type(reason).__name__, reason.lineno) from reason
        except TEMPLATE_ERRORS as reason:
            raise ChatTemplateError(_words(reason), getattr(reason, "lineno", None)) from reason

    def prompt(self, messages: Sequence[Message]) -> str:
        """Return the prompt up to where the assistant begins.

        A system text that the template refuses or leaves out goes in front of the first message of
        the user.

        Raises:
            ChatTemplateError: with what the template said.
        """
        systems = [str(message["content"]).strip() for message in messages if message["role"] == "system"]
        try:
            prompt = self.render(messages)
            if all(text in prompt for text in systems):
                return prompt
        except ChatTemplateError:
            if not systems:
                raise
        return self.render(_folded(messages, "\n\n".join(systems)))

    def render(
        self,
        messages: Sequence[Message],
        given: Mapping[str, object] | None = None,
        *,
        asks_answer: bool = True,
    ) -> str:
        """Return what the template makes of the messages, nothing changed, and of more variables.

        A template that drops texts is given them once more as lists of parts, which templates of
        models that also see pictures expect.

        Raises:
            ChatTemplateError: with what the template said.
        """
        prompt = self._run(messages, asks_answer, given or {})
        if _holds_texts(prompt, messages):
            return prompt
        try:
            in_parts = self._run([_in_parts(message) for message in messages], asks_answer, given or {})
        except ChatTemplateError:
            return prompt
        return in_parts if _holds_texts(in_parts, messages) else prompt

    def _run(self, messages: Sequence[Message], asks_answer: bool, given: Mapping[str, object]) -> str:
        plain = [dict(message) for message in messages]
        values = {"tools": None, "documents": None, **given}  # as Hugging Face gives them
        try:
            return self._template.render(messages=plain, add_generation_prompt=asks_answer, **values)
        except TEMPLATE_ERRORS as reason:
            raise ChatTemplateError(_words(reason)) from reason


class GenerationMark(Extension):
    """`{% generation %}` ... `{% endgeneration %}`: marks answers for training; here just what is inside."""

    tags = frozenset({"generation"})  # type: ignore[assignment]  # jinja's own type is a mutable set

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """Return the statements between the two tags."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _holds_texts(prompt: str, messages: Sequence[Message]) -> bool:
    texts = [message["content"] for message in messages if message["role"] == "user"]
    return all(text.strip() in prompt for text in texts if isinstance(text, str))


def _in_parts(message: Message) -> Message:
    text = message["content"]
    return {**message, "content": [{"type": "text", "text": text}]} if isinstance(text, str) else message


def _folded(messages: Sequence[Message], system: str) -> list[Message]:
    rest = [message for message in messages if message["role"] != "system"]
    for index, message in enumerate(rest):
        if message["role"] == "user":
            rest[index] = {"role": "user", "content": f"{system}\n\n{message['content']}"}
            return rest
    return [{"role": "user", "content": system}, *rest]


def _words(reason: BaseException) -> str:
    return str(reason) or type(reason).__name__


def _refuse(message: object) -> NoReturn:
    raise TemplateError(str(message))


def _to_json(value: Any, indent: int | None = None, **options: Any) -> str:
    # jinja's own escapes < and > for web pages, which would change what the model reads
    known = {name: options[name] for name in ("separators", "sort_keys") if name in options}
    return json.dumps(value, ensure_ascii=bool(options.get("ensure_ascii", False)), indent=indent, **known)
