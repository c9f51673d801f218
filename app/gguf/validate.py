"""What is wrong with a model file, before an engine that would abort gets to see it.

Each rule is one that llama.cpp enforces by refusing the file or by ending its process (llama-cpp-python
0.3.36, 99 broken files); the few that it lets pass are warnings or notes.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from app.findings import Finding, FindingCode, error, note, warning
from app.gguf.expert_rules import expert_findings
from app.gguf.facts import FileKind, ModelFacts
from app.gguf.metadata import Metadata
from app.gguf.reader import GgufHeader
from app.gguf.shards import split_count
from app.gguf.table_rules import table_findings

MAX_BLOCKS: Final = 512
"""llama.cpp's `LLAMA_MAX_LAYERS`; it aborts outside 1 .. 512."""

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
        findings += expert_findings(facts, metadata, has_whole_table=has_whole_table)
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
    key = metadata.full_name("block_count")
    return [error(FindingCode.BLOCK_COUNT_INVALID, key=key, found=count, tensors=held, most=MAX_BLOCKS)]


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
