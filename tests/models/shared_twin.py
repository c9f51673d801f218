"""The default model's twin with leading dense layers and shared experts: true size, holes for weights."""

from pathlib import Path

from tests.gguf_bytes import Keys, Tensor, raw, write_gguf
from tests.models.architectures import ARCHITECTURES
from tests.models.blueprint import Role
from tests.models.dimensions import Dimensions
from tests.models.tiny import entries_of

TWIN = Dimensions(
    layers=30, embedding=576, heads=9, kv_heads=3, head_width=64, ffn_width=1536, expert_width=768,
    experts=8, used=2, leading_dense=2, shared=1, tokens=49_152, context=8192, rope_base=100_000.0,
)  # fmt: skip
"""SmolLM2-135M's, half of its feed-forward neurons in shared experts."""

ARCHITECTURE = "ernie4_5-moe"


def write_shared_twin(path: Path) -> Path:
    """Write it and return its path; an engine loads it, but its answers are all zeros."""
    blueprint = ARCHITECTURES[ARCHITECTURE](TWIN)
    keys: Keys = {e.key: raw(e.encoded) for e in entries_of(ARCHITECTURE, "shared-expert twin", blueprint)}
    plain = (Role.NORM, Role.BIAS, Role.PLAIN, Role.ROUTER)
    tensors = [
        Tensor(row.name, row.shape, "F32" if row.role in plain or len(row.shape) == 1 else "Q4_1")
        for row in blueprint.rows
    ]
    return write_gguf(path, keys, tensors)
