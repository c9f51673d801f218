"""How a file says it was quantized as a whole: `general.file_type`.

Source: `llama_ftype` of llama.cpp, for every number it knows.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

FILE_TYPES: Final[Mapping[int, str]] = {
    0: "F32",
    1: "F16",
    2: "Q4_0",
    3: "Q4_1",
    7: "Q8_0",
    8: "Q5_0",
    9: "Q5_1",
    10: "Q2_K",
    11: "Q3_K_S",
    12: "Q3_K_M",
    13: "Q3_K_L",
    14: "Q4_K_S",
    15: "Q4_K_M",
    16: "Q5_K_S",
    17: "Q5_K_M",
    18: "Q6_K",
    19: "IQ2_XXS",
    20: "IQ2_XS",
    21: "Q2_K_S",
    22: "IQ3_XS",
    23: "IQ3_XXS",
    24: "IQ1_S",
    25: "IQ4_NL",
    26: "IQ3_S",
    27: "IQ3_M",
    28: "IQ2_S",
    29: "IQ2_M",
    30: "IQ4_XS",
    31: "IQ1_M",
    32: "BF16",
    36: "TQ1_0",
    37: "TQ2_0",
    38: "MXFP4_MOE",
    39: "NVFP4",
    40: "Q1_0",
    41: "Q2_0",
}
"""Numbers that are not in it were removed from llama.cpp, or are newer than this program."""

_GUESSED: Final = 1024
"""Added by llama.cpp to a type that it counted out itself."""

_FAMILY: Final = re.compile(r"[A-Z]+\d+")


def file_type_name(number: int | None) -> str | None:
    """Return llama.cpp's name of a file type; None for no number and for one it does not know."""
    return None if number is None else FILE_TYPES.get(number & ~_GUESSED)


def is_borne_out(file_type: str, tensor_types: Iterable[str]) -> bool:
    """Return whether any tensor is of the family a file type names: Q4_K_M is one of the Q4 types."""
    family = _FAMILY.match(file_type)
    return family is not None and any(
        (found := _FAMILY.match(name)) is not None and found[0] == family[0] for name in tensor_types
    )
