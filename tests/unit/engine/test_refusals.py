"""Lines real engines wrote about broken files, and the fault each of them names."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.log_reader import explain_exit, explain_load_failure
from app.engine.refusals import REFUSALS, abort_cause, refusal
from app.findings import FindingCode, FindingValue, Severity
from app.texts import LANGUAGES, NO_VALUE, Texts

LOGS = Path(__file__).resolve().parents[2] / "data" / "logs"
UP = "blk.0.ffn_up_exps.weight"

FAULTS: list[tuple[str, FindingCode, dict[str, FindingValue]]] = [
    (
        "tensor-shape",
        FindingCode.TENSOR_SHAPE_MISMATCH,
        {"tensor": UP, "expected": "64 × 32 × 8", "found": "32 × 64 × 8"},
    ),
    ("head-count", FindingCode.TENSOR_SHAPE_MISMATCH, {"expected": "64 × 0", "found": "64 × 64"}),
    ("tensor-missing", FindingCode.TENSOR_MISSING, {"tensor": UP}),
    ("tensor-type", FindingCode.TENSOR_TYPE_REFUSED, {"tensor": UP, "type": 200}),
    ("tensor-offset", FindingCode.TENSOR_INVALID, {"tensor": UP, "reason": "offset"}),
    ("name-twice", FindingCode.TENSOR_INVALID, {"tensor": UP, "reason": "duplicate-name"}),
    ("extra-tensor", FindingCode.TENSOR_COUNT_WRONG, {"expected": 28, "found": 27}),
    ("split-truncated", FindingCode.TENSOR_BEYOND_FILE, {"tensor": "blk.0.ffn_down_exps.weight"}),
    ("weights-nan", FindingCode.WEIGHTS_REFUSED, {"tensor": "blk.1.ffn_up_exps.weight"}),
    ("key-missing", FindingCode.METADATA_MISSING, {"key": "qwen3moe.attention.layer_norm_rms_epsilon"}),
    (
        "wrong-type",
        FindingCode.METADATA_TYPE_WRONG,
        {"key": "qwen3moe.embedding_length", "found": "u64", "expected": "u32"},
    ),
    ("alignment-type", FindingCode.METADATA_TYPE_WRONG, {"key": "general.alignment", "found": "str"}),
    (
        "array-length",
        FindingCode.METADATA_LENGTH_WRONG,
        {"key": "qwen3moe.attention.head_count", "expected": 2, "found": 3},
    ),
    ("merges-missing", FindingCode.TOKENIZER_MISSING, {"keys": ("tokenizer.ggml.merges",)}),
    ("tokens-missing", FindingCode.TOKENIZER_MISSING, {"file": "tokenizer-tokens-missing.gguf"}),
    ("pre-unknown", FindingCode.PRE_TOKENIZER_UNKNOWN, {"pre": "martian"}),
    ("tokenizer-unknown", FindingCode.TOKENIZER_UNKNOWN, {"model": "martian"}),
    ("name-phi-3", FindingCode.VOCABULARY_LOOKUP_FAILED, {"detail": "unordered_map::at"}),
    (
        "scores-short",
        FindingCode.VOCABULARY_MISMATCH,
        {"name": "tokenizer.ggml.scores", "found": 3, "expected": 320},
    ),
    ("projector", FindingCode.NOT_A_CHAT_MODEL, {"kind": "projector"}),
    ("value-type", FindingCode.HEADER_BROKEN, {"file": "value-type-99.gguf", "reason": "value-type"}),
    ("alignment", FindingCode.HEADER_BROKEN, {"reason": "alignment"}),
    ("magic", FindingCode.HEADER_BROKEN, {"reason": "not-gguf"}),
    ("big-endian", FindingCode.HEADER_BROKEN, {"reason": "big-endian"}),
    ("version", FindingCode.HEADER_BROKEN, {"reason": "version"}),
    ("split-missing", FindingCode.SHARD_REFUSED, {"file": "m-00003-of-00003.gguf"}),
    ("split-order", FindingCode.SHARD_REFUSED, {"file": "m-00002-of-00003.gguf"}),
    ("split-renamed", FindingCode.SHARD_REFUSED, {"file": "part1.gguf"}),
    ("split-not-first", FindingCode.SHARD_REFUSED, {"file": "m-00002-of-00003.gguf"}),
]

ABORTS = [
    ("block-count-zero", FindingCode.BLOCK_COUNT_ABORTS),
    ("experts-too-many", FindingCode.EXPERT_COUNTS_ABORT),
    ("used-count-missing", FindingCode.EXPERT_COUNTS_ABORT),
    ("tokens-twice", FindingCode.VOCABULARY_DUPLICATE),
]


def lines_of(name: str) -> list[str]:
    return (LOGS / f"refused-{name}.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(("log", "code", "values"), FAULTS)
def test_a_refusal_names_the_fault_with_its_numbers(
    log: str, code: FindingCode, values: dict[str, FindingValue]
) -> None:
    finding = explain_load_failure(lines_of(log))
    assert (finding.code, finding.severity) == (code, Severity.ERROR)
    assert {name: finding.values[name] for name in values} == values
    assert code in REFUSALS
    assert explain_exit(1, lines_of(log), "load") == finding


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "log", [log for log, code, _ in FAULTS if code is not FindingCode.METADATA_TYPE_WRONG]
)
def test_no_refusal_is_told_with_a_gap(log: str, language: str) -> None:
    words = Texts(language).finding(explain_load_failure(lines_of(log)))
    assert NO_VALUE not in words.message + words.action


@pytest.mark.parametrize(("log", "code"), ABORTS)
def test_a_check_that_fails_because_of_the_file_names_what_in_it(log: str, code: FindingCode) -> None:
    finding = explain_exit(-6, lines_of(log), "check")
    assert finding.code is code
    assert "GGML_ASSERT" in str(finding.values["line"])
    assert "/" not in str(finding.values["line"]).partition(":")[0]
    assert explain_exit(-6, lines_of(log), "generate").code is FindingCode.ENGINE_ASSERT


def test_every_recorded_refusal_is_in_a_test() -> None:
    recorded = {file.stem.removeprefix("refused-") for file in LOGS.glob("refused-*.txt")}
    assert recorded == {log for log, *_ in FAULTS} | {log for log, _ in ABORTS}


def test_an_architecture_newer_than_the_engine_names_a_build_that_knows_it() -> None:
    line = "llama_model_load: error loading model: unknown model architecture: 'qwen4exp'"
    finding = explain_load_failure([line])
    assert finding.code is FindingCode.ARCHITECTURE_TOO_NEW
    assert finding.values == {"architecture": "qwen4exp", "build": 10830}


def test_checks_of_other_things_have_no_cause_in_the_file() -> None:
    assert abort_cause("ggml.c:123: GGML_ASSERT(ggml_can_mul_mat(a, b)) failed") is None
    assert refusal(["llama_init_from_model: quantized V cache requires flash_attn"]) is None


@given(st.lists(st.text(), max_size=20))
def test_no_log_makes_it_fail(lines: list[str]) -> None:
    finding = refusal(lines)
    assert finding is None or finding.code in REFUSALS
