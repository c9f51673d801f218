"""`moxie inspect`: exit status, JSON fields, both languages."""

import argparse
import io
import json
from pathlib import Path
from typing import Any

import pytest

from app.cli import inspect
from app.cli.context import CliContext, UsageError
from app.findings import Finding, FindingCode, error
from app.settings import Settings
from app.texts import Texts
from tests.builders import Tensor, dense_model, moe_model, text, u32, write_gguf
from tests.chat_templates import QWEN_3

BINDING_FIELDS = (
    "path kind architecture files size_bytes tensor_count block_count trunk_layers mtp_layers expert_layers "
    "expert_count expert_used_count expert_shared_count routed_expert_bytes shared_expert_bytes quantization "
    "context_length has_chat_template attention_kind loadable engine_accepts findings"
)


def run(*arguments: str, language: str = "en") -> str:
    """Run the subcommand and return what it prints; it must exit with 0."""
    texts = Texts(language)
    parser = argparse.ArgumentParser()
    inspect.add_arguments(parser, texts)
    out, err = io.StringIO(), io.StringIO()
    assert inspect.run(parser.parse_args(arguments), CliContext(texts, Settings(), out, err)) == 0
    assert err.getvalue() == ""
    return out.getvalue()


def run_json(*arguments: str) -> dict[str, Any]:
    """Run with `--json` and return the document."""
    document: dict[str, Any] = json.loads(run(*arguments, "--json"))
    return document


def test_json_has_the_fields_of_the_contract(tmp_path: Path) -> None:
    keys, tensors = moe_model("glm4moe", layers=5, nextn_predict_layers=u32(1))
    tensors.append(Tensor("blk.4.nextn.eh_proj.weight", (128, 64)))
    file = write_gguf(tmp_path / "m.gguf", keys, tensors)
    said = run_json(str(file))
    assert set(BINDING_FIELDS.split()) <= set(said)
    assert (said["path"], said["files"]) == (str(file), [str(file)])
    assert (said["block_count"], said["trunk_layers"], said["mtp_layers"]) == (5, 4, 1)
    assert said["expert_layers"][-1] == {
        "index": 4,
        "expert_count": 16,
        "routed_expert_bytes": 196_608,
        "is_mtp": True,
    }
    assert (said["attention_kind"], said["quantization"], said["findings"]) == ("gqa", "F16", [])


def test_findings_carry_code_severity_and_values(tmp_path: Path) -> None:
    keys, tensors = moe_model()
    del keys["qwen3moe.expert_count"]
    said = run_json(str(write_gguf(tmp_path / "m.gguf", keys, tensors)))
    assert said["loadable"]
    assert said["kv_overrides"] == {"qwen3moe.expert_count": 16}
    (finding,) = said["findings"]
    assert (finding["code"], finding["severity"]) == ("expert-count-missing", "warning")
    assert finding["values"]["tensors"] == 16


def test_the_template_is_tried_and_shown(tmp_path: Path) -> None:
    keys, tensors = moe_model()
    keys["tokenizer.chat_template"] = text(QWEN_3)
    tried = run_json(str(write_gguf(tmp_path / "m.gguf", keys, tensors)))["chat_template"]
    assert (tried["parses"], tried["usable"], tried["supports_system"], tried["supports_tools"]) == (
        True,
    ) * 4
    assert (tried["has_thinking_switch"], tried["needs_alternation"]) == (True, False)
    assert tried["turn_end"] == "<|im_end|>\n"
    assert set(tried["previews"]) == {"en", "zh_CN"}


def test_a_template_that_cannot_be_used_is_told_in_both_languages(tmp_path: Path) -> None:
    keys, tensors = moe_model()
    keys["tokenizer.chat_template"] = text("\n{% if %}")
    file = write_gguf(tmp_path / "m.gguf", keys, tensors)
    said = run_json(str(file))
    assert (said["loadable"], said["chat_template"]["parses"]) == (True, False)
    (finding,) = [found for found in said["findings"] if found["code"] == "chat-template-broken"]
    assert (finding["severity"], finding["values"]["line"]) == ("warning", 2)
    assert "line 2" in run(str(file)) and "第 2 行" in run(str(file), language="zh_CN")


def test_without_a_template_there_is_nothing_to_try(tmp_path: Path) -> None:
    keys, tensors = moe_model()
    del keys["tokenizer.chat_template"]
    assert run_json(str(write_gguf(tmp_path / "m.gguf", keys, tensors)))["chat_template"] is None


@pytest.mark.parametrize("content", [b"", b"<html>", b"GGUF\x03", b"MZ" + bytes(99)])
def test_an_existing_file_of_any_kind_is_no_failure(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(content)
    assert not run_json(str(file))["loadable"]
    for language in ("en", "zh_CN"):
        assert str(file) in run(str(file), language=language)


def test_a_missing_path_and_a_folder_of_two_are_bad_usage_in_one_line(tmp_path: Path) -> None:
    for name in ("a.gguf", "b.gguf"):
        write_gguf(tmp_path / name, *dense_model())
    for path, word in ((tmp_path / "none.gguf", "none.gguf"), (tmp_path, "a.gguf, b.gguf")):
        with pytest.raises(UsageError) as refused:
            run(str(path))
        assert word in str(refused.value)
        assert "\n" not in str(refused.value)


def test_the_table_speaks_both_languages_and_its_columns_line_up(tmp_path: Path) -> None:
    file = write_gguf(tmp_path / "m.gguf", *moe_model())
    english = run(str(file)).splitlines()
    assert english[0] == str(file)
    assert "  Experts         16 per layer, 4 used per token, in 4 layers" in english
    chinese = run(str(file), language="zh_CN")
    assert "  专家      每层 16 个，每个 token 使用 4 个，共 4 层" in chinese.splitlines()
    assert "  专家权重  路由专家 768 KB，共享专家 0 B" in chinese.splitlines()


@pytest.mark.parametrize("verdict", [True, False, None])
def test_the_engine_is_asked_only_on_request_and_given_the_overrides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verdict: bool | None
) -> None:
    asked = []

    def engine_accepts(path: Path, kv_overrides: object) -> tuple[bool | None, tuple[Finding, ...]]:
        asked.append((path, kv_overrides))
        return verdict, (error(FindingCode.ENGINE_REJECTS_MODEL, detail="x"),)

    monkeypatch.setattr("app.engine.dry_run.engine_accepts", engine_accepts)
    keys, tensors = moe_model()
    del keys["qwen3moe.expert_count"]
    file = write_gguf(tmp_path / "m.gguf", keys, tensors)
    assert run_json(str(file))["engine_accepts"] is None
    assert asked == []
    said = run_json(str(file), "--engine-check")
    assert said["engine_accepts"] is verdict
    assert said["loadable"]
    assert said["findings"][-1]["code"] == "engine-rejects-model"
    assert asked == [(file, (("qwen3moe.expert_count", 16),))]


@pytest.mark.parametrize("how", [(), ("sample",), ("full",)])
def test_the_weights_are_looked_at_on_request(tmp_path: Path, how: tuple[str, ...]) -> None:
    file = write_gguf(tmp_path / "m.gguf", *moe_model())  # its data section is a hole: zeros
    assert run_json(str(file))["findings"] == []
    (finding,) = run_json(str(file), "--weights", *how)["findings"]
    assert finding["code"] == "weights-all-zero"


def test_an_engine_is_not_started_on_a_number_it_aborts_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def started(*_: object) -> None:
        raise AssertionError("the engine was asked")

    monkeypatch.setattr("app.engine.dry_run.engine_accepts", started)
    keys, tensors = moe_model()
    del keys["qwen3moe.expert_used_count"]
    said = run_json(str(write_gguf(tmp_path / "m.gguf", keys, tensors)), "--engine-check")
    assert said["engine_accepts"] is False
