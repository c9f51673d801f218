"""Metadata an engine can be given at load so that a file with wrong expert metadata still loads.

llama.cpp applies such overrides before it looks into the file, but not for `expert_used_count` when that
key is absent: `get_key_or_arr` looks in the file first (tested with llama-cpp-python 0.3.36). The file stays
as it is.
"""

from app.gguf.describe import expert_count_of
from app.gguf.facts import ModelFacts
from app.options import KvOverrideValue

MAX_EXPERTS = 1024
"""llama.cpp's `LLAMA_MAX_EXPERTS`; more abort the engine."""


def overrides_for(facts: ModelFacts) -> tuple[tuple[str, KvOverrideValue], ...]:
    """Return what makes `expert_count` agree with the tensors; empty when it does, or when they disagree."""
    count = expert_count_of(facts.layers)
    is_uniform = len({layer.expert_count for layer in facts.expert_layers}) == 1
    if not is_uniform or facts.has_old_expert_layout or count > MAX_EXPERTS:
        return ()
    if facts.architecture is None or facts.expert_count_key == count:
        return ()
    return ((f"{facts.architecture}.expert_count", count),)
