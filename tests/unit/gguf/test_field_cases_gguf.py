"""Model files people had trouble with in the field, one group per report (H01-H07)."""

import hashlib
import time
import tracemalloc
from pathlib import Path

import pytest

from app.findings import FindingCode, Severity
from app.gguf.facts import FileKind, TensorClass
from app.gguf.inspect_file import InspectedFile, findings_for_chat, inspect_path
from app.gguf.reader import read_header
from tests.builders import (
    Keys,
    Tensor,
    array,
    attention_tensors,
    dense_model,
    dense_tensors,
    expert_tensors,
    gguf_bytes,
    io_tensors,
    model_keys,
    moe_model,
    old_expert_tensors,
    text,
    u32,
    write_gguf,
    write_shards,
)


def _checked(path: Path) -> InspectedFile:
    before = hashlib.sha256(path.read_bytes()).digest()
    inspected = inspect_path(path)
    assert hashlib.sha256(path.read_bytes()).digest() == before
    return inspected


# H01: the expert count is absent, zero, or under the wrong prefix


@pytest.mark.parametrize(
    ("counts", "found", "elsewhere"),
    [
        ({}, None, ()),
        ({"qwen2moe.expert_count": u32(0), "qwen2moe.expert_used_count": u32(0)}, 0, ()),
        (
            {"llama.expert_count": u32(60), "llama.expert_used_count": u32(4)},
            None,
            ("llama.expert_count",),
        ),
    ],
)
def test_experts_are_counted_in_the_tensors_when_the_header_hides_them(
    tmp_path: Path, counts: Keys, found: int | None, elsewhere: tuple[str, ...]
) -> None:
    _, tensors = moe_model(layers=4, experts=16)
    inspected = _checked(write_gguf(tmp_path / "m.gguf", {**model_keys("qwen2moe"), **counts}, tensors))
    facts = inspected.facts
    assert (facts.kind, facts.is_moe, facts.expert_count, len(facts.expert_layers)) == (
        FileKind.MODEL,
        True,
        16,
        4,
    )
    told = next(f for f in inspected.findings if f.code is FindingCode.EXPERT_COUNT_MISSING)
    assert told.severity is Severity.WARNING
    assert (told.values["tensors"], told.values["found"], told.values["elsewhere"]) == (16, found, elsewhere)
    assert facts.kv_overrides == (("qwen2moe.expert_count", 16),)


@pytest.mark.parametrize(
    ("architecture", "counts"), [("llama4", {"llama4.expert_count": u32(0)}), ("gemma4", {})]
)
def test_a_dense_model_is_dense_whether_it_says_zero_or_nothing(
    tmp_path: Path, architecture: str, counts: Keys
) -> None:
    keys, tensors = dense_model(architecture)
    inspected = _checked(write_gguf(tmp_path / "m.gguf", {**keys, **counts}, tensors))
    assert not inspected.facts.is_moe
    assert inspected.findings == ()
    assert inspected.loadable


# H02: one tensor per expert


def test_the_layout_of_2023_is_named_and_not_called_damaged(tmp_path: Path) -> None:
    keys = model_keys("llama", {"expert_count": u32(8), "expert_used_count": u32(2)})
    tensors = io_tensors()
    for block in range(4):
        tensors += attention_tensors(block) + old_expert_tensors(block, 8)
    inspected = _checked(write_gguf(tmp_path / "old_mixtral.gguf", keys, tensors))
    assert [f.code for f in inspected.findings] == [FindingCode.OLD_EXPERT_LAYOUT]
    assert inspected.findings[0].values["experts"] == 8
    assert not inspected.loadable
    assert (inspected.facts.expert_count, inspected.facts.has_old_expert_layout) == (8, True)


# H03: which tensors are experts


def _moe(tmp_path: Path, architecture: str, blocks: list[list[Tensor]]) -> InspectedFile:
    counts = {"expert_count": u32(16), "expert_used_count": u32(4)}
    tensors = io_tensors()
    for index, block in enumerate(blocks):
        tensors += attention_tensors(index) + block
    keys = model_keys(architecture, counts, layers=len(blocks))
    return _checked(write_gguf(tmp_path / "m.gguf", keys, tensors))


def test_fused_gate_and_up_move_and_shared_experts_stay(tmp_path: Path) -> None:
    blocks = [expert_tensors(block, 16, fused=True, shared=True) for block in range(4)]
    inspected = _moe(tmp_path, "qwen35moe", blocks)
    assert inspected.findings == ()
    assert inspected.facts.routed_expert_bytes == 786_432
    assert inspected.facts.shared_expert_bytes == 4 * 3 * 64 * 32 * 2


def test_chunk_experts_move_too(tmp_path: Path) -> None:
    inspected = _moe(tmp_path, "grovemoe", [expert_tensors(block, 16, chunks=True) for block in range(4)])
    assert inspected.facts.routed_expert_bytes == 983_040
    assert inspected.facts.expert_count == 16


def test_a_leading_dense_block_moves_nothing(tmp_path: Path) -> None:
    experts = [expert_tensors(block, 16, shared=True) for block in (1, 2, 3)]
    facts = _moe(tmp_path, "deepseek2", [dense_tensors(0), *experts]).facts
    assert facts.routed_expert_bytes == 589_824
    assert [layer.routed_expert_bytes for layer in facts.layers] == [0, 196_608, 196_608, 196_608]
    assert facts.layers[0].bytes_by_class[TensorClass.DENSE_FFN] == 3 * 64 * 128 * 2


# H05: any shard of a split model, one row per model


def test_any_shard_and_the_folder_open_the_first_one(tmp_path: Path) -> None:
    parts = write_shards(tmp_path, "Big-Q4_K_M", *moe_model("qwen2moe"), cuts=(10, 20))
    for opened in (*parts, tmp_path):
        facts = inspect_path(opened).facts
        assert (facts.path, facts.tensor_count, facts.expert_count) == (parts[0], 35, 16)
        assert facts.size_bytes == sum(part.stat().st_size for part in parts)
    small = write_gguf(tmp_path / "Small.gguf", *dense_model("qwen2"))
    assert inspect_path(small).facts.path == small
    both = inspect_path(tmp_path).findings[0]
    assert (both.code, both.values["models"]) == (
        FindingCode.FOLDER_AMBIGUOUS,
        (parts[0].name, "Small.gguf"),
    )


# H06: truncated download


def test_a_cut_download_says_how_much_is_missing(tmp_path: Path) -> None:
    full = gguf_bytes(*moe_model("qwen2moe"))
    cuts = {"1_byte": len(full) - 1, "half": len(full) // 2, "in_header": 300, "extra_tail": len(full) + 1000}
    for name, size in cuts.items():
        file = tmp_path / f"{name}.gguf"
        file.write_bytes(full[:size].ljust(size, b"\0"))
        started = time.process_time()
        inspected = _checked(file)
        assert time.process_time() - started < 1
        finding = inspected.findings[0]
        if name == "extra_tail":
            assert inspected.loadable
            assert (finding.code, finding.severity) == (FindingCode.TRAILING_BYTES, Severity.NOTE)
            assert finding.values["extra_bytes"] == 1000
            continue
        assert not inspected.loadable
        assert (finding.code, finding.values["actual_bytes"]) == (FindingCode.FILE_INCOMPLETE, size)
        expected = finding.values["expected_bytes"]
        assert isinstance(expected, int)
        assert expected == len(full) if name != "in_header" else 300 < expected < len(full)


def test_a_whole_download_has_no_findings(tmp_path: Path) -> None:
    file = tmp_path / "full.gguf"
    file.write_bytes(gguf_bytes(*moe_model("qwen2moe")))
    assert _checked(file).findings == ()


# H07: a vocabulary of 262 k entries


@pytest.fixture(scope="module")
def big_vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """262 144 tokens with types, 300 000 merges, and a key behind them."""
    return write_gguf(tmp_path_factory.mktemp("big") / "m.gguf", *_with_vocabulary(262_144, 300_000))


def _with_vocabulary(tokens: int, merges: int) -> tuple[Keys, list[Tensor]]:
    keys, tensors = moe_model("qwen2moe")
    keys |= {
        "tokenizer.ggml.tokens": array("str", [f"tok{index}" for index in range(tokens)]),
        "tokenizer.ggml.token_type": array("i32", [1] * tokens),
        "tokenizer.ggml.merges": array("str", [f"a{index} b{index}" for index in range(merges)]),
        "general.last_key": text("after-the-arrays"),
    }
    return keys, tensors


def _cpu_seconds(file: Path) -> float:
    best = 60.0
    for _ in range(3):
        started = time.process_time()
        inspect_path(file)
        best = min(best, time.process_time() - started)
    return best


def test_a_big_vocabulary_is_passed_over_but_what_lies_behind_it_is_read(big_vocabulary: Path) -> None:
    header = read_header(big_vocabulary)
    assert header.keys["general.last_key"] == "after-the-arrays"
    facts = inspect_path(big_vocabulary).facts
    assert facts.has_chat_template
    assert facts.vocabulary_size == 262_144


def test_a_big_vocabulary_costs_little_time(big_vocabulary: Path) -> None:
    assert _cpu_seconds(big_vocabulary) <= 3 * 0.150


def test_a_vocabulary_is_never_in_memory(tmp_path: Path) -> None:
    file = write_gguf(tmp_path / "m.gguf", *_with_vocabulary(80_000, 80_000))
    assert file.stat().st_size > 4 * 1024**2
    tracemalloc.start()
    try:
        inspect_path(file)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= 2 * 1024**2


def test_an_ordinary_vocabulary_costs_less_than_a_blink(tmp_path: Path) -> None:
    file = write_gguf(tmp_path / "m.gguf", *_with_vocabulary(32_000, 31_000))
    assert _cpu_seconds(file) <= 3 * 0.030


def test_a_folder_of_five_big_vocabularies_is_listed_soon(big_vocabulary: Path, tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"{number}.gguf").write_bytes(big_vocabulary.read_bytes())
    started = time.process_time()
    assert inspect_path(tmp_path).findings[0].values["found"] == 5
    assert time.process_time() - started <= 3 * 5 * 0.150


# H04: a vision projector picked as the model


@pytest.mark.parametrize("declared", [{"general.type": text("mmproj")}, {}])
def test_a_projector_is_one_by_its_content_whatever_it_is_called(tmp_path: Path, declared: Keys) -> None:
    keys = {"general.architecture": text("clip"), "clip.vision.block_count": u32(2), **declared}
    tensors = [
        Tensor("v.patch_embd.weight", (14, 14, 3, 64), "F16"),
        Tensor("mm.0.weight", (64, 64), "F16"),
    ]
    inspected = _checked(write_gguf(tmp_path / "vision-part.gguf", keys, tensors))
    assert inspected.facts.kind is FileKind.PROJECTOR
    (stopped,) = (f for f in findings_for_chat(inspected) if f.severity is Severity.ERROR)
    assert (stopped.code, stopped.values["kind"]) == (FindingCode.NOT_A_CHAT_MODEL, "projector")


def test_a_chat_model_with_a_projector_in_its_name_is_a_model(tmp_path: Path) -> None:
    keys, tensors = dense_model("qwen2")
    inspected = _checked(write_gguf(tmp_path / "My-mmproj-notes-chat.gguf", keys, tensors))
    assert inspected.facts.kind is FileKind.MODEL
    assert all(finding.severity is not Severity.ERROR for finding in findings_for_chat(inspected))
