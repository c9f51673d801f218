"""What the card of sizes says, decided without a language. Pure."""

from dataclasses import dataclass

from app.gguf.anatomy import Anatomy, TypeShare
from app.gguf.facts import FileKind, TensorClass
from app.texts import NO_VALUE, format_bytes
from app.ui.views.model_details.facts import ModelDetailsFacts
from app.ui.views.model_details.numbers import bits_text, context_text, parameters_text, range_text
from app.ui.views.words import Words


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure: what it is, how much, and what that is of."""

    name: Words
    value: str
    detail: Words | None = None


@dataclass(frozen=True, slots=True)
class ClassRow:
    """One class of tensors and the types it is stored in, the one with most bytes first."""

    kind: TensorClass
    size_bytes: int
    shares: tuple[TypeShare, ...]


def figures_of(details: ModelDetailsFacts) -> tuple[Figure, ...]:
    """Return the figures in the order shown; those of experts only for a model that has some."""
    experts = _expert_figures(details) if details.anatomy.expert_layers else ()
    return (*experts, *_token_figures(details), *_cache_figures(details))


def class_rows(anatomy: Anatomy) -> tuple[ClassRow, ...]:
    """Return the classes that have tensors, those with most bytes first."""
    rows = [
        ClassRow(kind, sum(share.size_bytes for share in shares), shares)
        for kind, shares in anatomy.types_by_class.items()
    ]
    return tuple(sorted(rows, key=lambda row: -row.size_bytes))


def _expert_figures(details: ModelDetailsFacts) -> tuple[Figure, ...]:
    facts, anatomy = details.facts, details.anatomy
    sizes = anatomy.expert_bytes_range
    layers = [layer.routed_bytes for layer in anatomy.expert_layers if not layer.is_mtp]
    one = range_text(*sizes) if sizes else NO_VALUE
    of_layer = range_text(min(layers), max(layers)) if layers else NO_VALUE
    counts = {"used": facts.expert_used_count, "experts": facts.expert_count}
    return (
        Figure(Words("ui.details.expert"), one, Words("ui.details.expert.detail", counts)),
        Figure(
            Words("ui.details.layer"),
            of_layer,
            Words("ui.details.layer.detail", {"layers": len(layers), "share": anatomy.expert_share}),
        ),
    )


def _token_figures(details: ModelDetailsFacts) -> tuple[Figure, ...]:
    facts, anatomy = details.facts, details.anatomy
    read = NO_VALUE if anatomy.bytes_per_token is None else format_bytes(anatomy.bytes_per_token)
    experts = bits_text(anatomy.expert_bits_per_weight)
    bits = Words("ui.details.bits.experts", {"bits": experts}) if anatomy.expert_layers else None
    whole = Words("ui.details.active.detail", {"total": parameters_text(facts.parameter_count)})
    of_bits = Figure(Words("ui.details.bits"), bits_text(anatomy.bits_per_weight), bits)
    if facts.kind is FileKind.PROJECTOR:
        return (of_bits,)  # it is read for each picture, not for each token
    return (
        Figure(Words("ui.details.read"), read, Words("ui.details.read.detail", {"size": facts.size_bytes})),
        Figure(Words("ui.details.active"), parameters_text(anatomy.active_parameter_count), whole),
        of_bits,
    )


def _cache_figures(details: ModelDetailsFacts) -> tuple[Figure, ...]:
    return tuple(
        Figure(
            Words("ui.details.cache", {"context": context_text(cache.tokens)}),
            format_bytes(cache.size_bytes),
            Words(
                "ui.details.cache.full" if cache.is_full else "ui.details.cache.type",
                {"type": details.kv_type},
            ),
        )
        for cache in details.caches
    )
