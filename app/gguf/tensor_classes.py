"""What a tensor is for, from its name.

Routed experts are what llama.cpp's `--cpu-moe` moves, weights, biases and scales alike: its pattern in
common/common.h is `ffn_(up|down|gate|gate_up)_(ch|)exps`. The layout of 2023 had one tensor per expert.
"""

import re
from functools import lru_cache
from typing import Final

from app.gguf.facts import TensorClass

_BLOCK: Final = re.compile(r"(?:enc\.|dec\.)?blk\.(\d{1,6})\.(.+)", re.DOTALL)
_ROUTED: Final = re.compile(r"ffn_(?:up|down|gate|gate_up)_(ch)?exps")
_OLD_ROUTED: Final = re.compile(r"ffn_(?:up|down|gate)\.(\d{1,6})\.")
_SHARED: Final = re.compile(r"ffn_(?:up|down|gate|gate_up|gate_inp)_shexp")
_ROUTER: Final = re.compile(r"ffn_gate_inp|exp_probs_b|ffn_gate_tid2eid|ffn_exp_probs_b")
_MIXER: Final = re.compile(r"attn_|ssm_|indexer|shortconv|time_mix|cross_attn|post_attention_norm|post_attn")
_DENSE: Final = re.compile(r"ffn_|channel_mix|layer_output_norm|post_ffw")


_REMEMBERED_NAMES: Final = 8192
_LONGEST_REMEMBERED: Final = 128
"""Every rule asks for the names again, and the models of a folder share theirs. Engines take 63 bytes."""


def split_block(name: str) -> tuple[int | None, str]:
    """Return the block index of `blk.N.rest` and the rest; None for a tensor outside the blocks."""
    return _split_remembered(name) if len(name) <= _LONGEST_REMEMBERED else _split(name)


def tensor_class(name: str) -> TensorClass:
    """Return what the tensor of this name is for."""
    return _class_remembered(name) if len(name) <= _LONGEST_REMEMBERED else _class(name)


def _split(name: str) -> tuple[int | None, str]:
    found = _BLOCK.match(name)
    return (int(found[1]), found[2]) if found else (None, name)


def _class(name: str) -> TensorClass:
    block, rest = split_block(name)
    if block is None:
        return _class_outside(rest)
    if _ROUTED.match(rest) or _OLD_ROUTED.match(rest):
        return TensorClass.ROUTED_EXPERTS
    if _SHARED.match(rest):
        return TensorClass.SHARED_EXPERTS
    if _ROUTER.match(rest):
        return TensorClass.ROUTER
    if _MIXER.match(rest):
        return TensorClass.ATTENTION
    return TensorClass.DENSE_FFN if _DENSE.match(rest) else TensorClass.OTHER


def merged_experts(name: str, shape: tuple[int, ...]) -> int | None:
    """Return how many experts a merged weight holds; None for any other tensor.

    Chunk experts (`_chexps`) are fewer than the experts and do not count. A last dimension of 1 may be left
    out.
    """
    found = _ROUTED.match(split_block(name)[1])
    if not found or found[1] or not name.endswith(".weight"):
        return None
    return shape[2] if len(shape) > 2 else 1


def old_layout_expert(name: str) -> int | None:
    """Return the expert index of `blk.N.ffn_up.X.weight`, the layout no current engine loads."""
    block, rest = split_block(name)
    found = _OLD_ROUTED.match(rest) if block is not None else None
    return int(found[1]) if found else None


def _class_outside(name: str) -> TensorClass:
    if name.startswith(("token_embd", "per_layer_token_embd", "token_types", "position_embd")):
        return TensorClass.TOKEN_EMBEDDING
    return TensorClass.OUTPUT if name.startswith("output") else TensorClass.OTHER


_split_remembered: Final = lru_cache(_REMEMBERED_NAMES)(_split)
_class_remembered: Final = lru_cache(_REMEMBERED_NAMES)(_class)
