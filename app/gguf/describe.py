"""Headers of one model -> ModelFacts. Any architecture, by its prefix."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from app.gguf.attention import attention_facts
from app.gguf.facts import FileKind, LayerFacts, ModelFacts, TensorClass, TensorInfo
from app.gguf.file_types import file_type_name
from app.gguf.kind import file_kind
from app.gguf.layers import sum_tensors
from app.gguf.metadata import Metadata
from app.gguf.reader import GgufHeader

CHAT_TEMPLATE: Final = "tokenizer.chat_template"


def describe(headers: Sequence[GgufHeader], files: Sequence[Path]) -> ModelFacts:
    """Return the facts of a model from the headers of its parts.

    Args:
        headers: Of every readable part in order, at least one; the first carries the architecture.
        files: All parts in order, unreadable ones too.
    """
    metadata = Metadata(headers[0].keys)
    tensors = tuple(tensor for header in headers for tensor in header.tensors)
    block_count = metadata.integer("block_count")
    mtp_layers = _mtp_layers(metadata, block_count)
    trunk_layers = None if block_count is None else block_count - mtp_layers
    sums = sum_tensors(tensors, trunk_layers if mtp_layers else None)
    expert_count_key = _one_count(metadata)
    layer_count = block_count if block_count is not None else len(sums.layers)
    return ModelFacts(
        path=files[0],
        kind=_kind(metadata, tensors, headers),
        architecture=metadata.architecture,
        name=metadata.string("general.name"),
        files=tuple(files),
        size_bytes=sum(_size_on_disk(file) for file in files),
        tensor_count=len(tensors),
        block_count=block_count,
        trunk_layers=trunk_layers,
        mtp_layers=mtp_layers,
        layers=sums.layers,
        expert_count=expert_count_of(sums.layers) or _plausible(expert_count_key),
        expert_count_key=expert_count_key,
        expert_used_count=metadata.integer("expert_used_count"),
        expert_shared_count=_shared_experts(metadata, sums.layers),
        has_old_expert_layout=sums.has_old_expert_layout,
        quantization=sums.quantization,
        file_type=file_type_name(metadata.number("general.file_type")),
        context_length=metadata.integer("context_length") or None,
        embedding_length=metadata.integer("embedding_length"),
        vocabulary_size=_vocabulary_size(metadata, tensors),
        parameter_count=sum(math.prod(tensor.shape) for tensor in tensors) if tensors else None,
        chat_template=metadata.string(CHAT_TEMPLATE),
        attention=attention_facts(metadata, layer_count, tensors),
        tensors=tensors,
        bytes_outside_layers=sums.bytes_outside_layers,
    )


def expert_count_of(layers: Sequence[LayerFacts]) -> int:
    """Return the experts per layer as the tensors hold them; 0 without expert tensors."""
    return max((layer.expert_count for layer in layers), default=0)


def _kind(metadata: Metadata, tensors: Sequence[TensorInfo], headers: Sequence[GgufHeader]) -> FileKind:
    number = headers[0].keys.get("split.no")
    if isinstance(number, int) and number > 0 and metadata.architecture is None:
        return FileKind.SPLIT_PART
    return file_kind(metadata, tensors)


def _mtp_layers(metadata: Metadata, block_count: int | None) -> int:
    extra = metadata.integer("nextn_predict_layers") or 0
    return extra if block_count is not None and 0 < extra < block_count else 0


def _one_count(metadata: Metadata) -> int | None:
    """Return `expert_count`; engines take one number for all layers and refuse a list."""
    is_list = isinstance(metadata.raw("expert_count"), tuple)
    return None if is_list else metadata.integer("expert_count")


def _plausible(expert_count_key: int | None) -> int:
    # without merged tensors the key is all there is: a file cut short, or the layout of 2023
    return expert_count_key if expert_count_key is not None and 0 < expert_count_key <= 1024 else 0


def _shared_experts(metadata: Metadata, layers: Sequence[LayerFacts]) -> int | None:
    """Return the experts of a layer that every token uses; several lie in one tensor, which a key tells."""
    is_moe = expert_count_of(layers) > 0
    has_some = any(TensorClass.SHARED_EXPERTS in layer.bytes_by_class for layer in layers)
    key = metadata.integer("expert_shared_count")
    return key or int(has_some) if is_moe else key


def _vocabulary_size(metadata: Metadata, tensors: Sequence[TensorInfo]) -> int | None:
    listed = metadata.length("tokenizer.ggml.tokens") or metadata.integer("vocab_size")
    if listed:
        return listed
    rows = [t.shape[1] for t in tensors if t.name == "token_embd.weight" and len(t.shape) > 1]
    return rows[0] if rows else None


def _size_on_disk(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0
