"""Counts of the header that say how the blocks are laid out, against the blocks that are there.

Engines look for the tensors that these counts promise and refuse the file, or run a block as another kind.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from app.findings import Finding, FindingCode, error, warning
from app.gguf.facts import ModelFacts
from app.gguf.known_names import is_known_architecture
from app.gguf.metadata import Metadata
from app.gguf.tensor_classes import split_block


@dataclass(frozen=True, slots=True)
class WrongCount:
    """An architecture key that the tensors contradict.

    Attributes:
        name: Without the prefix.
        tensors: What the tensors say.
    """

    name: str
    found: int
    tensors: int


def layout_findings(facts: ModelFacts, metadata: Metadata) -> Iterator[Finding]:
    """Return the findings on layers of experts and of prediction. The whole table must be there."""
    for wrong in wrong_counts(facts, metadata):
        key = metadata.full_name(wrong.name)
        yield error(FindingCode.LAYOUT_MISMATCH, key=key, found=wrong.found, tensors=wrong.tensors)
    yield from _prediction_findings(facts, metadata)


def wrong_counts(facts: ModelFacts, metadata: Metadata) -> Iterator[WrongCount]:
    """Return the keys whose right value the tensors tell beyond doubt."""
    if facts.has_old_expert_layout or not facts.expert_layers:
        return
    for name, tensors in (
        ("leading_dense_block_count", _leading_dense(facts, metadata)),
        ("expert_shared_count", _shared_experts(facts, metadata)),
        ("hash_layer_count", _hash_layers(facts)),
    ):
        found = metadata.number(metadata.full_name(name))
        if found is not None and tensors is not None and found != tensors:
            yield WrongCount(name, found, tensors)


def blocks_beyond(facts: ModelFacts) -> bool:
    """Return whether there are more blocks than the header counts, which known architectures refuse."""
    if facts.block_count is None or not is_known_architecture(facts.architecture or ""):
        return False
    is_draft = any("nextn." in tensor.name for tensor in facts.tensors)
    return not is_draft and any(layer.index >= facts.block_count for layer in facts.layers)


def _leading_dense(facts: ModelFacts, metadata: Metadata) -> int | None:
    """Return the blocks before the first with experts; interleaved experts may begin later."""
    first = facts.expert_layers[0].index
    step = metadata.integer("interleave_moe_layer_step") or 1
    stated = metadata.integer("leading_dense_block_count") or 0
    if step == 1:
        return first
    could_begin = (stated // step + 1) * step - 1
    return stated if could_begin == first else None


def _shared_experts(facts: ModelFacts, metadata: Metadata) -> int | None:
    """Return how many experts lie side by side in the shared tensors; None where their width is a key."""
    if metadata.has("expert_shared_feed_forward_length"):
        return None
    widths = {"ffn_up_exps.weight": set[int](), "ffn_up_shexp.weight": set[int]()}
    for tensor in facts.tensors:
        _, rest = split_block(tensor.name)
        if rest in widths and len(tensor.shape) > 1:
            widths[rest].add(tensor.shape[1])
    routed, shared = widths.values()
    if len(routed) != 1 or len(shared) != 1:
        return None
    width, all_widths = routed.pop(), shared.pop()
    return all_widths // width if width and all_widths % width == 0 else None


def _hash_layers(facts: ModelFacts) -> int | None:
    """Return the leading blocks that pick their experts by token instead of by a router's scores."""
    found = {
        index
        for tensor in facts.tensors
        for index, rest in (split_block(tensor.name),)
        if index is not None and rest == "ffn_gate_tid2eid.weight"
    }
    return len(found) if found == set(range(len(found))) else None


def _prediction_findings(facts: ModelFacts, metadata: Metadata) -> Iterator[Finding]:
    """A prediction block that is not counted runs as a layer, and a layer counted as one does not run."""
    found = metadata.integer("nextn_predict_layers") or 0
    held = {
        index
        for tensor in facts.tensors
        for index, rest in (split_block(tensor.name),)
        if index is not None and rest.startswith("nextn.")
    }
    trunk, blocks = facts.trunk_layers, facts.block_count
    if trunk is None or blocks is None:
        return
    if {layer.index for layer in facts.layers if trunk <= layer.index < blocks} != held:
        key = metadata.full_name("nextn_predict_layers")
        yield warning(FindingCode.PREDICTION_LAYERS_MISMATCH, key=key, found=found, tensors=len(held))
