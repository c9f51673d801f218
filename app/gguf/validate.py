"""What is wrong with a model file, before an engine that would abort gets to see it.

Each rule is one that llama.cpp enforces by refusing the file or by ending its process (llama-cpp-python
0.3.36, 99 broken files); the few that it lets pass are warnings or notes.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from app.findings import Finding, FindingCode, error, note, warning
from app.gguf.anatomy import router_findings
from app.gguf.expert_rules import expert_findings
from app.gguf.facts import FileKind, ModelFacts
from app.gguf.metadata import LARGEST_COUNT, Metadata
from app.gguf.reader import GgufHeader
from app.gguf.shards import split_count
from app.gguf.table_rules import table_findings

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
        findings += _architecture_findings(facts)
        findings += _block_findings(facts, metadata, has_whole_table=has_whole_table)
        findings += _count_findings(facts, metadata)
        findings += expert_findings(facts, metadata, has_whole_table=has_whole_table)
        findings += router_findings(facts)
        findings += _tokenizer_findings(facts, metadata)
    return tuple(findings)


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


def _architecture_findings(facts: ModelFacts) -> Iterator[Finding]:
    if facts.architecture is None:
        yield error(FindingCode.ARCHITECTURE_MISSING, file=facts.path.name)
    elif facts.tensor_count == 0:
        yield error(FindingCode.TENSORS_MISSING, file=facts.path.name)


def _block_findings(facts: ModelFacts, metadata: Metadata, *, has_whole_table: bool) -> Iterable[Finding]:
    if facts.architecture is None or facts.tensor_count == 0:
        return []
    held = max((layer.index for layer in facts.layers), default=-1) + 1
    count, trunk = facts.block_count, facts.trunk_layers
    is_sound = count is not None and trunk is not None and 0 < count <= MAX_BLOCKS
    if is_sound and not (has_whole_table and trunk is not None and held < trunk):
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


def _tokenizer_findings(facts: ModelFacts, metadata: Metadata) -> Iterator[Finding]:
    if facts.architecture is None:
        return
    model = metadata.string("tokenizer.ggml.model")
    missing = [] if model is not None else ["tokenizer.ggml.model"]
    if model not in ("no_vocab", "none", "rwkv") and metadata.length("tokenizer.ggml.tokens") is None:
        missing.append("tokenizer.ggml.tokens")
    if missing:
        yield error(FindingCode.TOKENIZER_MISSING, file=facts.path.name, keys=tuple(missing))
    elif facts.kind is FileKind.MODEL and not facts.has_chat_template:
        yield note(FindingCode.CHAT_TEMPLATE_MISSING, file=facts.path.name)
