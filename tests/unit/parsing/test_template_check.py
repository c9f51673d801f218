"""What a chat template can and cannot do, found out before a model is loaded."""

import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.findings import Finding, FindingCode, Severity
from app.gguf.inspect_file import InspectedFile, inspect_path
from app.gguf.repair import RepairKind, repairs_for
from app.gguf.repair_facts import RepairChoice
from app.gguf.special_tokens import EOS_ID, EOT_ID, MARK, SpecialTokens
from app.parsing.template_check import (
    MAX_DETAIL_CHARS,
    TemplateCase,
    TemplateCheck,
    TemplateFault,
    check_template,
    preview_of,
    sample_conversations,
)
from app.parsing.template_findings import with_template_checked
from app.parsing.template_jobs import check
from app.paths import resource_path
from tests.builders import array, moe_model, write_gguf
from tests.chat_templates import CHATML, FAMILIES, GEMMA, Family

TOKENS = SpecialTokens("<s>", "</s>")
TINY = resource_path("selftest", "tiny-moe.gguf")

LOOP = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
BOMB = "{% set ns = namespace(s='x') %}{% for i in range(99) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}"


def checked(source: str | None) -> TemplateCheck:
    found = check_template(source, TOKENS)
    assert found is not None
    return found


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_what_a_family_can_do_is_found(family: Family) -> None:
    found = checked(family.source)
    assert found.fault is None, found
    assert (found.supports_system, found.supports_tools) == (family.system, family.tools)
    assert (found.has_thinking_switch, found.needs_alternation) == (family.thinking, family.alternation)
    mark = MARK.match((found.turn_end or "").lstrip()) or MARK.match((found.next_turn or "").lstrip())
    assert mark is not None
    assert mark[0] == family.ends_with


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_the_preview_holds_every_word_of_the_sample_in_both_languages(family: Family) -> None:
    previews = checked(family.source).previews
    for language, messages in sample_conversations().items():
        assert all(message["content"] in previews[language] for message in messages)


def test_the_preview_is_what_the_engine_reads() -> None:
    messages = ({"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"})
    expected = "<s><start_of_turn>user\nBe brief.\n\nHi<end_of_turn>\n<start_of_turn>model\n"
    assert preview_of(GEMMA, TOKENS, messages) == expected
    with_bos = replace(TOKENS, adds_bos=True)
    assert preview_of(GEMMA, with_bos, messages) == expected
    assert str(preview_of(CHATML, with_bos, messages)).startswith("<s><|im_start|>system\nBe brief.")


def test_without_a_template_chatml_is_shown() -> None:
    assert checked(None).turn_end == "<|im_end|>\n"


@pytest.mark.parametrize(("source", "limit"), [(LOOP, "cpu"), (BOMB, "memory")], ids=["loop", "bomb"])
def test_a_template_that_hangs_or_eats_memory_is_stopped(source: str, limit: str) -> None:
    began = time.monotonic()
    found = checked(source)
    assert (found.fault, found.detail) == (TemplateFault.LOOPS, limit)
    assert time.monotonic() - began < 15.0
    began = time.monotonic()
    assert checked(source) == found
    assert time.monotonic() - began < 0.5


def test_a_template_that_does_not_compile_names_line_and_cause() -> None:
    found = checked("{{ bos_token }}\n{% for m in messages %}\n{{ m.content }")
    assert (found.fault, found.line) == (TemplateFault.BROKEN, 3)
    assert "unexpected '}'" in found.detail


@pytest.mark.parametrize(
    ("source", "case", "words"),
    [
        ("{{ raise_exception('not today') }}", TemplateCase.USER, "not today"),
        ("{% if messages|length > 2 %}{{ 1 / 0 }}{% endif %}{{ messages[0].content }}",
         TemplateCase.CONVERSATION, "division"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", TemplateCase.USER, "recursion"),
    ],
)  # fmt: skip
def test_a_template_that_raises_names_the_conversation(source: str, case: TemplateCase, words: str) -> None:
    found = checked(source)
    assert (found.fault, found.case) == (TemplateFault.RAISES, case)
    assert words in found.detail


def test_a_template_that_drops_the_question_is_no_template() -> None:
    assert checked("hello").fault is TemplateFault.DROPS_TEXT


def test_a_template_of_a_megabyte_is_tried_like_any_other() -> None:
    assert checked("{# " + "x" * 1024**2 + " #}" + CHATML).fault is None


def test_what_a_template_says_is_one_short_line() -> None:
    found = checked("{{ raise_exception('a\\n\x1b[31mb' ~ 'x' * 5000) }}")
    assert found.detail.isprintable()
    assert len(found.detail) == MAX_DETAIL_CHARS + 1


PIECES = st.sampled_from(
    ["{%", "%}", "{{", "}}", " for m in messages ", " endfor ", " if ", " endif ", "messages", "[0]", ".role",
     ".content", "|tojson", "(", ")", " set x = ", "loop.last", "~", "tools", "raise_exception(1)"]
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(PIECES, max_size=12).map("".join))
def test_any_template_gets_a_verdict(source: str) -> None:
    outcome = check({"source": source, "bos": "<s>", "eos": "</s>", "previews": {}}, b"")
    assert set(outcome) == {"broken"} or set(outcome["tries"]) >= {case.value for case in TemplateCase}


# files


def model(folder: Path, *changes: tuple[bytes, bytes]) -> Path:
    """Return a copy of the tiny model with bytes of its header replaced by as many others."""
    data = TINY.read_bytes()
    for old, new in changes:
        assert old in data
        assert len(old) == len(new)
        data = data.replace(old, new)
    file = folder / "m.gguf"
    file.write_bytes(data)
    return file


def template_of(source: str) -> tuple[bytes, bytes]:
    facts = inspect_path(TINY).facts
    assert facts.chat_template is not None
    old = facts.chat_template.encode()
    return old, source.encode().ljust(len(old))


def key_value(key: str, value: int) -> bytes:
    return key.encode() + (4).to_bytes(4, "little") + value.to_bytes(4, "little")


UNKNOWN_END = (b"<|im_end|>", b"<|it_done>")
OTHER_EOS = (key_value(EOS_ID, 2), key_value(EOS_ID, 0))


def codes(inspected: InspectedFile) -> list[FindingCode]:
    return [finding.code for finding in inspected.findings]


def finding_of(inspected: InspectedFile, code: FindingCode) -> Finding:
    (finding,) = [finding for finding in inspected.findings if finding.code is code]
    return finding


def test_a_sound_model_stays_as_it_is() -> None:
    before = inspect_path(TINY)
    after = with_template_checked(before)
    assert after.inspected == before
    assert after.check is not None
    assert after.check.fault is None


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("{% for m in messages %}", FindingCode.CHAT_TEMPLATE_BROKEN),
        (LOOP, FindingCode.CHAT_TEMPLATE_LOOPS),
        ("{{ raise_exception('no') }}", FindingCode.CHAT_TEMPLATE_RAISES),
        ("hello", FindingCode.CHAT_TEMPLATE_DROPS_TEXT),
    ],
)
def test_a_template_that_cannot_be_used_is_a_warning_and_chatml_takes_its_place(
    tmp_path: Path, source: str, code: FindingCode
) -> None:
    inspected = with_template_checked(inspect_path(model(tmp_path, template_of(source)))).inspected
    assert finding_of(inspected, code).severity is Severity.WARNING
    assert inspected.loadable
    assert (inspected.facts.needs_chatml, inspected.facts.prompt_template) == (True, None)


def test_an_end_of_turn_that_no_key_names_is_given_to_the_engine(tmp_path: Path) -> None:
    inspected = with_template_checked(inspect_path(model(tmp_path, UNKNOWN_END, OTHER_EOS))).inspected
    finding = finding_of(inspected, FindingCode.END_OF_TURN_MISSING)
    assert dict(finding.values) == {"file": "m.gguf", "token": "<|it_done>", "key": EOT_ID, "value": 2}
    assert inspected.facts.kv_overrides == ((EOT_ID, 2),)
    (repair,) = repairs_for(inspected)
    assert (repair.kind, repair.is_on, repair.cures) == (
        RepairKind.OVERRIDE,
        True,
        (FindingCode.END_OF_TURN_MISSING,),
    )


def test_a_repair_that_was_switched_off_stays_off(tmp_path: Path) -> None:
    choice = RepairChoice(off=frozenset({EOT_ID}))
    inspected = with_template_checked(inspect_path(model(tmp_path, UNKNOWN_END, OTHER_EOS), choice)).inspected
    assert inspected.facts.kv_overrides == ()
    assert codes(inspected) == []
    (repair,) = repairs_for(inspected)
    assert not repair.is_on


def test_an_end_of_turn_that_a_key_names_is_no_finding(tmp_path: Path) -> None:
    inspected = with_template_checked(inspect_path(model(tmp_path, UNKNOWN_END))).inspected
    assert codes(inspected) == []


def test_an_end_of_turn_that_is_no_token_is_told(tmp_path: Path) -> None:
    template = CHATML.replace("<|im_end|>", "<|stop|>")
    inspected = with_template_checked(inspect_path(model(tmp_path, template_of(template)))).inspected
    assert finding_of(inspected, FindingCode.END_OF_TURN_UNKNOWN).values["token"] == "<|stop|>"


@pytest.mark.parametrize("has_template", [True, False])
def test_two_tokens_of_one_text_end_the_engine_and_are_told_before(
    tmp_path: Path, has_template: bool
) -> None:
    keys, tensors = moe_model("qwen3moe", layers=2, experts=8)
    keys["tokenizer.ggml.tokens"] = array("str", [*(f"tok{index}" for index in range(63)), "tok7"])
    if not has_template:
        keys.pop("tokenizer.chat_template")
    inspected = with_template_checked(inspect_path(write_gguf(tmp_path / "m.gguf", keys, tensors))).inspected
    assert finding_of(inspected, FindingCode.VOCABULARY_DUPLICATE).values == {"line": "tok7"}
    assert not inspected.loadable
