"""The sizes that make a model of an architecture: one set for tiny files, one for each real model."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StateSpace:
    """Linear attention of qwen3next: `ssm.*`."""

    state: int
    key_heads: int
    value_heads: int
    conv_kernel: int = 4

    @property
    def inner_width(self) -> int:
        """Elements of all value heads."""
        return self.state * self.value_heads

    @property
    def mixed_width(self) -> int:
        """Elements of queries, keys and values together."""
        return 2 * self.state * self.key_heads + self.inner_width


@dataclass(frozen=True, slots=True)
class Indexer:
    """Sparse attention's small heads: `attention.indexer.*`."""

    heads: int
    width: int
    top_k: int


@dataclass(frozen=True, slots=True)
class Latent:
    """Multi-head latent attention.

    Attributes:
        q_rank: 0 where queries are not compressed.
        plain_width: Elements of a head's key without position.
    """

    q_rank: int = 32
    kv_rank: int = 32
    plain_width: int = 16
    value_width: int = 16


@dataclass(frozen=True, slots=True)
class Streams:
    """What DeepSeek-V4 alone has: hyper-connections, grouped output, hash-routed layers.

    Attributes:
        count: Parallel residual streams.
        compress_ratios: Per layer: 0, 4 or 128.
    """

    count: int
    sinkhorn: int
    output_groups: int
    output_rank: int
    hash_layers: int
    compress_ratios: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Dimensions:
    """Sizes of one model; the defaults make a tiny one.

    Attributes:
        layers: Of the trunk; `mtp_layers` extra prediction blocks follow.
        ffn_width: Of dense layers, and of experts where the architecture has no key of their own.
        shared_width: Of the shared expert where it has a key of its own.
        leading_dense: Layers without experts before the first with.
        moe_step: Every so many layers have experts.
        full_interval: Every so many layers have full attention.
    """

    layers: int = 2
    embedding: int = 64
    heads: int = 4
    kv_heads: int = 2
    head_width: int = 16
    ffn_width: int = 96
    expert_width: int = 32
    shared_width: int = 64
    experts: int = 8
    used: int = 2
    shared: int = 1
    tokens: int = 320
    context: int = 256
    leading_dense: int = 1
    epsilon: float = 1e-5
    rope_base: float = 10000.0
    rope_width: int = 16
    window: int = 128
    is_tied: bool = False
    mtp_layers: int = 0
    has_mtp_embedding: bool = False
    has_qk_norm: bool = True
    has_expert_bias: bool = True
    gating: int = 2
    normalizes: bool = True
    scale: float = 1.0
    moe_step: int = 1
    full_interval: int = 4
    latent: Latent = Latent()
    state_space: StateSpace = StateSpace(32, 2, 4)
    indexer: Indexer = Indexer(4, 128, 64)
    streams: Streams = Streams(4, 2, 2, 32, 1, (0, 0, 4, 128))

    @property
    def blocks(self) -> int:
        """What `block_count` says."""
        return self.layers + self.mtp_layers

    @property
    def q_width(self) -> int:
        """Elements of all query heads."""
        return self.heads * self.head_width

    @property
    def kv_width(self) -> int:
        """Elements of all key heads."""
        return self.kv_heads * self.head_width
