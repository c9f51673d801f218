"""What a file holds is told from its content, never from its name."""

from pathlib import Path

import pytest

from app.findings import FindingCode, Severity
from app.gguf.facts import FileKind
from app.gguf.inspect_file import inspect_path
from tests.builders import (
    Keys,
    Tensor,
    array,
    dense_model,
    flag,
    model_keys,
    text,
    tokenizer_keys,
    u32,
    write_gguf,
)

VISION = [Tensor("v.patch_embd.weight", (14, 14, 3, 64)), Tensor("mm.0.weight", (64, 64))]
CLIP: Keys = {"general.architecture": text("clip"), "clip.has_vision_encoder": flag(True)}


def arch(name: str, **more: str) -> Keys:
    """Return keys of a file that says little more than its architecture."""
    return {"general.architecture": text(name), **{key: text(value) for key, value in more.items()}}


OTHERS: list[tuple[FileKind, Keys, list[Tensor]]] = [
    (FileKind.PROJECTOR, {**CLIP, "general.type": text("mmproj")}, VISION),
    (FileKind.PROJECTOR, CLIP, VISION),
    (FileKind.PROJECTOR, {**arch("qwen2vl"), "general.type": text("clip-vision")}, VISION),
    (
        FileKind.ADAPTER,
        {**arch("llama"), "general.type": text("adapter"), "adapter.type": text("lora")},
        [Tensor("blk.0.attn_q.weight.lora_a", (64, 8)), Tensor("blk.0.attn_q.weight.lora_b", (8, 64))],
    ),
    (FileKind.ADAPTER, arch("controlvector"), [Tensor("direction.1", (64,), "F32")]),
    (FileKind.IMATRIX, {"general.type": text("imatrix")}, [Tensor("blk.0.attn_q.weight.in_sum2", (64, 1))]),
    (FileKind.IMATRIX, {"imatrix.chunk_count": u32(5)}, [Tensor("blk.0.attn_q.weight.counts", (1, 1))]),
    (FileKind.VOCAB, {**arch("llama"), **tokenizer_keys()}, []),
    (FileKind.IMAGE, arch("flux"), [Tensor("double_blocks.0.img_attn.qkv.weight", (64, 64))]),
    (FileKind.IMAGE, arch("sdxl"), [Tensor("model.diffusion_model.input_blocks.0.0.weight", (64, 64))]),
    (
        FileKind.AUDIO,
        arch("wavtokenizer-dec"),
        [Tensor("blk.0.x", (64, 64)), Tensor("token_embd.weight", (8, 8))],
    ),
    (FileKind.AUDIO, arch("whisper"), [Tensor("encoder.conv1.weight", (64, 64))]),
    (FileKind.DRAFT, arch("eagle3"), [Tensor("blk.0.attn_q.weight", (64, 64)), Tensor("d2t", (64,), "I64")]),
]


@pytest.mark.parametrize(("kind", "keys", "tensors"), OTHERS)
def test_a_file_that_cannot_answer_by_itself_is_named_and_not_loadable(
    tmp_path: Path, kind: FileKind, keys: Keys, tensors: list[Tensor]
) -> None:
    inspected = inspect_path(write_gguf(tmp_path / "chat-model.gguf", keys, tensors))
    assert inspected.facts.kind is kind
    assert [f.code for f in inspected.findings] == [FindingCode.NOT_A_CHAT_MODEL]
    assert inspected.findings[0].values["kind"] == kind.value
    assert not inspected.loadable


@pytest.mark.parametrize(
    ("kind", "architecture", "pooling"),
    [
        (FileKind.EMBEDDING, "qwen3", 3),
        (FileKind.EMBEDDING, "nomic-bert-moe", 1),
        (FileKind.EMBEDDING, "gemma-embedding", 1),
        (FileKind.RERANKER, "qwen3", 4),
        (FileKind.RERANKER, "bert", 4),
        (FileKind.MODEL, "qwen3", 0),
    ],
)
def test_pooling_tells_embedding_models_and_rerankers(
    tmp_path: Path, kind: FileKind, architecture: str, pooling: int
) -> None:
    file = write_gguf(tmp_path / "m.gguf", *dense_model(architecture, pooling_type=u32(pooling)))
    inspected = inspect_path(file)
    assert inspected.facts.kind is kind
    assert inspected.loadable
    assert all(f.severity is Severity.WARNING for f in inspected.findings)


def test_a_classifier_is_a_reranker(tmp_path: Path) -> None:
    labels = array("str", ["yes", "no"])
    file = write_gguf(tmp_path / "m.gguf", *dense_model("qwen3", classifier__output_labels=labels))
    assert inspect_path(file).facts.kind is FileKind.RERANKER


def test_a_chat_model_with_mmproj_in_its_name_is_a_chat_model(tmp_path: Path) -> None:
    inspected = inspect_path(write_gguf(tmp_path / "My-mmproj-notes-chat.gguf", *dense_model("qwen2")))
    assert inspected.facts.kind is FileKind.MODEL
    assert inspected.loadable


def test_without_an_architecture_a_file_is_unknown_and_says_so(tmp_path: Path) -> None:
    keys = {name: value for name, value in model_keys().items() if name != "general.architecture"}
    inspected = inspect_path(write_gguf(tmp_path / "m.gguf", keys, dense_model()[1]))
    assert inspected.facts.kind is FileKind.UNKNOWN
    assert [f.code for f in inspected.findings] == [FindingCode.ARCHITECTURE_MISSING]
