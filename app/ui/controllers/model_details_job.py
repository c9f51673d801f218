"""Works out the details of a model; slow, so it runs in the background. No Qt."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from app.gguf.anatomy import anatomy_of
from app.gguf.cursor import GgufError
from app.gguf.facts import ModelFacts
from app.gguf.inspect_file import InspectedFile, inspect_path
from app.gguf.metadata_rows import MetadataRow, metadata_rows
from app.gguf.special_tokens import MARK, SpecialTokens, special_tokens
from app.options import EngineOptions
from app.parsing.template_check import TemplateCheck, check_template
from app.planner.caches import Extent, cache_shape, cache_sizes
from app.ui.views.model_details.facts import CacheFigure, ModelDetailsFacts, TemplateFacts
from app.ui.views.model_details.tensor_rows import tensor_table

CONTEXTS: Final = (8192, 32_768)
"""Shown beside the model's own context."""

_DEFAULTS: Final = EngineOptions()


def details_of(path: Path, inspected: InspectedFile | None = None) -> ModelDetailsFacts:
    """Return the details of the model at `path`. Never raises for what is wrong with the file.

    Blocks for some tenths of a second: the chat template is tried in a process of its own, once while the
    program runs.

    Args:
        inspected: Of the same file where that is known; else it is inspected.
    """
    details = details_unless(lambda: False, inspected or inspect_path(path))
    assert details is not None  # nobody cancels it
    return details


def details_unless(is_cancelled: Callable[[], bool], inspected: InspectedFile) -> ModelDetailsFacts | None:
    """Return the details as `details_of` does; None when that was cancelled between two of its steps."""
    facts = inspected.facts
    metadata, problem = _metadata(facts.path)
    if is_cancelled():
        return None
    template = template_facts(inspected)
    if is_cancelled():
        return None
    return ModelDetailsFacts(
        facts=facts,
        anatomy=anatomy_of(facts),
        caches=cache_figures(facts),
        kv_type=_DEFAULTS.type_k,
        template=template,
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


def template_facts(inspected: InspectedFile) -> TemplateFacts:
    """Return the chat template of a model, what became of trying it, and the prompt an engine will get.

    That is written in ChatML for a file without a template, and where the template cannot be used.
    """
    source = inspected.facts.chat_template
    tokens = special_tokens(inspected.headers[0]) if inspected.headers else None
    check = check_template(source, tokens) if tokens is not None else None
    if check is None or tokens is None:
        return TemplateFacts(source=source)
    shown = check if check.fault is None else check_template(None, tokens) or check
    return TemplateFacts(
        source=source,
        previews=shown.previews,
        special_tokens=_marks_in(shown, tokens),
        supports={} if check.fault or source is None else _answers(check),
        fault=check.fault.value if check.fault else None,
        detail=check.detail,
    )


def _answers(check: TemplateCheck) -> dict[str, bool | None]:
    return {
        "system": check.supports_system,
        "tools": check.supports_tools,
        "thinking": check.has_thinking_switch,
    }


def _marks_in(check: TemplateCheck, tokens: SpecialTokens) -> tuple[str, ...]:
    """Return the texts of special tokens that the previews hold."""
    prompts = tuple(check.previews.values())
    held = {found for prompt in prompts for found in MARK.findall(prompt) if found in tokens.marks}
    ends = {token for token in (tokens.bos, tokens.eos) if token and any(token in p for p in prompts)}
    return tuple(sorted(held | ends))
