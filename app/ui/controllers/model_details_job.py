"""Works out the details of a model; slow, so it runs in the background. No Qt."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from app.gguf.anatomy import anatomy_of
from app.gguf.cursor import GgufError
from app.gguf.facts import ModelFacts
from app.gguf.inspect_file import inspect_path
from app.gguf.metadata_rows import MetadataRow, metadata_rows
from app.options import EngineOptions
from app.planner.caches import Extent, cache_shape, cache_sizes
from app.ui.views.model_details.facts import CacheFigure, ModelDetailsFacts, TemplateFacts
from app.ui.views.model_details.tensor_rows import tensor_table

CONTEXTS: Final = (8192, 32_768)
"""Shown beside the model's own context."""

_DEFAULTS: Final = EngineOptions()

TemplateOf = Callable[[ModelFacts], TemplateFacts]


def details_of(
    path: Path, facts: ModelFacts | None = None, template_of: TemplateOf | None = None
) -> ModelDetailsFacts:
    """Return the details of the model at `path`. Never raises for what is wrong with the file.

    Args:
        facts: Of the same file where they are known; else it is inspected.
        template_of: Renders the chat template; without it only its source is shown.
    """
    facts = facts or inspect_path(path).facts
    metadata, problem = _metadata(facts.path)
    make_template = template_of or _source_only
    return ModelDetailsFacts(
        facts=facts,
        anatomy=anatomy_of(facts),
        caches=cache_figures(facts),
        kv_type=_DEFAULTS.type_k,
        template=make_template(facts),
        metadata=metadata,
        metadata_problem=problem,
        tensors=tensor_table(facts),
    )


def cache_figures(facts: ModelFacts) -> tuple[CacheFigure, ...]:
    """Return what the KV cache takes at usual contexts and at the model's own, shortest first."""
    if not facts.layers:
        return ()
    full = facts.context_length
    contexts = [tokens for tokens in CONTEXTS if full is None or tokens < full]
    shape = cache_shape(facts)
    figures = []
    for tokens in [*contexts, full] if full else contexts:
        sizes = cache_sizes(shape, Extent(tokens, _DEFAULTS.n_ubatch, _DEFAULTS.type_k))
        figures.append(CacheFigure(tokens, sum(sizes.kv) + sum(sizes.state), is_full=tokens == full))
    return tuple(figures)


def _metadata(path: Path) -> tuple[tuple[MetadataRow, ...], str | None]:
    try:
        return metadata_rows(path), None
    except GgufError as reason:
        return (), reason.reason


def _source_only(facts: ModelFacts) -> TemplateFacts:
    return TemplateFacts(source=facts.chat_template)
