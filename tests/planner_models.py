"""Facts of models for planner tests: true widths, no files."""

from pathlib import Path

from app.gguf.facts import (
    AttentionFacts,
    AttentionKind,
    FileKind,
    LayerFacts,
    ModelFacts,
    TensorClass,
    TensorInfo,
)
from app.planner.facts import MemoryBudget, OffloadPlan, Part

MIB = 1024**2
GIB = 1024**3
WEIGHT_PARTS = tuple(Part(c.value) for c in TensorClass)


def moe_facts(
    *,
    blocks: int = 48,
    expert_bytes: int = 350 * MIB,
    other_bytes: int = 12 * MIB,
    leading_dense: int = 0,
    vocabulary: int = 151_936,
    embedding: int = 2048,
    kv_heads: int = 4,
    context_length: int | None = 40_960,
    expert_width: int = 768,
    is_tied: bool = False,
) -> ModelFacts:
    """Return a MoE model, by default shaped like Qwen3-30B-A3B in Q4_K_M."""
    layers = tuple(_layer(index, expert_bytes, other_bytes, leading_dense) for index in range(blocks))
    table = vocabulary * embedding * 9 // 16
    outside = {TensorClass.TOKEN_EMBEDDING: table}
    tensors = [TensorInfo("token_embd.weight", (embedding, vocabulary), "Q4_K", 0, table)]
    if not is_tied:
        outside[TensorClass.OUTPUT] = table
        tensors.append(TensorInfo("output.weight", (embedding, vocabulary), "Q4_K", 0, table))
    if expert_bytes:
        shape = (expert_width, embedding, 128)
        tensors.append(
            TensorInfo(f"blk.{blocks - 1}.ffn_down_exps.weight", shape, "Q4_K", 0, expert_bytes // 3)
        )
    return ModelFacts(
        path=Path("model.gguf"),
        kind=FileKind.MODEL,
        architecture="qwen3moe",
        block_count=blocks,
        trunk_layers=blocks,
        layers=layers,
        expert_count=128 if expert_bytes else 0,
        expert_used_count=8 if expert_bytes else None,
        context_length=context_length,
        embedding_length=embedding,
        vocabulary_size=vocabulary,
        attention=AttentionFacts(
            kind=AttentionKind.GQA,
            head_count=32,
            head_count_kv=(kv_heads,) * blocks,
            key_length=128,
            value_length=128,
        ),
        tensors=tuple(tensors),
        bytes_outside_layers=outside,
    )


def dense_facts(*, blocks: int = 32, block_bytes: int = 200 * MIB) -> ModelFacts:
    """Return a dense model."""
    return moe_facts(blocks=blocks, expert_bytes=0, other_bytes=block_bytes, vocabulary=32_000)


def one_gpu(vram_bytes: int, ram_bytes: int = 64 * GIB, *, drives_display: bool = True) -> MemoryBudget:
    """Return the memory of a machine with one GPU."""
    return MemoryBudget(ram_bytes, (vram_bytes,), (drives_display,), performance_cores=8)


def weight_bytes(model: ModelFacts) -> int:
    """Return the bytes of all weights of a model."""
    inside = sum(sum(layer.bytes_by_class.values()) for layer in model.layers)
    return inside + sum(model.bytes_outside_layers.values())


def planned_weight_bytes(plan: OffloadPlan) -> int:
    """Return the bytes of weights on all devices."""
    return sum(device.parts.get(part, 0) for device in plan.devices for part in WEIGHT_PARTS)


def _layer(index: int, expert_bytes: int, other_bytes: int, leading_dense: int) -> LayerFacts:
    if not expert_bytes:
        half = other_bytes // 2
        return LayerFacts(index, {TensorClass.ATTENTION: half, TensorClass.DENSE_FFN: other_bytes - half})
    if index < leading_dense:
        return LayerFacts(index, {TensorClass.ATTENTION: other_bytes, TensorClass.DENSE_FFN: other_bytes})
    parts = {
        TensorClass.ATTENTION: other_bytes - 2 * (other_bytes // 4),
        TensorClass.SHARED_EXPERTS: other_bytes // 4,
        TensorClass.ROUTER: other_bytes // 4,
        TensorClass.ROUTED_EXPERTS: expert_bytes,
    }
    return LayerFacts(index, parts, expert_count=128)
