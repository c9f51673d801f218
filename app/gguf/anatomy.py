"""What a model's bytes are: of one expert, of one token, of each class and type. Pure."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from app.findings import Finding, FindingCode, note
from app.gguf.facts import LayerFacts, ModelFacts, TensorClass, TensorInfo
from app.gguf.tensor_classes import split_block, tensor_class

_ROUTER_WEIGHT: Final = "ffn_gate_inp.weight"
_HASH_TABLE: Final = "ffn_gate_tid2eid"
"""deepseek4's first layers look their experts up by the token: one row of this table, which holds numbers of
experts and no parameters."""

_OUTPUT_WEIGHT: Final = "output.weight"
_EMBEDDING_WEIGHT: Final = "token_embd.weight"
_WHOLE_FLOATS: Final = frozenset({"F64", "F32", "F16", "BF16"})


@dataclass(frozen=True, slots=True)
class TypeShare:
    """What of one tensor class is stored in one ggml type.

    Attributes:
        size_bytes: 0 for a type this program does not know.
    """

    type_name: str
    tensor_count: int
    size_bytes: int
    element_count: int

    @property
    def bits_per_weight(self) -> float | None:
        """Bits per element; None for an unknown type."""
        return self.size_bytes * 8 / self.element_count if self.size_bytes and self.element_count else None


@dataclass(frozen=True, slots=True)
class ExpertLayer:
    """The routed experts of one block.

    Attributes:
        expert_bytes: Of one expert; chunk experts, of which there are fewer, are left out.
        routed_bytes: Of all of them, chunk experts included.
    """

    index: int
    expert_count: int
    expert_bytes: int
    routed_bytes: int
    is_mtp: bool


@dataclass(frozen=True, slots=True)
class Anatomy:
    """What one model's bytes are. `None` = the file does not tell.

    Attributes:
        expert_layers: Blocks with routed experts, MTP blocks included.
        expert_share: Of the bytes of all tensors, what routed experts take, 0..1.
        active_parameter_count: Parameters that one token goes through: all but the experts it does not use.
            Of the token embedding one row, or all of it where it is the output as well; of MTP blocks none.
            OpenAI, DeepSeek and Moonshot count so; Qwen, Mistral and Meta add the whole embedding.
        bytes_per_token: The bytes of those, read for each token. None where a type is unknown.
        types_by_class: Per class that has tensors, its types, the one with most bytes first.
        router_types: Of the weights that choose the experts, the commonest first; empty without experts.
        bits_per_weight: Over all tensors of known type; `expert_bits_per_weight` over the routed experts.
    """

    expert_layers: tuple[ExpertLayer, ...]
    expert_share: float
    active_parameter_count: int | None
    bytes_per_token: int | None
    types_by_class: Mapping[TensorClass, tuple[TypeShare, ...]]
    router_types: tuple[str, ...]
    bits_per_weight: float | None
    expert_bits_per_weight: float | None

    @property
    def expert_bytes_range(self) -> tuple[int, int] | None:
        """Bytes of the smallest and the largest single expert of the layers that plain decoding runs."""
        sizes = [
            layer.expert_bytes for layer in self.expert_layers if not layer.is_mtp and layer.expert_bytes
        ]
        return (min(sizes), max(sizes)) if sizes else None

    @property
    def is_router_quantized(self) -> bool:
        """A router is stored in less than 16 bits, which no converter does by itself."""
        return not _WHOLE_FLOATS.issuperset(self.router_types)


@dataclass(frozen=True, slots=True)
class _Piece:
    """One tensor as the sums want it: `block` is None outside the blocks."""

    tensor: TensorInfo
    block: int | None
    kind: TensorClass
    elements: int

    @property
    def is_chunk_expert(self) -> bool:
        return "_chexps" in self.tensor.name

    @property
    def rows(self) -> int:
        return max(1, math.prod(self.tensor.shape[1:]))


def anatomy_of(facts: ModelFacts) -> Anatomy:
    """Return what the bytes of a model are."""
    pieces = [_piece(tensor) for tensor in facts.tensors]
    mtp = {layer.index for layer in facts.layers if layer.is_mtp}
    run = [piece for piece in pieces if piece.block not in mtp]
    counts = {layer.index: layer.expert_count or facts.expert_count for layer in facts.layers}
    is_known = all(piece.tensor.size_bytes is not None for piece in run)
    used = _used_count(facts)
    has_answer = bool(run) and (used is not None or not facts.is_moe)
    routed = [piece for piece in pieces if piece.kind is TensorClass.ROUTED_EXPERTS]
    whole = sum(_size(piece) for piece in pieces)
    return Anatomy(
        expert_layers=tuple(_expert_layers(facts.layers, routed, counts)),
        expert_share=sum(_size(piece) for piece in routed) / whole if whole else 0.0,
        active_parameter_count=_used_in_all(run, counts, used, _elements) if has_answer else None,
        bytes_per_token=_used_in_all(run, counts, used, _size) if has_answer and is_known else None,
        types_by_class=_types_by_class(pieces),
        router_types=router_types(facts),
        bits_per_weight=_bits_per_weight(pieces),
        expert_bits_per_weight=_bits_per_weight(routed),
    )


def router_types(facts: ModelFacts) -> tuple[str, ...]:
    """Return the types of the weights that choose the experts, the commonest first."""
    if not facts.is_moe:
        return ()
    routers = Counter(t.type_name for t in facts.tensors if split_block(t.name)[1] == _ROUTER_WEIGHT)
    return tuple(name for name, _ in routers.most_common())


def router_findings(facts: ModelFacts) -> Iterator[Finding]:
    """Note a router in less than 16 bits: llama-quantize leaves `ffn_gate_inp.weight` as it is."""
    lossy = tuple(name for name in router_types(facts) if name not in _WHOLE_FLOATS)
    if lossy:
        yield note(FindingCode.ROUTER_QUANTIZED, file=facts.path.name, types=lossy)


def _elements(piece: _Piece) -> int:
    return piece.elements


def _size(piece: _Piece) -> int:
    return piece.tensor.size_bytes or 0


def _piece(tensor: TensorInfo) -> _Piece:
    block, _ = split_block(tensor.name)
    return _Piece(tensor, block, tensor_class(tensor.name), math.prod(tensor.shape))


def _used_count(facts: ModelFacts) -> int | None:
    used = facts.expert_used_count
    return used if used is not None and 0 < used <= facts.expert_count else None


def _used_part(piece: _Piece, whole: int, counts: Mapping[int, int], used: int | None) -> int:
    """Return what of `whole` bytes or elements of a routed tensor one token uses.

    Of chunk experts as many as of the others, or all where there are fewer.
    """
    count = counts.get(piece.block or 0, 0)
    if piece.is_chunk_expert and len(piece.tensor.shape) > 2:
        count = piece.tensor.shape[2]
    return whole * min(used or 0, count) // count if count else whole


def _used_in_all(
    run: Sequence[_Piece], counts: Mapping[int, int], used: int | None, whole_of: Callable[[_Piece], int]
) -> int:
    """Return how many of the bytes or elements of `run` one token uses."""
    is_tied = not any(piece.tensor.name == _OUTPUT_WEIGHT for piece in run)
    total = 0
    for piece in run:
        whole = whole_of(piece)
        is_output = is_tied and piece.tensor.name == _EMBEDDING_WEIGHT
        is_embedding = piece.kind is TensorClass.TOKEN_EMBEDDING and not is_output
        if piece.kind is TensorClass.ROUTED_EXPERTS:
            total += _used_part(piece, whole, counts, used)
        elif is_embedding or _HASH_TABLE in piece.tensor.name:
            total += whole // piece.rows
        else:
            total += whole
    return total


def _expert_layers(
    layers: Iterable[LayerFacts], routed: Iterable[_Piece], counts: Mapping[int, int]
) -> Iterator[ExpertLayer]:
    whole: Counter[int] = Counter()
    chunks: Counter[int] = Counter()
    for piece in routed:
        if piece.block is not None:
            (chunks if piece.is_chunk_expert else whole)[piece.block] += _size(piece)
    for layer in layers:
        size = whole[layer.index]
        if size or layer.expert_count:
            count = counts[layer.index]
            one = size // count if count else 0
            yield ExpertLayer(layer.index, count, one, size + chunks[layer.index], layer.is_mtp)


def _types_by_class(pieces: Iterable[_Piece]) -> dict[TensorClass, tuple[TypeShare, ...]]:
    sums: dict[TensorClass, dict[str, list[int]]] = {}
    for piece in pieces:
        of_type = sums.setdefault(piece.kind, {}).setdefault(piece.tensor.type_name, [0, 0, 0])
        for index, amount in enumerate((1, _size(piece), piece.elements)):
            of_type[index] += amount
    return {
        kind: tuple(
            sorted(
                (TypeShare(name, *amounts) for name, amounts in sums[kind].items()),
                key=lambda share: (-share.size_bytes, share.type_name),
            )
        )
        for kind in TensorClass
        if kind in sums
    }


def _bits_per_weight(pieces: Iterable[_Piece]) -> float | None:
    known = [piece for piece in pieces if piece.tensor.size_bytes is not None]
    elements = sum(piece.elements for piece in known)
    return sum(_size(piece) for piece in known) * 8 / elements if elements else None
