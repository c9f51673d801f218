"""What the layer map draws, as facts. No Qt."""

from dataclasses import dataclass
from enum import StrEnum


class Tier(StrEnum):
    """Which memory something lies in."""

    VRAM = "vram"
    RAM = "ram"
    DISK = "disk"


@dataclass(frozen=True, slots=True)
class LayerCell:
    """One layer of the model and where its weights are.

    Attributes:
        tier: Of its routed experts; of everything when it has none. `DISK` when a part of the experts
            must be read from disk while answering.
        other_tier: Of attention, norms, shared experts and router.
        is_mtp: An extra multi-token-prediction block; plain decoding passes over it.
        disk_share: Of the routed experts, 0..1. Which experts that are changes while answering, so every
            layer in RAM has the same share.
        ffn_bytes: Of `other_bytes`, what every token passes besides attention: shared experts, or the
            feed-forward part of a dense layer.
    """

    index: int
    tier: Tier
    has_experts: bool
    is_mtp: bool
    routed_bytes: int
    other_bytes: int
    other_tier: Tier = Tier.VRAM
    disk_share: float = 0.0
    ffn_bytes: int = 0
