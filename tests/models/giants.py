"""Real MoE models as files of true size that take almost no disk: the whole header, holes for weights."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.gguf_bytes import Keys, Tensor, i32, raw, u16, write_gguf
from tests.models.architectures import ARCHITECTURES
from tests.models.blueprint import Role, Row
from tests.models.giant_table import GIANTS, Giant
from tests.models.tiny import entries_of

__all__ = ["GIANTS", "Giant", "giant_named", "write_giant"]

_FILE_TYPES: Final = {"Q4_K_M": 15, "MXFP4": 38}
_PLAIN: Final = (Role.NORM, Role.BIAS, Role.PLAIN, Role.ROUTER, Role.DECAY)
_NARROW: Final = {"Q4_K": "Q5_0", "Q6_K": "Q8_0"}
"""What llama-quantize takes where a row is no multiple of 256."""


def giant_named(name: str) -> Giant:
    """Return the giant of that name."""
    return next(giant for giant in GIANTS if giant.name == name)


def write_giant(giant: Giant, folder: Path, parts: int = 1) -> list[Path]:
    """Write the model in `parts` files of about equal size and return them in order."""
    blueprint = ARCHITECTURES[giant.architecture](giant.dimensions)
    # "phi-3" in the name sends llama.cpp looking for special tokens that are not there
    name = giant.name.replace("Phi-3", "Phi 3")
    entries = entries_of(giant.architecture, name, blueprint, _FILE_TYPES[giant.preset])
    keys: Keys = {entry.key: raw(entry.encoded) for entry in entries}
    tensors = [Tensor(row.name, row.shape, _type_name(row, giant)) for row in blueprint.rows]
    if parts == 1:
        return [write_gguf(folder / f"{giant.name}.gguf", keys, tensors)]
    paths = []
    for number, part in enumerate(_cut(tensors, parts)):
        split: Keys = {
            "split.no": u16(number),
            "split.count": u16(parts),
            "split.tensors.count": i32(len(tensors)),
        }
        path = folder / f"{giant.name}-{number + 1:05d}-of-{parts:05d}.gguf"
        paths.append(write_gguf(path, {**keys, **split} if number == 0 else split, part))
    return paths


def _cut(tensors: Sequence[Tensor], parts: int) -> list[list[Tensor]]:
    """Return the tensors in `parts` groups of about equal size, none empty."""
    share = sum(tensor.size_bytes for tensor in tensors) / parts
    groups: list[list[Tensor]] = [[]]
    filled = 0
    for tensor in tensors:
        if filled + tensor.size_bytes > share and groups[-1] and len(groups) < parts:
            groups.append([])
            filled = 0
        groups[-1].append(tensor)
        filled += tensor.size_bytes
    return groups


def _type_name(row: Row, giant: Giant) -> str:
    """Return about what llama-quantize would take."""
    if row.role in _PLAIN or len(row.shape) == 1:
        return "F32"
    if row.role is Role.HASH:
        return "I32"
    if giant.preset == "MXFP4":
        return "MXFP4" if row.role is Role.EXPERTS else "Q8_0" if row.shape[0] % 32 == 0 else "F32"
    name = _mixed(row, giant)
    return _NARROW.get(name, name) if row.shape[0] % 256 else name


def _mixed(row: Row, giant: Giant) -> str:
    is_precise = row.name.startswith("blk.") and _is_precise(
        int(row.name.split(".")[1]), giant.dimensions.blocks
    )
    if row.role is Role.OUTPUT or ("ffn_down" in row.name and is_precise):
        return "Q6_K"
    if "attn_v" in row.name and giant.dimensions.experts == 8:
        return "Q8_0"
    return "Q6_K" if "attn_v" in row.name and is_precise else "Q4_K"


def _is_precise(block: int, blocks: int) -> bool:
    eighth = blocks // 8
    return block < eighth or block >= 7 * blocks // 8 or (block - eighth) % 3 == 2
