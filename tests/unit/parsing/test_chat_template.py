"""Foreign chat templates: what they get, what they may not do, what happens when they fail."""

from datetime import datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.parsing.chat_template import ChatTemplate, ChatTemplateError

Said = dict[str, Any]

SYSTEM: Said = {"role": "system", "content": "Be brief."}
USER: Said = {"role": "user", "content": "你好"}

GEMMA_LIKE = (
    "{{ bos_token }}{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}"
)
DEAF = "{% for m in messages if m.role != 'system' %}[{{ m.role }}] {{ m.content }}{% endfor %}"


def prompt_of(source: str | None, *messages: Said, bos: str = "", eos: str = "") -> str:
    return ChatTemplate(source, bos, eos).prompt(messages or (USER,))


def failure(source: str, *messages: Said) -> str:
    with pytest.raises(ChatTemplateError) as caught:
        prompt_of(source, *messages)
    return str(caught.value)


def test_a_model_without_a_template_gets_chatml() -> None:
    assert prompt_of(None, SYSTEM, USER) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n你好<|im_end|>\n<|im_start|>assistant\n"
    )


def test_a_template_sees_the_messages_the_tokens_and_the_clock() -> None:
    source = "{{ bos_token }}{{ messages[0]['content'] }}{{ eos_token }}{{ strftime_now('%Y') }}"
    template = ChatTemplate(source, "<s>", "</s>", now=lambda: datetime(2031, 1, 2))
    assert template.prompt((USER,)) == "<s>你好</s>2031"


def test_blocks_leave_no_blanks_as_hugging_face_renders_them() -> None:
    source = "{% for m in messages %}\n    {% if m.role %}\n{{ m.content }}\n    {% endif %}\n{% endfor %}"
    assert prompt_of(source) == "你好\n"


def test_json_stays_readable_to_the_model() -> None:
    prompt = prompt_of("{{ messages | tojson }}", {"role": "user", "content": "<b>你</b>"})
    assert prompt == '[{"role": "user", "content": "<b>你</b>"}]'


def test_json_takes_the_options_hugging_face_gives_it() -> None:
    source = "{{ {'b': 1, 'a': '你'} | tojson(ensure_ascii=true, separators=(',', ':'), sort_keys=true) }}"
    assert ChatTemplate(source).render((USER,)) == '{"a":"\\u4f60","b":1}'


def test_loops_can_be_left_and_marks_for_training_show_nothing() -> None:
    source = (
        "{% for m in messages %}{% if loop.index > 1 %}{% break %}{% endif %}"
        "{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}!"
    )
    assert prompt_of(source, USER, {"role": "assistant", "content": "x"}) == "你好!"


def test_tools_are_none_until_some_are_given() -> None:
    source = "{% if tools is not none %}{{ tools[0].name }} {% endif %}{{ messages[0].content }}"
    template = ChatTemplate(source)
    assert template.render((USER,)) == "你好"
    assert template.render((USER,), {"tools": [{"name": "clock"}]}) == "clock 你好"


def test_a_template_that_refuses_the_system_role_gets_it_in_the_first_user_message() -> None:
    assert prompt_of(GEMMA_LIKE, SYSTEM, USER, bos="<bos>") == "<bos><user>Be brief.\n\n你好\n"


def test_a_template_that_drops_the_system_text_gets_it_in_the_first_user_message() -> None:
    assert prompt_of(DEAF, SYSTEM, USER) == "[user] Be brief.\n\n你好"


def test_a_system_text_alone_becomes_the_user_message() -> None:
    assert prompt_of(DEAF, SYSTEM) == "[user] Be brief."


def test_a_template_that_wants_parts_gets_parts() -> None:
    source = (
        "{% for m in messages %}{% for part in m.content %}"
        "{% if part.type == 'text' %}{{ part.text }}{% endif %}{% endfor %}{% endfor %}"
    )
    assert prompt_of(source, SYSTEM, USER) == "Be brief.你好"


def test_what_a_template_says_when_it_gives_up_is_the_reason() -> None:
    assert "roles must alternate" in failure("{{ raise_exception('roles must alternate') }}", USER, USER)


def test_a_template_that_does_not_compile_names_the_line() -> None:
    with pytest.raises(ChatTemplateError) as caught:
        ChatTemplate("{{ bos_token }}\n{% for m in messages %}\n{% endif %}")
    assert caught.value.line == 3
    assert "endif" in str(caught.value)


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ messages.append(1) }}",
        "{% for i in range(10000000) %}{% endfor %}",
        "{{ 1 / 0 }}",
        "{{ messages[9].content.x }}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{{" + "(" * 5000 + ")" * 5000 + "}}",
    ],
    ids=["classes", "changes", "long-range", "division", "no-message", "recursion", "nesting"],
)
def test_what_the_sandbox_forbids_is_one_error(source: str) -> None:
    assert failure(source)


PIECES = st.sampled_from(
    ["{%", "%}", "{{", "}}", "{#", " for m in messages ", " endfor ", " if ", " endif ", " break ",
     "messages", "[0]", ".content", " | tojson", "|length", "|join", "(", ")", "'", " set x = ",
     " macro f() ", " endmacro ", "loop.index", " + 1", "~", "\n", "你", "raise_exception(1)",
     "strftime_now(2)", ".__class__", "range(3)", " generation ", " endgeneration ", "tools", "namespace()"]
)  # fmt: skip


@settings(deadline=None)  # compiling is slow on a busy machine
@given(st.lists(PIECES, max_size=14).map("".join))
def test_any_template_renders_or_is_one_error(source: str) -> None:
    try:
        assert isinstance(prompt_of(source, SYSTEM, USER), str)
    except ChatTemplateError as reason:
        assert str(reason)
