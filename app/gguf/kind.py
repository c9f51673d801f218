"""What a file holds, from its keys and tensor names, never from its file name."""

import re
from collections.abc import Sequence
from typing import Final

from app.gguf.facts import FileKind, TensorInfo
from app.gguf.metadata import Metadata

POOLING_NONE: Final = 0
POOLING_RANK: Final = 4
"""`<arch>.pooling_type`; 1 to 3 make one vector of a text (llama.h, `llama_pooling_type`)."""

_IMAGE_TENSORS: Final = re.compile(
    r"(model\.diffusion_model|diffusion_model|first_stage_model|double_blocks|single_blocks|joint_blocks"
    r"|single_transformer_blocks|transformer_blocks|input_blocks|double_layers|context_refiner"
    r"|cap_embedder|caption_projection|adaln_single|patch_embedding|x_embedder|img_in)\."
)
_AUDIO_WORDS: Final = re.compile(
    r"whisper|wavtokenizer|tts|kokoro|vocoder|codec|snac|bark|vocos|parakeet|parler|chatterbox|conformer"
)
_DRAFT_WORDS: Final = re.compile(r"eagle|dflash|medusa|(^|[-_])(mtp|draft|assistant)$")
_EMBEDDING_WORDS: Final = re.compile(r"bert|embed|t5encoder")

_TYPES: Final = {
    "mmproj": FileKind.PROJECTOR,
    "clip-vision": FileKind.PROJECTOR,
    "adapter": FileKind.ADAPTER,
    "imatrix": FileKind.IMATRIX,
}


def file_kind(metadata: Metadata, tensors: Sequence[TensorInfo]) -> FileKind:
    """Return the kind of a whole file or model.

    Keys decide; names of architectures only where no key and no tensor tells, as for picture models, whose
    files carry nothing but a name.
    """
    declared = _TYPES.get(metadata.string("general.type") or "")
    if declared is not None and not _is_whole_model(metadata, tensors):
        return declared
    kind = _kind_by_content(metadata, tensors)
    if kind is not None:
        return kind
    if metadata.architecture is None:
        return FileKind.SPLIT_PART if metadata.number("split.count") else FileKind.UNKNOWN
    if not tensors:
        has_tokens = metadata.length("tokenizer.ggml.tokens") is not None
        return FileKind.VOCAB if has_tokens else FileKind.UNKNOWN
    return _kind_of_model(metadata, tensors)


def _is_whole_model(metadata: Metadata, tensors: Sequence[TensorInfo]) -> bool:
    """Return whether this is a model whatever it calls itself; engines do not look at `general.type`."""
    names = {tensor.name for tensor in tensors}
    return {"token_embd.weight", "output_norm.weight"} <= names and metadata.has("block_count")


def _kind_by_content(metadata: Metadata, tensors: Sequence[TensorInfo]) -> FileKind | None:
    architecture = metadata.architecture or ""
    names = [tensor.name for tensor in tensors]
    if architecture == "clip" or metadata.has_prefix("clip."):
        return FileKind.PROJECTOR
    if (
        metadata.has_prefix("adapter.")
        or architecture == "controlvector"
        or (names and all(name.endswith((".lora_a", ".lora_b")) for name in names))
    ):
        return FileKind.ADAPTER
    if metadata.has_prefix("imatrix.") or (names and all(_is_imatrix(name) for name in names)):
        return FileKind.IMATRIX
    has_blocks = any(name.startswith(("blk.", "token_embd")) for name in names)
    if not has_blocks and any(_IMAGE_TENSORS.match(name) for name in names):
        return FileKind.IMAGE
    if _AUDIO_WORDS.search(architecture) or metadata.has("posnet.block_count"):
        return FileKind.AUDIO
    return None


def _kind_of_model(metadata: Metadata, tensors: Sequence[TensorInfo]) -> FileKind:
    architecture = metadata.architecture or ""
    names = {tensor.name for tensor in tensors}
    if _DRAFT_WORDS.search(architecture) or "d2t" in names or "d2t.weight" in names:
        return FileKind.DRAFT
    pooling = metadata.integer("pooling_type")
    if pooling == POOLING_RANK or metadata.has("classifier.output_labels"):
        return FileKind.RERANKER
    if pooling not in (None, POOLING_NONE) or _EMBEDDING_WORDS.search(architecture):
        return FileKind.EMBEDDING
    if any(name.startswith(("token_embd", "blk.", "output", "dec.", "enc.")) for name in names):
        return FileKind.MODEL
    return FileKind.UNKNOWN


def _is_imatrix(name: str) -> bool:
    return name.endswith((".in_sum2", ".counts"))
