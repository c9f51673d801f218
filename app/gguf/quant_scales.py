"""Where the floating-point numbers of each ggml element type lie inside a block.

Source: `ggml-common.h` of ggml 0.25.3 (`block_q4_0` and the rest). Codes without a scale of their own cannot
be NaN, so a tensor is sound exactly when these numbers are.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class ScaleField:
    """`count` numbers of one kind in each block, from `offset` on.

    Attributes:
        kind: `f16`, `bf16`, `f32`, `f64`, `e8m0` (an exponent; 255 is NaN) or `ue4m3` (127 is NaN).
    """

    offset: int
    kind: str
    count: int = 1


_D_AT_0: Final = (ScaleField(0, "f16"),)
_D_AND_M: Final = (ScaleField(0, "f16", 2),)

SCALE_FIELDS: Final[Mapping[str, tuple[ScaleField, ...]]] = {
    "F32": (ScaleField(0, "f32"),),
    "F16": (ScaleField(0, "f16"),),
    "BF16": (ScaleField(0, "bf16"),),
    "F64": (ScaleField(0, "f64"),),
    **dict.fromkeys(("Q4_0", "Q5_0", "Q8_0", "IQ4_NL", "IQ4_XS", "Q1_0", "Q2_0"), _D_AT_0),
    **dict.fromkeys(("IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S", "IQ1_S"), _D_AT_0),
    **dict.fromkeys(("Q4_1", "Q5_1", "Q8_1", "Q4_K", "Q5_K"), _D_AND_M),
    "Q2_K": (ScaleField(80, "f16", 2),),
    "Q3_K": (ScaleField(108, "f16"),),
    "Q6_K": (ScaleField(208, "f16"),),
    "Q8_K": (ScaleField(0, "f32"),),
    "TQ1_0": (ScaleField(52, "f16"),),
    "TQ2_0": (ScaleField(64, "f16"),),
    "MXFP4": (ScaleField(0, "e8m0"),),
    "NVFP4": (ScaleField(0, "ue4m3", 4),),
}
"""By the name of the type. `IQ1_M` spreads its scale over four words and is read by itself."""

SPREAD_SCALE: Final = "IQ1_M"
SPREAD_OFFSET: Final = 48
"""Of its eight scale bytes; the top four bits of each 16-bit word make one f16."""
