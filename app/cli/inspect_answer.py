"""What `moxie inspect` answers about one file, as one JSON object."""

from dataclasses import dataclass
from typing import Any

from app.findings import Finding
from app.gguf.anatomy import Anatomy, anatomy_of
from app.gguf.inspect_file import InspectedFile
from app.parsing.template_check import TemplateCheck


@dataclass(frozen=True, slots=True)
class Answer:
    """`engine_accepts` is None until asked, and when no engine could answer; `template` likewise."""

    inspected: InspectedFile
    engine_accepts: bool | None
    findings: tuple[Finding, ...]
    template: TemplateCheck | None = None


def answer_of(
    inspected: InspectedFile, *, asks_engine: bool, template: TemplateCheck | None = None
) -> Answer:
    """Return what is known of a file; with `asks_engine` also what an engine says to it."""
    if not asks_engine:
        return Answer(inspected, None, inspected.findings, template)
    from app.engine.dry_run import engine_accepts, would_abort  # only this option needs the engine package

    if would_abort(inspected.findings):
        return Answer(inspected, False, inspected.findings, template)
    facts = inspected.facts
    accepts, findings = engine_accepts(facts.path, facts.kv_overrides)
    return Answer(inspected, accepts, (*inspected.findings, *findings), template)


def answer_json(answer: Answer) -> dict[str, Any]:
    """Return the object of `docs/cli.md`."""
    facts = answer.inspected.facts
    return {
        "path": str(facts.path),
        "kind": facts.kind.value,
        "architecture": facts.architecture,
        "name": facts.name,
        "files": [str(file) for file in facts.files],
        "size_bytes": facts.size_bytes,
        "tensor_count": facts.tensor_count,
        "parameter_count": facts.parameter_count,
        **_anatomy_json(anatomy_of(facts)),
        "block_count": facts.block_count,
        "trunk_layers": facts.trunk_layers,
        "mtp_layers": facts.mtp_layers,
        "expert_layers": [
            {
                "index": layer.index,
                "expert_count": layer.expert_count,
                "routed_expert_bytes": layer.routed_expert_bytes,
                "is_mtp": layer.is_mtp,
            }
            for layer in facts.expert_layers
        ],
        "expert_count": facts.expert_count,
        "expert_used_count": facts.expert_used_count,
        "expert_shared_count": facts.expert_shared_count,
        "has_old_expert_layout": facts.has_old_expert_layout,
        "routed_expert_bytes": facts.routed_expert_bytes,
        "shared_expert_bytes": facts.shared_expert_bytes,
        "quantization": facts.quantization,
        "file_type": facts.file_type,
        "context_length": facts.context_length,
        "embedding_length": facts.embedding_length,
        "vocabulary_size": facts.vocabulary_size,
        "has_chat_template": facts.has_chat_template,
        "chat_template": None if answer.template is None else answer.template.to_json(),
        "attention_kind": facts.attention.kind.value,
        "kv_overrides": dict(facts.kv_overrides),
        "loadable": answer.inspected.loadable,
        "engine_accepts": answer.engine_accepts,
        "findings": [finding.to_json() for finding in answer.findings],
    }


def _anatomy_json(anatomy: Anatomy) -> dict[str, Any]:
    size = anatomy.expert_bytes_range
    return {
        "active_parameter_count": anatomy.active_parameter_count,
        "bytes_per_token": anatomy.bytes_per_token,
        "expert_bytes": None if size is None else {"min": size[0], "max": size[1]},
        "tensor_types": {
            kind.value: {share.type_name: share.size_bytes for share in shares}
            for kind, shares in anatomy.types_by_class.items()
        },
    }
