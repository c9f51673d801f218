"""ggml element types: how many bytes a tensor takes.

Source: `ggml_type_name`, `ggml_blck_size` and `ggml_type_size` of ggml 0.25.3, for every id it knows.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class QuantType:
    """One element type: `block_elements` of a row are stored in `block_bytes`."""

    name: str
    block_elements: int
    block_bytes: int


QUANT_TYPES: Final[Mapping[int, QuantType]] = {
    0: QuantType("F32", 1, 4),
    1: QuantType("F16", 1, 2),
    2: QuantType("Q4_0", 32, 18),
    3: QuantType("Q4_1", 32, 20),
    6: QuantType("Q5_0", 32, 22),
    7: QuantType("Q5_1", 32, 24),
    8: QuantType("Q8_0", 32, 34),
    9: QuantType("Q8_1", 32, 36),
    10: QuantType("Q2_K", 256, 84),
    11: QuantType("Q3_K", 256, 110),
    12: QuantType("Q4_K", 256, 144),
    13: QuantType("Q5_K", 256, 176),
    14: QuantType("Q6_K", 256, 210),
    15: QuantType("Q8_K", 256, 292),
    16: QuantType("IQ2_XXS", 256, 66),
    17: QuantType("IQ2_XS", 256, 74),
    18: QuantType("IQ3_XXS", 256, 98),
    19: QuantType("IQ1_S", 256, 50),
    20: QuantType("IQ4_NL", 32, 18),
    21: QuantType("IQ3_S", 256, 110),
    22: QuantType("IQ2_S", 256, 82),
    23: QuantType("IQ4_XS", 256, 136),
    24: QuantType("I8", 1, 1),
    25: QuantType("I16", 1, 2),
    26: QuantType("I32", 1, 4),
    27: QuantType("I64", 1, 8),
    28: QuantType("F64", 1, 8),
    29: QuantType("IQ1_M", 256, 56),
    30: QuantType("BF16", 1, 2),
    34: QuantType("TQ1_0", 256, 54),
    35: QuantType("TQ2_0", 256, 66),
    39: QuantType("MXFP4", 32, 17),
    40: QuantType("NVFP4", 64, 36),
    41: QuantType("Q1_0", 128, 18),
    42: QuantType("Q2_0", 64, 18),
}
"""By the id in the file. Ids 4, 5, 31-33 and 36-38 were removed from ggml; no current engine reads them."""

REMOVED_TYPE_IDS: Final = frozenset({4, 5, 31, 32, 33, 36, 37, 38})


def type_name(type_id: int) -> str:
    """Return ggml's name in capitals, or `type-N` for one this program does not know."""
    known = QUANT_TYPES.get(type_id)
    return known.name if known else f"type-{type_id}"


def tensor_bytes(type_id: int, shape: Sequence[int]) -> int | None:
    """Return the bytes of a tensor in ggml order, or None when its type is unknown.

    A row that is not a whole number of blocks is rounded up; engines refuse such a tensor.
    """
    known = QUANT_TYPES.get(type_id)
    if known is None:
        return None
    row_length = shape[0] if shape else 1
    blocks_per_row = -(-row_length // known.block_elements)
    return blocks_per_row * known.block_bytes * math.prod(shape[1:])
