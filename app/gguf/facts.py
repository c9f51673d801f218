"""What a model file is, as facts."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from app.gguf.file_types import is_borne_out


class FileKind(StrEnum):
    """What a file holds, from its content and never from its name."""

    MODEL = "model"
    EMBEDDING = "embedding"
    RERANKER = "reranker"
    PROJECTOR = "projector"
    ADAPTER = "adapter"
    DRAFT = "draft"
    IMAGE = "image"
    AUDIO = "audio"
    VOCAB = "vocab"
    IMATRIX = "imatrix"
    SPLIT_PART = "split-part"
    NOT_GGUF = "not-gguf"
    UNKNOWN = "unknown"


class AttentionKind(StrEnum):
    """How keys and values are cached; decides the size of the KV cache."""

    GQA = "gqa"
    MLA = "mla"
    SLIDING_WINDOW = "sliding-window"
    HYBRID = "hybrid"
    RECURRENT = "recurrent"
    INDEXED_MLA = "indexed-mla"
    COMPRESSED = "compressed"
    NONE = "none"


class TensorClass(StrEnum):
    """What a tensor is for; the keys of a plan's `parts`."""

    ROUTED_EXPERTS = "routed_experts"
    SHARED_EXPERTS = "shared_experts"
    ROUTER = "router"
    ATTENTION = "attention"
    DENSE_FFN = "dense_ffn"
    TOKEN_EMBEDDING = "token_embedding"
    OUTPUT = "output"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One row of the tensor table.

    Attributes:
        name: As in the file, e.g. `blk.0.ffn_up_exps.weight`.
        shape: Elements per dimension, ggml order (ne[0] is the row length).
        type_name: ggml type, e.g. `Q4_K`; `type-200` when unknown.
        offset_bytes: From the start of the file's data section.
        size_bytes: None when the type is unknown.
        shard: Index of the file that holds it, from 0.
    """

    name: str
    shape: tuple[int, ...]
    type_name: str
    offset_bytes: int
    size_bytes: int | None
    shard: int = 0


@dataclass(frozen=True, slots=True)
class LayerFacts:
    """One block `blk.N`, its bytes by class.

    Attributes:
        index: N, from 0.
        bytes_by_class: Bytes of its tensors; classes without a tensor are absent.
        is_mtp: An extra multi-token-prediction block after the trunk; plain decoding does not run it.
        expert_count: Experts in its routed tensors; 0 for a block without.
    """

    index: int
    bytes_by_class: dict[TensorClass, int]
    is_mtp: bool = False
    expert_count: int = 0

    @property
    def routed_expert_bytes(self) -> int:
        """Bytes that `--n-cpu-moe` moves when it covers this block."""
        return self.bytes_by_class.get(TensorClass.ROUTED_EXPERTS, 0)


@dataclass(frozen=True, slots=True)
class AttentionFacts:
    """What sizes the KV cache and recurrent state. `None` = the file gives no value.

    Attributes:
        head_count_kv: Per layer, length `block_count`; 0 for a layer without a cache of its own.
        key_length: Elements of one key per head; value_length likewise. Where the file gives none, the
            even share of the embedding, as llama.cpp takes it.
        key_length_swa: The same for windowed layers where they differ; value_length_swa likewise.
        kv_lora_rank: Latent width of MLA.
        rope_dimension_count: Rotary part of an MLA key.
        indexer_key_length: Elements of one indexer key per token and layer (sparse attention).
        sliding_window: Tokens seen by windowed layers.
        windowed_layers: Per layer, True when windowed.
        recurrent_layers: Per layer, True when it keeps a state instead of a cache.
        state_bytes_per_layer: f32 bytes of one recurrent layer's state per sequence.
        compress_ratios: Per layer, deepseek4: 0, 4 or 128.
        indexed_layers: Per layer, True when it has an indexer of its own; the others use the choice of the
            one before. Empty: all have, if any.
    """

    kind: AttentionKind = AttentionKind.NONE
    head_count: int | None = None
    head_count_kv: tuple[int, ...] = ()
    key_length: int | None = None
    value_length: int | None = None
    key_length_swa: int | None = None
    value_length_swa: int | None = None
    kv_lora_rank: int | None = None
    rope_dimension_count: int | None = None
    indexer_key_length: int | None = None
    sliding_window: int | None = None
    windowed_layers: tuple[bool, ...] = ()
    recurrent_layers: tuple[bool, ...] = ()
    state_bytes_per_layer: int | None = None
    compress_ratios: tuple[int, ...] = ()
    indexed_layers: tuple[bool, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Everything the header of a model says, over all its shards. `None` = no value given.

    Attributes:
        path: The file the engine must be given: the first shard of a split model.
        files: All parts in order.
        size_bytes: Sum over `files` as they lie on disk.
        block_count: `<arch>.block_count`; trunk_layers plus mtp_layers.
        layers: One per block that has tensors, by index.
        expert_count: From the tensors where they tell, else from `<arch>.expert_count`.
        expert_count_key: What `<arch>.expert_count` says.
        expert_shared_count: Experts per layer that every token uses, from the key, else from the tensors.
        quantization: The type that holds most bytes of routed experts, or of all weights if dense.
        file_type: What `general.file_type` says of the file as a whole, e.g. `Q4_K_M`.
        embedding_length: Width of the residual stream.
        vocabulary_size: Tokens.
        parameter_count: Elements of all weights.
        tensors: The whole table over all shards.
        bytes_outside_layers: Token embedding, output and other tensors without a block index.
        kv_overrides: Metadata the engine must be given for this file to load (`gguf/repair.py`).
        needs_chatml: Its own chat template was tried and cannot be used (`parsing/template_findings.py`).
    """

    path: Path
    kind: FileKind
    architecture: str | None = None
    name: str | None = None
    files: tuple[Path, ...] = ()
    size_bytes: int = 0
    tensor_count: int = 0
    block_count: int | None = None
    trunk_layers: int | None = None
    mtp_layers: int = 0
    layers: tuple[LayerFacts, ...] = ()
    expert_count: int = 0
    expert_count_key: int | None = None
    expert_used_count: int | None = None
    expert_shared_count: int | None = None
    has_old_expert_layout: bool = False
    quantization: str | None = None
    file_type: str | None = None
    context_length: int | None = None
    embedding_length: int | None = None
    vocabulary_size: int | None = None
    parameter_count: int | None = None
    chat_template: str | None = None
    attention: AttentionFacts = field(default_factory=AttentionFacts)
    tensors: tuple[TensorInfo, ...] = ()
    bytes_outside_layers: dict[TensorClass, int] = field(default_factory=dict)
    kv_overrides: tuple[tuple[str, bool | int | float | str], ...] = ()
    needs_chatml: bool = False

    @property
    def is_moe(self) -> bool:
        """True when the file has routed experts."""
        return self.expert_count > 0

    @property
    def quantization_name(self) -> str | None:
        """The quantization as people call it: what the file says, unless its tensors say otherwise."""
        types = {tensor.type_name for tensor in self.tensors}
        is_true = self.file_type is not None and is_borne_out(self.file_type, types)
        return self.file_type if is_true else self.quantization

    @property
    def has_chat_template(self) -> bool:
        """True when the header carries `tokenizer.chat_template`."""
        return self.chat_template is not None

    @property
    def prompt_template(self) -> str | None:
        """The model's template as far as prompts are made with it; None for ChatML."""
        return None if self.needs_chatml else self.chat_template

    @property
    def expert_layers(self) -> tuple[LayerFacts, ...]:
        """Blocks with routed experts, the extra MTP block included where it has some."""
        return tuple(layer for layer in self.layers if layer.expert_count or layer.routed_expert_bytes)

    @property
    def routed_expert_bytes(self) -> int:
        """Bytes of all routed experts: what the MoE control moves."""
        return sum(layer.routed_expert_bytes for layer in self.layers)

    @property
    def shared_expert_bytes(self) -> int:
        """Bytes of the experts every token uses; they stay with attention."""
        return sum(layer.bytes_by_class.get(TensorClass.SHARED_EXPERTS, 0) for layer in self.layers)
