"""Where a plan puts the experts, counted the same way for every subcommand."""

from app.gguf.facts import ModelFacts
from app.options import ALL_LAYERS, EngineOptions


def blocks_in_ram(facts: ModelFacts, options: EngineOptions) -> int:
    """Return how many blocks have their experts in RAM; without a GPU that is all of them."""
    layers = facts.expert_layers
    if options.cpu_moe or not options.n_gpu_layers:
        return len(layers)
    if options.cpu_moe_blocks:
        return len(options.cpu_moe_blocks)
    first_on_gpu = 0
    if options.n_gpu_layers < ALL_LAYERS:
        first_on_gpu = max(0, (facts.block_count or 0) + 1 - options.n_gpu_layers)
    return sum(layer.index < max(options.n_cpu_moe, first_on_gpu) for layer in layers)
