"""Types of metadata values: their ids in the file, their short names and layouts (GGUF specification)."""

import struct
from typing import Final

SCALARS: Final = {
    0: ("u8", struct.Struct("<B")),
    1: ("i8", struct.Struct("<b")),
    2: ("u16", struct.Struct("<H")),
    3: ("i16", struct.Struct("<h")),
    4: ("u32", struct.Struct("<I")),
    5: ("i32", struct.Struct("<i")),
    6: ("f32", struct.Struct("<f")),
    7: ("bool", struct.Struct("<?")),
    10: ("u64", struct.Struct("<Q")),
    11: ("i64", struct.Struct("<q")),
    12: ("f64", struct.Struct("<d")),
}

STRING: Final = 8
ARRAY: Final = 9


def value_type_name(type_id: int) -> str:
    """Return the short name of a type of values; `type-16` for one that does not exist."""
    if type_id in SCALARS:
        return SCALARS[type_id][0]
    return {STRING: "str", ARRAY: "arr"}.get(type_id, f"type-{type_id}")
