"""Everything the details of one model show, as data. No Qt; made in the background."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from app.gguf.anatomy import Anatomy
from app.gguf.facts import ModelFacts
from app.gguf.metadata_rows import MetadataRow
from app.ui.views.model_details.tensor_rows import NO_TENSORS, TensorTable


@dataclass(frozen=True, slots=True)
class CacheFigure:
    """What the KV cache takes at one context.

    Attributes:
        size_bytes: KV cache and state of one sequence in `ModelDetailsFacts.kv_type`.
        is_full: The context the model was trained for.
    """

    tokens: int
    size_bytes: int
    is_full: bool = False


@dataclass(frozen=True, slots=True)
class TemplateFacts:
    """The chat template and what it makes of a sample conversation.

    Attributes:
        source: As in the file; None for a file without one.
        previews: The prompt an engine would be given, by language of the sample; empty where there is none.
        special_tokens: Texts of tokens with a meaning of their own, tinted in the preview.
        supports: By feature (the ends of `ui.details.template.feature.*`): True, False, or None for unknown.
        fault: Why it cannot be used (the ends of `ui.details.template.fault.*`); None where it can, or where
            it was not tried. `detail` says what the template or its interpreter said.
    """

    source: str | None = None
    previews: Mapping[str, str] = field(default_factory=dict)
    special_tokens: tuple[str, ...] = ()
    supports: Mapping[str, bool | None] = field(default_factory=dict)
    fault: str | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ModelDetailsFacts:
    """One model in depth.

    Attributes:
        caches: By context, shortest first; empty for a model without layers.
        kv_type: Element type the caches are counted in.
        metadata: Key-values of the first part.
        metadata_problem: `GgufError.reason` where they could not be read again.
    """

    facts: ModelFacts
    anatomy: Anatomy
    caches: tuple[CacheFigure, ...] = ()
    kv_type: str = "f16"
    template: TemplateFacts = TemplateFacts()
    metadata: tuple[MetadataRow, ...] = ()
    metadata_problem: str | None = None
    tensors: TensorTable = NO_TENSORS
