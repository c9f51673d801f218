"""What the header of a GGUF file holds: key-values and tensor table, as they are read."""

from dataclasses import dataclass, field
from pathlib import Path

from app.gguf.facts import TensorInfo
from app.gguf.key_types import OverwrittenType

_Scalar = bool | int | float | str


@dataclass(frozen=True, slots=True)
class SkippedValue:
    """A value too long to keep: an array of `length` elements, or a string of that many bytes.

    Attributes:
        type_name: Of the elements, e.g. `str`, `i32`; `text` for one long string.
        offset_bytes: Of the first element, from the start of the file.
    """

    type_name: str
    length: int
    offset_bytes: int | None = field(default=None, compare=False)


MetadataValue = _Scalar | tuple[_Scalar, ...] | SkippedValue


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """The header of one file.

    Attributes:
        keys: By full name. Of a key that comes twice the first value counts.
        duplicate_keys: Names that came more than once; engines refuse such a file.
        key_types: How each value is stored: `u32`, `f32`, `str`, `arr`, ...
        overwritten_types: Counts whose type is not theirs; `keys` holds them as they were meant.
        tensors: In file order.
        data_offset: Where the data section starts, bytes from the start of the file.
        file_size: Bytes on disk.
    """

    path: Path
    version: int
    keys: dict[str, MetadataValue]
    duplicate_keys: tuple[str, ...]
    tensors: tuple[TensorInfo, ...]
    alignment: int
    data_offset: int
    file_size: int
    key_types: dict[str, str] = field(default_factory=dict)
    overwritten_types: tuple[OverwrittenType, ...] = ()
