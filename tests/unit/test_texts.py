"""Both catalogues are complete, used, translated and fillable."""

import ast
import json
import re
import string
from pathlib import Path

import pytest

from app.findings import FindingCode, Severity, error
from app.texts import LANGUAGES, NO_VALUE, Texts, format_bytes, system_language

ROOT = Path(__file__).resolve().parents[2]
CATALOGUES = {
    language: json.loads((ROOT / "resources" / "i18n" / f"{language}.json").read_text(encoding="utf-8"))
    for language in LANGUAGES
}
TEXT_METHODS = {"text", "say", "tell"}
HAN = re.compile(r"[\u4e00-\u9fff]")
LETTERS = re.compile(r"[A-Za-z]{2,}")
PROGRAMS = ("GPT4All", "Hugging Face", "llama.cpp", "LM Studio")
LATIN_IN_BOTH = ("Flash attention", "SmolLM2 MoE", *PROGRAMS)
"""Names and terms that Chinese users say in Latin letters too."""


def test_both_languages_have_the_same_keys() -> None:
    assert set(CATALOGUES["en"]) == set(CATALOGUES["zh_CN"])


@pytest.mark.parametrize("key", sorted(CATALOGUES["en"]))
def test_a_text_has_the_same_placeholders_in_both_languages(key: str) -> None:
    assert _placeholders(CATALOGUES["en"][key]) == _placeholders(CATALOGUES["zh_CN"][key])


@pytest.mark.parametrize("key", sorted(CATALOGUES["en"]))
def test_a_text_is_translated(key: str) -> None:
    english, chinese = CATALOGUES["en"][key], CATALOGUES["zh_CN"][key]
    words = LETTERS.findall(re.sub(r"\{[^}]*\}", "", english))
    if len(words) >= 2 and english not in LATIN_IN_BOTH:
        assert HAN.search(chinese), f"{key}: {chinese}"
    assert not HAN.search(english), f"{key}: {english}"


@pytest.mark.parametrize("code", list(FindingCode))
def test_every_finding_has_a_message_and_an_action(code: FindingCode) -> None:
    for entries in CATALOGUES.values():
        assert entries[f"finding.{code.value}"]
        assert entries[f"finding.{code.value}.action"]


def test_every_severity_has_a_name() -> None:
    for severity in Severity:
        assert f"severity.{severity.value}" in CATALOGUES["en"]


def test_every_text_asked_for_exists_and_every_text_is_asked_for() -> None:
    literals, patterns, asked = _strings_of_the_source()
    unknown = [key for key in asked if key not in CATALOGUES["en"]]
    assert unknown == []
    used = literals | {f"finding.{c.value}{end}" for c in FindingCode for end in ("", ".action")}
    unused = [
        key
        for key in CATALOGUES["en"]
        if key not in used and not any(pattern.fullmatch(key) for pattern in patterns)
    ]
    assert unused == []


def test_every_finding_code_is_raised_somewhere() -> None:
    source = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "app").rglob("*.py"))
    silent = [code.name for code in FindingCode if f"FindingCode.{code.name}" not in source]
    assert silent == []


def test_a_missing_value_shows_as_a_dash() -> None:
    texts = Texts("en")
    assert NO_VALUE in texts.finding(error(FindingCode.PATH_MISSING)).message


@pytest.mark.parametrize(
    ("size_bytes", "shown"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1 KB"), (512 * 1024**2, "512 MB"), (8 * 1024**3, "8.0 GB")],
)
def test_bytes_are_shown_as_windows_shows_them(size_bytes: int, shown: str) -> None:
    assert format_bytes(size_bytes) == shown


@pytest.mark.parametrize(
    ("name", "language"), [("zh_CN.UTF-8", "zh_CN"), ("en_US.UTF-8", "en"), ("de_DE.UTF-8", "en")]
)
def test_the_systems_language_decides(monkeypatch: pytest.MonkeyPatch, name: str, language: str) -> None:
    monkeypatch.setenv("LC_ALL", name)
    assert system_language() == language


def _placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def _strings_of_the_source() -> tuple[set[str], list[re.Pattern[str]], set[str]]:
    literals: set[str] = set()
    patterns: list[re.Pattern[str]] = []
    asked: set[str] = set()
    for module in (ROOT / "app").rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                literals.add(node.value)
            if isinstance(node, ast.JoinedStr) and (pattern := _key_pattern(node)):
                patterns.append(pattern)
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in TEXT_METHODS
                and node.args
                and isinstance(node.args[0], ast.Constant)
                and "." in str(node.args[0].value)
            ):
                asked.add(str(node.args[0].value))
    return literals, patterns, asked


def _key_pattern(node: ast.JoinedStr) -> re.Pattern[str] | None:
    parts = [p.value if isinstance(p, ast.Constant) else None for p in node.values]
    first = parts[0]
    if not isinstance(first, str) or "." not in first or " " in first:
        return None
    return re.compile("".join(re.escape(str(p)) if p is not None else r"[\w.-]+" for p in parts))


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_share_has_no_blank_before_its_sign(language: str) -> None:
    texts = Texts(language)
    assert "42%" in texts.text("ui.context_meter.words", share=0.42, used=1, total=2)
    written = [key for key, text in CATALOGUES[language].items() if re.search(r"[\d}]\s+%", text)]
    assert written == []


def test_chinese_speaks_to_a_friend_and_knows_no_plural_of_token() -> None:
    formal = [
        key
        for key, text in CATALOGUES["zh_CN"].items()
        if "您" in text or re.search(r"\btokens\b", re.sub(r"\{[^}]*\}", "", text))
    ]
    assert formal == []


def test_a_sentence_whose_value_is_missing_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = Texts("en")
    entries = {"ask": "{key}?[[ Enter takes {value:count}[[, as {model} has it]].]][[ Up to {most}.]]"}
    monkeypatch.setattr(texts, "_entries", entries)
    assert texts.text("ask", key="a") == "a?"
    assert texts.text("ask", key="a", value=1024, most=0) == "a? Enter takes 1,024. Up to 0."
    assert texts.text("ask", key="[[{x}]]", value=8, model="M") == "[[{x}]]? Enter takes 8, as M has it."


@pytest.mark.parametrize("key", sorted(CATALOGUES["en"]))
def test_a_part_that_may_be_left_out_is_closed_and_holds_a_value(key: str) -> None:
    for entries in CATALOGUES.values():
        left = entries[key]
        while part := re.search(r"\[\[((?:(?!\[\[|\]\]).)*)\]\]", left):
            assert _placeholders(part[1]) or "\0" in part[1]
            left = left.replace(part[0], "\0")
        assert "[[" not in left and "]]" not in left
