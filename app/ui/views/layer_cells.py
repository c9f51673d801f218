"""Which memory each layer lies in, from the numbers an engine is given. Pure."""

from app.gguf.facts import LayerFacts, ModelFacts, TensorClass
from app.options import EngineOptions
from app.planner.facts import OffloadPlan
from app.planner.sizes import block_count
from app.ui.widgets.layer_facts import LayerCell, Tier

__all__ = ["LayerCell", "Tier", "cells_of"]

_SHARED = (TensorClass.SHARED_EXPERTS,)
_FFN = (*_SHARED, TensorClass.DENSE_FFN)
"""In a layer with experts only a norm is left of the dense class."""


def cells_of(facts: ModelFacts, plan_or_options: OffloadPlan | EngineOptions) -> tuple[LayerCell, ...]:
    """Return one cell per block with tensors, in order.

    `n_gpu_layers` counts from the last item back, the output layer being one; `n_cpu_moe` counts blocks from
    the first on, or `cpu_moe_blocks` names them. What RAM cannot hold of the experts (`disk_bytes`) is
    shared evenly by all layers in RAM.
    MTP blocks have no part in it: nothing reads them.

    A plan without a GPU keeps everything in RAM whatever `n_gpu_layers` says.
    """
    if isinstance(plan_or_options, OffloadPlan):
        options, disk_bytes = plan_or_options.options, plan_or_options.disk_bytes
        has_gpu = any(device.name != "CPU" for device in plan_or_options.devices)
    else:
        options, disk_bytes, has_gpu = plan_or_options, 0, True
    items = block_count(facts) + 1
    first_on_gpu = items - min(options.n_gpu_layers, items) if has_gpu else items
    first_with_experts = items if options.cpu_moe else options.n_cpu_moe
    in_ram = frozenset(options.cpu_moe_blocks or range(first_with_experts))
    tiers = [_tiers(layer, first_on_gpu, in_ram) for layer in facts.layers]
    ram_bytes = sum(
        layer.routed_expert_bytes
        for layer, (tier, _) in zip(facts.layers, tiers, strict=True)
        if tier is Tier.RAM and not layer.is_mtp
    )
    share = min(1.0, disk_bytes / ram_bytes) if ram_bytes else 0.0
    return tuple(
        _cell(layer, tier, other, share) for layer, (tier, other) in zip(facts.layers, tiers, strict=True)
    )


def _tiers(layer: LayerFacts, first_on_gpu: int, in_ram: frozenset[int]) -> tuple[Tier, Tier]:
    """Return the tier of the experts and of the rest. Engines put no MTP block on a GPU."""
    if layer.is_mtp or layer.index < first_on_gpu:
        return Tier.RAM, Tier.RAM
    if layer.routed_expert_bytes and layer.index in in_ram:
        return Tier.RAM, Tier.VRAM
    return Tier.VRAM, Tier.VRAM


def _cell(layer: LayerFacts, tier: Tier, other: Tier, share: float) -> LayerCell:
    routed = layer.routed_expert_bytes
    spills = share > 0 and routed > 0 and tier is Tier.RAM and not layer.is_mtp
    return LayerCell(
        index=layer.index,
        tier=Tier.DISK if spills else tier,
        has_experts=routed > 0,
        is_mtp=layer.is_mtp,
        routed_bytes=routed,
        other_bytes=sum(layer.bytes_by_class.values()) - routed,
        other_tier=other,
        disk_share=share if spills else 0.0,
        ffn_bytes=sum(layer.bytes_by_class.get(kind, 0) for kind in (_SHARED if routed else _FFN)),
    )
