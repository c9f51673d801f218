"""How big are the pieces a model is read in, when its experts do not fit into RAM?"""

from app.gguf.facts import ModelFacts

MATRICES_PER_EXPERT = 3
"""Gate, up and down: three tensors, in which the experts of a layer lie one behind the other."""


def expert_piece_bytes(model: ModelFacts) -> int | None:
    """Return the bytes of one expert in one tensor, as an average; None for a model without experts."""
    sizes = [
        layer.routed_expert_bytes // (layer.expert_count * MATRICES_PER_EXPERT)
        for layer in model.expert_layers
        if layer.expert_count and layer.routed_expert_bytes
    ]
    return sum(sizes) // len(sizes) if sizes else None
