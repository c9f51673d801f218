"""Foreign chat templates: what they get, what they may not do, what happens when they fail."""

from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.engine.llama.template import ChatTemplate
from app.engine.protocol import ChatMessage
from app.findings import FindingCode, FindingError

SYSTEM = ChatMessage("system", "Be brief.")
USER = ChatMessage("user", "你好")

GEMMA_LIKE = (
    "{{ bos_token }}{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}"
)
DEAF = "{% for m in messages if m.role != 'system' %}[{{ m.role }}] {{ m.content }}{% endfor %}"


def failure(source: str, *messages: ChatMessage) -> str:
    with pytest.raises(FindingError) as caught:
        ChatTemplate(source).render(messages or (USER,))
    assert caught.value.finding.code is FindingCode.CHAT_TEMPLATE_FAILED
    return str(caught.value.finding.values["detail"])


def test_a_model_without_a_template_gets_chatml() -> None:
    prompt = ChatTemplate(None).render((SYSTEM, USER))
    assert prompt == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n你好<|im_end|>\n<|im_start|>assistant\n"
    )


def test_a_template_sees_the_messages_the_tokens_and_the_clock() -> None:
    source = "{{ bos_token }}{{ messages[0]['content'] }}{{ eos_token }}{{ strftime_now('%Y') }}"
    template = ChatTemplate(source, "<s>", "</s>", now=lambda: datetime(2031, 1, 2))
    assert template.render((USER,)) == "<s>你好</s>2031"


def test_blocks_leave_no_blanks_as_hugging_face_renders_them() -> None:
    source = "{% for m in messages %}\n    {% if m.role %}\n{{ m.content }}\n    {% endif %}\n{% endfor %}"
    assert ChatTemplate(source).render((USER,)) == "你好\n"


def test_json_stays_readable_to_the_model() -> None:
    prompt = ChatTemplate("{{ messages | tojson }}").render((ChatMessage("user", "<b>你</b>"),))
    assert prompt == '[{"role": "user", "content": "<b>你</b>"}]'


def test_a_template_that_refuses_the_system_role_gets_it_in_the_first_user_message() -> None:
    prompt = ChatTemplate(GEMMA_LIKE, "<bos>").render((SYSTEM, USER))
    assert prompt == "<bos><user>Be brief.\n\n你好\n"


def test_a_template_that_drops_the_system_text_gets_it_in_the_first_user_message() -> None:
    assert ChatTemplate(DEAF).render((SYSTEM, USER)) == "[user] Be brief.\n\n你好"


def test_a_system_text_alone_becomes_the_user_message() -> None:
    assert ChatTemplate(DEAF).render((SYSTEM,)) == "[user] Be brief."


def test_what_a_template_says_when_it_gives_up_is_the_reason() -> None:
    assert "roles must alternate" in failure("{{ raise_exception('roles must alternate') }}", USER, USER)


def test_a_broken_template_is_a_finding_and_not_a_crash() -> None:
    assert failure("{% for m in messages %}")


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ messages.append(1) }}",
        "{% for i in range(10000000) %}{% endfor %}",
        "{{ 1 / 0 }}",
        "{{ messages[9].content.x }}",
    ],
)
def test_what_the_sandbox_forbids_is_a_finding(source: str) -> None:
    assert failure(source)


PIECES = st.sampled_from(
    ["{%", "%}", "{{", "}}", "{#", " for m in messages ", " endfor ", " if ", " endif ", " break ",
     "messages", "[0]", ".content", " | tojson", "|length", "|join", "(", ")", "'", " set x = ",
     " macro f() ", " endmacro ", "loop.index", " + 1", "~", "\n", "你", "raise_exception(1)",
     "strftime_now(2)", ".__class__", "range(3)"]
)  # fmt: skip


@settings(deadline=None)  # compiling is slow on a busy machine
@given(st.lists(PIECES, max_size=14).map("".join))
def test_any_template_renders_or_is_one_finding(source: str) -> None:
    try:
        assert isinstance(ChatTemplate(source).render((SYSTEM, USER)), str)
    except FindingError as reason:
        assert reason.finding.code is FindingCode.CHAT_TEMPLATE_FAILED
