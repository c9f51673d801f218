"""How many bytes an engine's compute buffers take: the working memory of one physical batch."""

from dataclasses import dataclass
from typing import Final

from app.gguf.facts import AttentionKind, ModelFacts
from app.planner.caches import Extent

FLOAT_BYTES: Final = 4
MASK_BYTES: Final = 2
"""The attention mask is f16, one row of cells per token of the batch."""

INDEXER_MASKS: Final = 3
RESIDUALS: Final = 6
"""Rows as wide as the model that live at the same time beside the logits."""

PIPELINE_COPIES: Final = 4
"""Copies of the inputs when several GPUs work as a pipeline (GGML_SCHED_MAX_COPIES)."""

_EXPERT_MARK: Final = "exps."


@dataclass(frozen=True, slots=True)
class GraphShape:
    """What sizes the compute buffers. Floats are counted per token of the batch.

    Attributes:
        output_floats: Alive while the logits are made.
        layer_floats: Alive in the widest block: attention, or all used experts at once.
        input_floats: What enters the first block.
        mask_count: Masks as long as the context.
        is_stacked: Logits and block do not share memory (glm-dsa).
        largest_expert_tensor: Bytes; a GPU working on experts kept in RAM copies one whole tensor in.
        largest_block_tensor: The same for the other weights of a block.
    """

    output_floats: int
    layer_floats: int
    input_floats: int
    mask_count: int
    is_stacked: bool
    largest_expert_tensor: int
    largest_block_tensor: int


def graph_shape(model: ModelFacts) -> GraphShape:
    """Read the widths that matter from facts and tensor table.

    Calibrated on the engine's "compute buffer size" lines, MiB (llama-cpp-python 0.3.36, November 2026):

        default MoE, CPU (any context):    ubatch 128: 24.6, 512: 98.3; formula at 8192: 27.7, 110.8
        default MoE, RPC0 as the GPU:      ubatch 128: 24.3, 512: 97.1; with or without its experts
        Qwen3-30B, 8192, 512:              304.8 (formula 328.8)    DeepSeek-V3, 2048: 410.0 (406.0)
        Qwen3-235B, 8192, 512:             312.8 (352.8)            DeepSeek-V3, 32768: 440.0 (436.0)
        gpt-oss-20b, 8192, 512:            435.3 (434.5)            Mixtral-8x7B, 2048: 202.0 (218.0)
        Llama-4-Scout, 8192, 512:          450.7 (462.6)            Mixtral-8x7B, 32768: 232.0 (248.0)
        GLM-4.5-Air, 8192, 512:            328.0 (352.0)            GLM-5.2, 32768: 656.1 (638.5)
    """
    embedding = model.embedding_length or 0
    used = model.expert_used_count or 0
    expert_width, dense_width, largest_expert, largest_block = _tensor_widths(model)
    experts = used * (3 * expert_width + embedding)
    return GraphShape(
        output_floats=(model.vocabulary_size or 0) + RESIDUALS * embedding,
        layer_floats=max(experts, 3 * dense_width, _attention_floats(model)) + RESIDUALS * embedding,
        input_floats=2 * embedding,
        mask_count=INDEXER_MASKS if _is_indexed(model) else 1,
        is_stacked=_is_indexed(model),
        largest_expert_tensor=largest_expert,
        largest_block_tensor=largest_block,
    )


def device_compute_bytes(
    shape: GraphShape, extent: Extent, *, makes_logits: bool, copied_tensor_bytes: int
) -> int:
    """Return the compute buffer of a device that runs blocks.

    Args:
        copied_tensor_bytes: Largest weight in RAM that the device works on in big batches (`op_offload`).
    """
    masks = MASK_BYTES * shape.mask_count * extent.n_ctx
    block = extent.n_ubatch * (masks + FLOAT_BYTES * shape.layer_floats) + copied_tensor_bytes
    if not makes_logits:
        return block
    if shape.is_stacked:
        return block + extent.n_ubatch * FLOAT_BYTES * shape.output_floats
    return max(block, extent.n_ubatch * (masks + FLOAT_BYTES * shape.output_floats))


def host_compute_bytes(shape: GraphShape, extent: Extent, *, runs_experts: bool) -> int:
    """Return what RAM holds beside working GPUs: the inputs, or the experts' working set.

    Measured on the default MoE at 8192, ubatch 512: 10.26 MiB (formula 10.25), 21.14 with all experts in RAM.
    """
    inputs = MASK_BYTES * shape.mask_count * extent.n_ctx + FLOAT_BYTES * shape.input_floats
    experts = FLOAT_BYTES * shape.layer_floats if runs_experts else 0
    return extent.n_ubatch * max(inputs, experts)


def pipeline_bytes(shape: GraphShape, extent: Extent) -> int:
    """Return what each of several GPUs needs more when nothing stays in RAM and they form a pipeline."""
    inputs = MASK_BYTES * shape.mask_count * extent.n_ctx + FLOAT_BYTES * shape.input_floats
    return (PIPELINE_COPIES - 1) * extent.n_ubatch * inputs


def _attention_floats(model: ModelFacts) -> int:
    attention = model.attention
    heads = attention.head_count or 0
    key_length = attention.key_length or 0
    if attention.kv_lora_rank and attention.kind in (AttentionKind.MLA, AttentionKind.INDEXED_MLA):
        absorbed = 2 * attention.kv_lora_rank + (attention.rope_dimension_count or 0)
        return heads * (absorbed + absorbed // 6)
    return heads * 3 * key_length


def _is_indexed(model: ModelFacts) -> bool:
    return model.attention.kind is AttentionKind.INDEXED_MLA


def _tensor_widths(model: ModelFacts) -> tuple[int, int, int, int]:
    expert_width = dense_width = largest_expert = largest_block = 0
    for tensor in model.tensors:
        if not tensor.name.startswith("blk."):
            continue
        size, row = tensor.size_bytes or 0, tensor.shape[0] if tensor.shape else 1
        if _EXPERT_MARK in tensor.name:
            largest_expert = max(largest_expert, size)
            if "_down_" in tensor.name:
                expert_width = max(expert_width, row)
        else:
            largest_block = max(largest_block, size)
            if tensor.name.endswith(".ffn_down.weight"):
                dense_width = max(dense_width, row)
    return expert_width, dense_width, largest_expert, largest_block
