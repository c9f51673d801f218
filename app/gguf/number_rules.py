"""Numbers that engines divide by, count loops with or assert, where another one ends them or never ends.

Each rule is one that llama.cpp dies or hangs of, found by trying every key of 17 architectures with absurd
numbers (llama-cpp-python 0.3.36).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from app.findings import Finding, FindingCode, error
from app.gguf.describe import expert_count_of
from app.gguf.facts import ModelFacts
from app.gguf.head_counts import has_latent_heads
from app.gguf.known_names import is_known_architecture
from app.gguf.metadata import LARGEST_COUNT, Metadata
from app.gguf.tensor_classes import split_block

_LARGEST_WINDOW: Final = 2**24
"""Tokens; engines keep a list as long, and no model looks back so far."""

_WITH_HEADS: Final = ("attn_q.weight", "attn_qkv.weight")

_GATING_FUNCTIONS: Final = 4
_GATING_NEEDED: Final = frozenset(
    {
        *("bailingmoe2", "bailingmoe3", "deepseek32", "dots1", "dots3note", "exaone-moe", "hy_v4", "kimi-k3"),
        *("kimi-linear", "lfm2moe", "minimax-m2", "minimax-m3", "smallthinker"),
    }
)
"""Architectures without a function of their own for scoring experts: 0 or nothing ends the engine."""

_NOTHING_TURNED: Final = frozenset(
    {
        *("arwkv7", "bloom", "glm5-next", "gpt2", "gptj", "jais", "jamba", "jina-bert-v2", "kimi-k3"),
        *("kimi-linear", "mamba", "mamba2", "mpt", "nemotron_h", "nemotron_h_moe", "refact", "rwkv6"),
        *("rwkv6qwen2", "rwkv7", "t5", "t5encoder", "wavtokenizer-dec"),
    }
)
"""Architectures that turn nothing by its position (`LLAMA_ROPE_TYPE_NONE`)."""

_MOST_ROUNDS: Final = 1000
"""Of a loop in each layer for each token; models have 20."""

_MOST_STEP: Final = 512


@dataclass(frozen=True, slots=True)
class _Range:
    """What a key may hold.

    Attributes:
        step: The number is a multiple of it; None for any.
        whole: The number divides it; None for any.
        is_needed: Engines die without, and do not ask for it.
    """

    name: str
    least: int
    most: int
    step: int | None = None
    whole: int | None = None
    is_needed: bool = False

    def holds(self, number: int) -> bool:
        """Return whether a number will do."""
        is_even = not self.step or number % self.step == 0
        is_part = not self.whole or number == 0 or self.whole % number == 0
        return self.least <= number <= self.most and is_even and is_part


def number_findings(facts: ModelFacts, metadata: Metadata) -> Iterator[Finding]:
    """Return the findings on numbers that engines die or hang of, be they absurd or not there."""
    for allowed in _ranges(facts, metadata):
        stored = metadata.raw(allowed.name)
        found = stored if isinstance(stored, int) and not isinstance(stored, bool) else None
        is_right = allowed.holds(found) if found is not None else stored is not None or not allowed.is_needed
        if is_right:
            continue
        yield error(
            FindingCode.NUMBER_UNUSABLE,
            key=metadata.full_name(allowed.name),
            found=found,
            least=allowed.least,
            most=allowed.most,
            step=allowed.step,
            whole=allowed.whole,
        )


def _ranges(facts: ModelFacts, metadata: Metadata) -> Iterator[_Range]:
    yield from _heads(facts, metadata)
    yield from _turned(facts, metadata)
    yield from _expert_ranges(facts, metadata)
    yield from _window_ranges(facts)
    if facts.block_count:
        is_draft = any("nextn." in tensor.name for tensor in facts.tensors)  # which may be nothing else
        yield _Range("nextn_predict_layers", 0, facts.block_count - (not is_draft))
    if facts.architecture == "deepseek4":
        yield _Range("attention.output_group_count", 1, max(1, metadata.integer("attention.head_count") or 1))
        yield _Range("hyper_connection.sinkhorn_iterations", 1, _MOST_ROUNDS)
    if _scales_by_length(facts, metadata):
        yield _Range("attention.temperature_length", 1, LARGEST_COUNT, is_needed=True)


def _heads(facts: ModelFacts, metadata: Metadata) -> Iterator[_Range]:
    """Where no width of a head is stated, it is an even share of the model's."""
    has_heads = any(split_block(tensor.name)[1] in _WITH_HEADS for tensor in facts.tensors)
    embedding = facts.embedding_length
    if embedding and has_heads:  # none at all has a finding of its own
        whole = None if metadata.has("attention.key_length") else embedding
        yield _Range("attention.head_count", 0, whole or LARGEST_COUNT, whole=whole, is_needed=True)


def _turned(facts: ModelFacts, metadata: Metadata) -> Iterator[_Range]:
    """Engines turn a head in pairs of numbers, and wait for ever where there are none."""
    has_heads = any(split_block(tensor.name)[1].startswith("attn_") for tensor in facts.tensors)
    width = facts.attention.key_length
    if facts.architecture in _NOTHING_TURNED or not has_heads or not width:
        return
    if has_latent_heads(facts, metadata):  # some of the head must be left unturned
        width = max(2, (metadata.integer("attention.key_length_mla") or width) - 1)
    yield _Range("rope.dimension_count", 2, max(2, width), step=2)
    yield _Range("rope.dimension_count_swa", 2, max(2, facts.attention.key_length_swa or width), step=2)


def _expert_ranges(facts: ModelFacts, metadata: Metadata) -> Iterator[_Range]:
    held = expert_count_of(facts.layers)
    if facts.has_old_expert_layout:
        return
    yield _Range("expert_group_count", 0, max(0, held - 1), whole=held or None)
    groups = metadata.integer("expert_group_count") or 0
    if groups > 1:
        yield _Range("expert_group_used_count", 1, groups - 1, is_needed=True)
    if held and is_known_architecture(facts.architecture or ""):
        is_needed = facts.architecture in _GATING_NEEDED
        yield _Range("expert_gating_func", int(is_needed), _GATING_FUNCTIONS, is_needed=is_needed)
    if held:
        yield _Range("interleave_moe_layer_step", 1, _MOST_STEP)


def _window_ranges(facts: ModelFacts) -> Iterator[_Range]:
    least = int(facts.architecture == "llama4")  # which takes 0 for no window, and scales by it all the same
    if facts.attention.windowed_layers or least:
        yield _Range("attention.sliding_window", least, _LARGEST_WINDOW)
    is_used = bool(facts.attention.sliding_window) and bool(facts.attention.windowed_layers)
    if is_used and not any(facts.attention.windowed_layers):
        yield _Range("attention.sliding_window_pattern", 2, _MOST_STEP)


def _scales_by_length(facts: ModelFacts, metadata: Metadata) -> bool:
    scale = metadata.raw("attention.temperature_scale")
    return facts.architecture == "deepseek2" and isinstance(scale, float) and scale != 0.0
