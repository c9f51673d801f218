"""How many bytes an engine's compute buffers take: the working memory of one physical batch."""

from dataclasses import dataclass
from typing import Final

from app.gguf.facts import AttentionFacts, AttentionKind, ModelFacts
from app.planner.caches import RATIO_HCA, Extent, padded_cells, windowed_cells

FLOAT_BYTES: Final = 4
MASK_BYTES: Final = 2
"""The attention mask is f16 for flash attention, one row of cells per token of the batch."""

PIPELINE_COPIES: Final = 4
"""Copies of the inputs when several GPUs work as a pipeline (GGML_SCHED_MAX_COPIES)."""

_EXPERT_MARK: Final = "exps."
_RATIO_CSA: Final = 4
_CONV_TENSOR: Final = ".ssm_conv1d.weight"
_SHARED_GATE: Final = ".ffn_gate_inp_shexp.weight"
_DENSE_DOWN: Final = (".ffn_down.weight", ".ffn_down_shexp.weight")


@dataclass(frozen=True, slots=True)
class GraphShape:
    """What sizes the compute buffers. Widths are floats per token of the batch.

    Attributes:
        embedding: Width of the residual stream.
        expert_width: Inner width of all used experts together; `expert_outputs` what they give.
        dense_width: Inner width of the widest feed-forward network without routing, shared experts included.
        attention_floats: Alive at once in the widest attention.
        absorbed_floats: The part of them that shares memory with experts on the same device.
        logit_floats: Floats of logits for every token of a batch; 0 where only the last one's are made.
        has_gated_shared: Shared experts have a gate of their own, whose result waits beside them.
        largest_expert_tensor: Bytes; a GPU working on experts kept in RAM copies one whole tensor in.
        largest_block_tensor: The same for the other weights of a block.
        gpu_factor: What engines' own figures have taught to multiply with; cpu_factor likewise.
    """

    attention: AttentionFacts
    embedding: int
    expert_width: int
    expert_outputs: int
    dense_width: int
    attention_floats: int
    absorbed_floats: int
    logit_floats: int
    has_gated_shared: bool
    largest_expert_tensor: int
    largest_block_tensor: int
    gpu_factor: float = 1.0
    cpu_factor: float = 1.0


@dataclass(frozen=True, slots=True)
class Duty:
    """What one device does of the whole.

    Attributes:
        copied_tensor_bytes: Largest weight in RAM that the device works on in big batches (`op_offload`).
        runs_experts: Routed experts of at least one block lie on it.
        is_split: Those of other blocks lie in RAM.
    """

    makes_logits: bool = True
    copied_tensor_bytes: int = 0
    runs_experts: bool = True
    is_split: bool = False
    is_cpu: bool = False

    @property
    def has_experts(self) -> bool:
        """Whether experts run on it, its own or copies."""
        return self.runs_experts or self.copied_tensor_bytes > 0


def graph_shape(model: ModelFacts) -> GraphShape:
    """Read the widths that matter from facts and tensor table."""
    embedding = model.embedding_length or 0
    used = model.expert_used_count or 0
    widths = _TensorWidths.of(model)
    attention_floats, absorbed = _attention_floats(model, widths.conv)
    is_indexed = model.attention.kind is AttentionKind.INDEXED_MLA
    return GraphShape(
        attention=model.attention,
        embedding=embedding,
        expert_width=used * widths.expert,
        expert_outputs=used * embedding if widths.expert else 0,
        dense_width=widths.dense,
        attention_floats=attention_floats,
        absorbed_floats=absorbed,
        logit_floats=(model.vocabulary_size or 0) if is_indexed else 0,
        has_gated_shared=widths.has_gated_shared,
        largest_expert_tensor=widths.largest_expert,
        largest_block_tensor=widths.largest_block,
    )


def device_compute_bytes(shape: GraphShape, extent: Extent, duty: Duty) -> int:
    """Return the compute buffer of a device that runs blocks.

    The allocator gives memory back as soon as a tensor was used for the last time, so the widest moment
    counts: in attention, in a dense network, or in the experts. Compared in docs/planner.md, "How close".
    """
    floats = max(_attention(shape, extent, duty), _networks(shape, duty))
    if duty.makes_logits:
        floats += shape.logit_floats
    working = _rows(extent) * FLOAT_BYTES * floats + mask_bytes(shape, extent)
    return round(working * (shape.cpu_factor if duty.is_cpu else shape.gpu_factor)) + duty.copied_tensor_bytes


def _attention(shape: GraphShape, extent: Extent, duty: Duty) -> int:
    floats = shape.attention_floats
    if duty.has_experts and not duty.is_split:
        floats -= shape.absorbed_floats // (2 if duty.is_cpu else 1)
    if not extent.flash_attn:
        floats += (shape.attention.head_count or 0) * padded_cells(extent.n_ctx)
    if shape.attention.kind is AttentionKind.INDEXED_MLA:  # a score for each cell
        floats += padded_cells(extent.n_ctx)
    return floats


def _networks(shape: GraphShape, duty: Duty) -> int:
    """Return the floats alive in experts or dense networks: their own, and rows of the residual stream."""
    row = shape.embedding
    more = row if duty.is_cpu else 0
    experts = _expert_floats(shape) if duty.has_experts else shape.expert_outputs
    dense = 3 * shape.dense_width + 4 * row + (3 * row // 2 if shape.has_gated_shared else 0)
    return more + max(experts + 3 * row, dense if shape.dense_width else 0)


def host_compute_bytes(shape: GraphShape, extent: Extent, *, runs_experts: bool) -> int:
    """Return what RAM holds beside working GPUs: the inputs, or the experts' working set.

    Measured on the default MoE at 8192, ubatch 512: 10.45 MiB (formula 10.25), 21.33 with all experts in RAM.
    """
    rows, masks = _rows(extent) * FLOAT_BYTES, mask_bytes(shape, extent)
    inputs = rows * 2 * shape.embedding + masks
    if not runs_experts:
        return round(inputs * shape.cpu_factor)
    # what was the input is free by then, and part of the mask finds room in it
    reused = min(masks, rows * shape.embedding) // 2
    experts = rows * (_expert_floats(shape) + 2 * shape.embedding) + masks - reused
    return round(max(inputs, experts) * shape.cpu_factor)


def pipeline_bytes(shape: GraphShape, extent: Extent) -> int:
    """Return what each of several GPUs needs more when nothing stays in RAM and they form a pipeline."""
    inputs = mask_bytes(shape, extent) + _rows(extent) * FLOAT_BYTES * 2 * shape.embedding
    return (PIPELINE_COPIES - 1) * inputs


def mask_bytes(shape: GraphShape, extent: Extent) -> int:
    """Return the bytes of all attention masks of a batch: one for each kind of cache."""
    attention, n_ctx = shape.attention, extent.n_ctx
    window = windowed_cells(n_ctx, attention.sliding_window or 0, extent.n_ubatch)
    match attention.kind:
        case AttentionKind.COMPRESSED:
            compressed = 2 * padded_cells(n_ctx // _RATIO_CSA) + padded_cells(n_ctx // RATIO_HCA)
            cells = window + compressed
        case AttentionKind.INDEXED_MLA:
            cells = 2 * padded_cells(n_ctx)
        case AttentionKind.NONE | AttentionKind.RECURRENT:
            cells = 0
        case _:
            has_windows = attention.sliding_window and any(attention.windowed_layers)
            cells = padded_cells(n_ctx) + (window if has_windows else 0)
    return (MASK_BYTES if extent.flash_attn else FLOAT_BYTES) * _rows(extent) * cells


def _expert_floats(shape: GraphShape) -> int:
    """Return what the experts need: gate, up and their product; then the outputs where gate and up were.

    Outputs that are too wide for that hole come behind.
    """
    behind = shape.expert_outputs if shape.expert_outputs > 2 * shape.expert_width else 0
    return 3 * shape.expert_width + behind


def _attention_floats(model: ModelFacts, conv_width: int) -> tuple[int, int]:
    """Return the floats alive in the widest attention, and those that share memory with experts."""
    attention, embedding = model.attention, model.embedding_length or 0
    heads = attention.head_count or 0
    if attention.kv_lora_rank and attention.kind in (AttentionKind.MLA, AttentionKind.INDEXED_MLA):
        key = attention.kv_lora_rank + (attention.rope_dimension_count or 0)
        absorbed = heads * key // 3 if attention.kind is AttentionKind.MLA else 0
        return heads * (2 * key + attention.kv_lora_rank) + embedding, absorbed
    queries = heads * (attention.key_length or 0)
    if attention.kind is AttentionKind.COMPRESSED:
        return 4 * queries, 0
    return max(4 * queries + embedding, 11 * conv_width // 2), 0


def _rows(extent: Extent) -> int:
    return min(extent.n_ubatch, extent.n_ctx)


@dataclass(slots=True)
class _TensorWidths:
    expert: int = 0
    dense: int = 0
    conv: int = 0
    has_gated_shared: bool = False
    largest_expert: int = 0
    largest_block: int = 0

    @classmethod
    def of(cls, model: ModelFacts) -> "_TensorWidths":
        widths = cls()
        for tensor in model.tensors:
            if tensor.name.startswith("blk."):
                widths._take(tensor.name, tensor.shape, tensor.size_bytes or 0)
        return widths

    def _take(self, name: str, shape: tuple[int, ...], size: int) -> None:
        row = shape[0] if shape else 1
        if _EXPERT_MARK in name:
            self.largest_expert = max(self.largest_expert, size)
            if "_down_" in name:
                self.expert = max(self.expert, row)
            return
        self.largest_block = max(self.largest_block, size)
        self.has_gated_shared = self.has_gated_shared or name.endswith(_SHARED_GATE)
        if name.endswith(_DENSE_DOWN):
            self.dense = max(self.dense, row)
        elif name.endswith(_CONV_TENSOR) and len(shape) > 1:
            self.conv = max(self.conv, shape[1])
