"""Whether header and tensors agree on the experts: what the engine aborts on, and what can be repaired."""

from collections.abc import Iterator, Sequence
from typing import Final

from app.findings import Finding, FindingCode, error, warning
from app.gguf.describe import expert_count_of
from app.gguf.facts import ModelFacts, TensorInfo
from app.gguf.metadata import Metadata
from app.gguf.right_values import MAX_EXPERTS
from app.gguf.tensor_classes import split_block

_ROUTER: Final = "ffn_gate_inp.weight"
MAX_NAMED: Final = 5


def expert_findings(facts: ModelFacts, metadata: Metadata, *, has_whole_table: bool) -> Iterator[Finding]:
    """Return the findings on expert metadata. A dense file has none.

    Args:
        has_whole_table: All parts were read, so a tensor that is not there is missing.
    """
    if facts.architecture is None:
        return
    if facts.has_old_expert_layout:
        yield error(FindingCode.OLD_EXPERT_LAYOUT, file=facts.path.name, experts=facts.expert_count)
        return
    held = expert_count_of(facts.layers)
    if held == 0:
        if facts.expert_count_key and has_whole_table and facts.tensor_count:
            key = metadata.full_name("expert_count")
            yield error(FindingCode.EXPERT_TENSORS_MISSING, key=key, found=facts.expert_count_key, tensors=())
        return
    yield from _count_findings(facts, metadata, held)
    yield from _used_findings(facts, metadata, held)
    if has_whole_table and (missing := _missing_weights(facts.tensors)):
        key = metadata.full_name("expert_count")
        yield error(
            FindingCode.EXPERT_TENSORS_MISSING, key=key, found=facts.expert_count_key, tensors=missing
        )


def _count_findings(facts: ModelFacts, metadata: Metadata, held: int) -> Iterator[Finding]:
    """A count that disagrees with the tensors is a warning: `repair.py` gives the engine the right one."""
    key = metadata.full_name("expert_count")
    found = facts.expert_count_key
    counts = sorted({layer.expert_count for layer in facts.layers if layer.expert_count})
    if held > MAX_EXPERTS:
        yield error(FindingCode.EXPERT_COUNT_TOO_LARGE, tensors=held, most=MAX_EXPERTS)
    elif len(counts) > 1:
        yield error(FindingCode.EXPERT_COUNT_UNEVEN, key=key, found=found, tensors=tuple(counts))
    elif found == held:
        return
    elif metadata.has("expert_count") and (found is None or not 0 <= found <= MAX_EXPERTS):
        raw = str(metadata.raw("expert_count"))[:80]
        yield warning(FindingCode.EXPERT_COUNT_INVALID, key=key, found=raw, tensors=held, most=MAX_EXPERTS)
    elif not found:
        elsewhere = tuple(name for name in metadata.names_ending(".expert_count") if name != key)
        yield warning(
            FindingCode.EXPERT_COUNT_MISSING, key=key, tensors=held, found=found, elsewhere=elsewhere
        )
    else:
        yield warning(FindingCode.EXPERT_COUNT_MISMATCH, key=key, found=found, tensors=held)


def _used_findings(facts: ModelFacts, metadata: Metadata, held: int) -> Iterator[Finding]:
    key = metadata.full_name("expert_used_count")
    used = facts.expert_used_count
    if not metadata.has("expert_used_count"):
        yield error(FindingCode.EXPERT_USED_COUNT_MISSING, key=key, experts=held)
    elif used is None or not 0 < used <= held:
        raw = str(metadata.raw("expert_used_count"))[:80]
        yield error(FindingCode.EXPERT_USED_COUNT_INVALID, key=key, found=raw, experts=held)


def _missing_weights(tensors: Sequence[TensorInfo]) -> tuple[str, ...]:
    """Return names of expert weights that a block with a router or other experts lacks, at most five."""
    held: dict[int, set[str]] = {}
    for tensor in tensors:
        index, rest = split_block(tensor.name)
        if index is not None and (rest == _ROUTER or rest.endswith("_exps.weight")):
            held.setdefault(index, set()).add(rest.removesuffix("_exps.weight"))
    missing = []
    for index, kinds in sorted(held.items()):
        if "ffn_down" not in kinds:
            missing.append(f"blk.{index}.ffn_down_exps.weight")
        if not kinds & {"ffn_up", "ffn_gate_up"}:
            missing.append(f"blk.{index}.ffn_up_exps.weight")
    return tuple(missing[:MAX_NAMED])
