"""Two models fact by fact, and where they differ. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.gguf.anatomy import TypeShare
from app.gguf.display_name import display_name, file_title
from app.gguf.facts import TensorClass
from app.gguf.metadata_rows import MetadataRow
from app.texts import NO_VALUE, format_bytes
from app.ui.views.model_details.facts import ModelDetailsFacts
from app.ui.views.model_details.numbers import bits_text, context_text, parameters_text, range_text
from app.ui.views.words import Words

Cell = str | Words


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One fact of both models.

    Attributes:
        name: What is compared; a metadata key as it is.
        differs: The facts behind the two cells are not the same, however alike they read.
    """

    name: Cell
    left: Cell
    right: Cell
    differs: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two models side by side; of the metadata only what differs."""

    left_name: str
    right_name: str
    rows: tuple[ComparisonRow, ...]


def comparison_of(left: ModelDetailsFacts, right: ModelDetailsFacts) -> Comparison:
    """Compare two models."""
    both = (left, right)
    rows = [
        _row(name, cells, differs=cells[0] != cells[1])
        for name, cells in _facts_of(*(tuple(_described(details)) for details in both))
    ]
    rows += _class_rows(left, right)
    rows += _template_rows(left, right)
    rows += _metadata_rows(left.metadata, right.metadata)
    return Comparison(*_names(left, right), tuple(rows))


def _row(name: Cell, cells: Sequence[Cell], *, differs: bool) -> ComparisonRow:
    return ComparisonRow(name, cells[0], cells[1], differs)


def _names(left: ModelDetailsFacts, right: ModelDetailsFacts) -> tuple[str, str]:
    """Return what to call the two; by their files where both have one name."""
    titles = [file_title(details.facts.path) for details in (left, right)]
    names = [display_name(d.facts.name, title) for d, title in zip((left, right), titles, strict=True)]
    return (names[0], names[1]) if names[0] != names[1] else (titles[0], titles[1])


def _facts_of(
    left: Sequence[tuple[Words, Cell]], right: Sequence[tuple[Words, Cell]]
) -> Iterator[tuple[Words, tuple[Cell, Cell]]]:
    """Yield facts that either model has, in their order; a dash where one has none."""
    sides = [{_frozen(name): cell for name, cell in side} for side in (left, right)]
    names = {_frozen(name): name for name, _ in (*left, *right)}
    for key, name in names.items():
        yield name, (sides[0].get(key, NO_VALUE), sides[1].get(key, NO_VALUE))


def _frozen(words: Words) -> tuple[str, str]:
    return words.key, repr(sorted(words.values.items()))


def _described(details: ModelDetailsFacts) -> Iterator[tuple[Words, Cell]]:
    facts, anatomy = details.facts, details.anatomy
    yield Words("ui.compare.architecture"), facts.architecture or NO_VALUE
    yield Words("ui.compare.kind"), Words(f"word.{facts.kind.value}")
    yield Words("ui.compare.size"), format_bytes(facts.size_bytes)
    yield Words("ui.compare.parameters"), parameters_text(facts.parameter_count)
    yield Words("ui.details.active"), parameters_text(anatomy.active_parameter_count)
    yield Words("ui.compare.layers"), _number(facts.block_count)
    yield Words("ui.compare.experts"), _number(facts.expert_count or None)
    yield Words("ui.compare.used"), _number(facts.expert_used_count)
    yield Words("ui.compare.shared"), _number(facts.expert_shared_count)
    yield Words("ui.compare.attention"), Words(f"word.{facts.attention.kind.value}")
    yield Words("ui.compare.context"), context_text(facts.context_length)
    yield Words("ui.compare.vocabulary"), _number(facts.vocabulary_size)
    yield from _sizes(details)


def _sizes(details: ModelDetailsFacts) -> Iterator[tuple[Words, Cell]]:
    anatomy = details.anatomy
    layers = [layer.routed_bytes for layer in anatomy.expert_layers if not layer.is_mtp]
    one, read = anatomy.expert_bytes_range, anatomy.bytes_per_token
    yield Words("ui.details.expert"), range_text(*one) if one else NO_VALUE
    yield Words("ui.details.layer"), range_text(min(layers), max(layers)) if layers else NO_VALUE
    yield Words("ui.details.read"), NO_VALUE if read is None else format_bytes(read)
    yield Words("ui.details.bits"), bits_text(anatomy.bits_per_weight)
    for cache in details.caches:
        name = Words("ui.details.cache", {"context": context_text(cache.tokens)})
        yield name, format_bytes(cache.size_bytes)


def _class_rows(left: ModelDetailsFacts, right: ModelDetailsFacts) -> Iterator[ComparisonRow]:
    for kind in TensorClass:
        sides = [details.anatomy.types_by_class.get(kind, ()) for details in (left, right)]
        if any(sides):
            name = Words("ui.compare.types", {"name": Words(f"ui.details.class.{kind.value}")})
            cells = [_types_text(shares) for shares in sides]
            yield _row(name, cells, differs=sides[0] != sides[1])


def _types_text(shares: Sequence[TypeShare]) -> str:
    words = [f"{share.type_name} {format_bytes(share.size_bytes)}" for share in shares]
    return ", ".join(words) or NO_VALUE


def _template_rows(left: ModelDetailsFacts, right: ModelDetailsFacts) -> Iterator[ComparisonRow]:
    sources = [details.template.source for details in (left, right)]
    cells = [_template_cell(source, is_same=sources[0] == sources[1]) for source in sources]
    yield _row(Words("ui.details.tab.template"), cells, differs=sources[0] != sources[1])
    answers = [details.template.supports for details in (left, right)]
    for feature in dict.fromkeys((*answers[0], *answers[1])):
        said = [answer.get(feature) for answer in answers]
        name = Words("ui.compare.supports", {"feature": Words(f"ui.details.template.feature.{feature}")})
        words = [Words({True: "word.yes", False: "word.no", None: "word.unknown"}[answer]) for answer in said]
        yield _row(name, words, differs=said[0] != said[1])


def _template_cell(source: str | None, *, is_same: bool) -> Words:
    if source is None:
        return Words("word.no")
    key = "ui.compare.template.same" if is_same else "ui.compare.template.other"
    return Words(key, {"characters": len(source)})


def _metadata_rows(left: Sequence[MetadataRow], right: Sequence[MetadataRow]) -> Iterator[ComparisonRow]:
    """Yield the keys that differ, or that one file lacks."""
    sides = [{row.key: row for row in side} for side in (left, right)]
    for key in dict.fromkeys((*sides[0], *sides[1])):
        rows = [side.get(key) for side in sides]
        if _content(rows[0]) != _content(rows[1]):
            yield _row(key, [_metadata_text(row) for row in rows], differs=True)


def _content(row: MetadataRow | None) -> tuple[object, ...]:
    return () if row is None else (row.type_name, row.value, row.element_count)


def _metadata_text(row: MetadataRow | None) -> Cell:
    if row is None:
        return NO_VALUE
    if row.element_count is not None:
        values = {"elements": row.element_count, "value": row.value}
        return Words("ui.compare.array", values)
    return row.value


def _number(count: int | None) -> str:
    return NO_VALUE if count is None else f"{count:,}"
