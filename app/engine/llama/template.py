"""A model's own chat template: foreign code, run in a sandbox inside the worker."""

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final, NoReturn

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from app.engine.protocol import ChatMessage
from app.findings import FindingCode, FindingError, error

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
    MemoryError,
)
"""What compiling and running a foreign template can raise."""


class ChatTemplate:
    """Turns messages into the text of a prompt."""

    def __init__(
        self,
        source: str | None,
        bos: str = "",
        eos: str = "",
        now: Callable[[], datetime] = datetime.now,
    ) -> None:
        """Keep the source; it is compiled when it is used, so that a model with a broken one still loads.

        Args:
            source: The model's template, None for ChatML.
            bos: Text of the token that begins a sequence; `eos` of the one that ends it.
            now: The clock templates may ask with `strftime_now`.
        """
        self._source = CHATML if source is None else source
        self._globals = {"bos_token": bos, "eos_token": eos, "raise_exception": _refuse}
        self._globals["strftime_now"] = lambda form: now().strftime(form)

    def render(self, messages: Sequence[ChatMessage]) -> str:
        """Return the prompt up to where the assistant begins.

        A system text that the template refuses or leaves out goes in front of the first message of
        the user.

        Raises:
            FindingError: `CHAT_TEMPLATE_FAILED` with what the template said.
        """
        systems = [message.content.strip() for message in messages if message.role == "system"]
        try:
            prompt = self._run(messages)
            if all(text in prompt for text in systems):
                return prompt
        except TEMPLATE_ERRORS as reason:
            if not systems:
                raise _failure(reason) from reason
        try:
            return self._run(_folded(messages, "\n\n".join(systems)))
        except TEMPLATE_ERRORS as reason:
            raise _failure(reason) from reason

    def _run(self, messages: Sequence[ChatMessage]) -> str:
        # both switches and the extension are what Hugging Face renders with
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
        )
        environment.filters["tojson"] = _to_json
        template = environment.from_string(self._source, globals=self._globals)
        plain = [{"role": message.role, "content": message.content} for message in messages]
        return template.render(messages=plain, add_generation_prompt=True)


def _folded(messages: Sequence[ChatMessage], system: str) -> list[ChatMessage]:
    rest = [message for message in messages if message.role != "system"]
    for index, message in enumerate(rest):
        if message.role == "user":
            rest[index] = ChatMessage("user", f"{system}\n\n{message.content}")
            return rest
    return [ChatMessage("user", system), *rest]


def _failure(reason: BaseException) -> FindingError:
    detail = str(reason) or type(reason).__name__
    return FindingError(error(FindingCode.CHAT_TEMPLATE_FAILED, detail=detail))


def _refuse(message: object) -> NoReturn:
    raise TemplateError(str(message))


def _to_json(value: Any, indent: int | None = None, **_options: object) -> str:
    # jinja's own escapes < and > for web pages, which would change what the model reads
    return json.dumps(value, ensure_ascii=False, indent=indent)
