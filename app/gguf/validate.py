"""What is wrong with a model file, before an engine that would abort gets to see it.

Each rule is one that llama.cpp enforces by refusing the file or by ending its process (llama-cpp-python
0.3.36, 99 broken files); the few that it lets pass are warnings or notes.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from app.findings import Finding, FindingCode, error, warning
from app.gguf.anatomy import router_findings
from app.gguf.architecture_rules import architecture_findings, foreign_prefix
from app.gguf.expert_rules import expert_findings
from app.gguf.facts import FileKind, ModelFacts
from app.gguf.layout_rules import blocks_beyond, layout_findings
from app.gguf.metadata import LARGEST_COUNT, Metadata
from app.gguf.number_rules import number_findings
from app.gguf.reader import GgufHeader
from app.gguf.shape_rules import shape_findings
from app.gguf.shards import split_count
from app.gguf.table_rules import table_findings
from app.gguf.tokenizer_rules import tokenizer_findings
from app.gguf.value_rules import value_findings
from app.gguf.width_rules import width_findings

MAX_BLOCKS: Final = 512
"""llama.cpp's `LLAMA_MAX_LAYERS`; it aborts outside 1 .. 512."""

_ENGINE_TYPE_LIMIT: Final = 2**32
"""Engines read counts as 32 bits without a sign, and refuse a file that stores another type."""

_COUNTS: Final = (
    *("context_length", "embedding_length", "vocab_size", "nextn_predict_layers", "pooling_type"),
    *("expert_count", "expert_used_count", "expert_shared_count", "full_attention_interval"),
    *("attention.head_count", "attention.head_count_kv", "attention.key_length", "attention.value_length"),
    *("attention.key_length_swa", "attention.value_length_swa", "attention.sliding_window"),
    *("attention.key_length_mla", "attention.value_length_mla", "attention.kv_lora_rank"),
    *("attention.indexer.key_length", "attention.shared_kv_layers", "attention.compress_ratios"),
    *("attention.sliding_window_pattern", "rope.dimension_count", "token_shift_count", "wkv.head_size"),
    *("ssm.conv_kernel", "ssm.inner_size", "ssm.state_size", "ssm.group_count"),
    *("shortconv.l_cache", "kda.head_dim"),
)
"""Every architecture key that the facts are made of, but `block_count`, which has a rule of its own."""

_NEEDED: Final = ("context_length", "embedding_length")
"""Read for every architecture, before anything of it is known (`llama_model::load_hparams`)."""

_JUDGED_WITH_EXPERTS: Final = ("expert_count", "expert_used_count")

_CHAT_KINDS: Final = frozenset({FileKind.MODEL, FileKind.SPLIT_PART, FileKind.UNKNOWN})
_LOADABLE_KINDS: Final = frozenset({FileKind.EMBEDDING, FileKind.RERANKER})


def validate(headers: Sequence[GgufHeader], facts: ModelFacts) -> tuple[Finding, ...]:
    """Return the findings on a model whose parts are `headers`; the gravest are not sorted first."""
    findings = [finding for header in headers for finding in _container_findings(header)]
    findings += _kind_findings(facts)
    if facts.kind in _CHAT_KINDS | _LOADABLE_KINDS and split_no(headers[0]) == 0:
        metadata = Metadata(headers[0].keys)
        has_whole_table = sum(len(header.tensors) for header in headers) >= _promised_tensors(headers[0])
        findings += architecture_findings(facts, metadata)
        findings += value_findings(headers[0], facts, metadata)
        if facts.architecture is not None:
            has_sound_shapes = all(finding.code is not FindingCode.TENSOR_INVALID for finding in findings)
            if foreign_prefix(metadata) is None:  # else every key of the architecture would be missing
                findings += _number_findings(facts, metadata, has_whole_table=has_whole_table)
                findings += shape_findings(facts, metadata) if has_sound_shapes else ()
            findings += router_findings(facts)
            findings += tokenizer_findings(headers[0], facts, metadata)
    return tuple(findings)


def _number_findings(facts: ModelFacts, metadata: Metadata, *, has_whole_table: bool) -> Iterator[Finding]:
    if facts.tensor_count == 0:
        yield error(FindingCode.TENSORS_MISSING, file=facts.path.name)
    yield from _block_findings(facts, metadata, has_whole_table=has_whole_table)
    for name in _NEEDED:
        if facts.tensor_count and not metadata.has(name):
            yield error(FindingCode.METADATA_MISSING, key=metadata.full_name(name))
    yield from _count_findings(facts, metadata)
    widths = list(width_findings(facts, metadata)) if has_whole_table else []
    mended = {finding.values["key"] for finding in widths}
    yield from (f for f in number_findings(facts, metadata) if f.values["key"] not in mended)
    yield from expert_findings(facts, metadata, has_whole_table=has_whole_table)
    if has_whole_table:
        yield from layout_findings(facts, metadata)
        yield from widths


def split_no(header: GgufHeader) -> int:
    """Return `split.no`, from 0; 0 for a whole file."""
    number = header.keys.get("split.no")
    return number if isinstance(number, int) else 0


def _promised_tensors(header: GgufHeader) -> int:
    promised = header.keys.get("split.tensors.count")
    return promised if split_count(header) > 1 and isinstance(promised, int) else 0


def _container_findings(header: GgufHeader) -> Iterator[Finding]:
    for name in header.duplicate_keys:
        yield error(FindingCode.METADATA_DUPLICATE, file=header.path.name, key=name)
    if "" in header.keys:
        yield error(FindingCode.HEADER_BROKEN, file=header.path.name, reason="empty-key", detail="")
    yield from table_findings(header)


def _kind_findings(facts: ModelFacts) -> Iterator[Finding]:
    if facts.kind in _CHAT_KINDS:
        return
    judge = warning if facts.kind in _LOADABLE_KINDS else error
    yield judge(FindingCode.NOT_A_CHAT_MODEL, file=facts.path.name, kind=facts.kind.value)


def _block_findings(facts: ModelFacts, metadata: Metadata, *, has_whole_table: bool) -> Iterable[Finding]:
    if facts.architecture is None or facts.tensor_count == 0:
        return []
    held = max((layer.index for layer in facts.layers), default=-1) + 1
    count, trunk = facts.block_count, facts.trunk_layers
    is_sound = count is not None and trunk is not None and 0 < count <= MAX_BLOCKS
    is_short = has_whole_table and trunk is not None and held < trunk
    if is_sound and not is_short and not blocks_beyond(facts):
        return []
    key, raw = metadata.full_name("block_count"), metadata.raw("block_count")
    found = raw if isinstance(raw, int) else count
    return [error(FindingCode.BLOCK_COUNT_INVALID, key=key, found=found, tensors=held, most=MAX_BLOCKS)]


def _count_findings(facts: ModelFacts, metadata: Metadata) -> Iterator[Finding]:
    names = [name for name in _COUNTS if not (facts.is_moe and name in _JUDGED_WITH_EXPERTS)]
    for name, number in metadata.impossible_counts(names):
        # tested with llama-cpp-python 0.3.36: any u32 will do for the context, all else is refused
        is_harmless = name == "context_length" and 0 <= number < _ENGINE_TYPE_LIMIT
        judge = warning if is_harmless else error
        key = metadata.full_name(name)
        yield judge(
            FindingCode.METADATA_INVALID, file=facts.path.name, key=key, found=number, most=LARGEST_COUNT
        )
