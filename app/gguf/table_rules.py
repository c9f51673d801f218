"""What is wrong with one file's tensor table, and whether the file holds all it describes."""

import math
from collections import Counter
from collections.abc import Iterator
from typing import Final

from app.findings import Finding, FindingCode, error, note, warning
from app.gguf.facts import TensorInfo
from app.gguf.quants import QUANT_TYPES, REMOVED_TYPE_IDS, type_name
from app.gguf.reader import GgufHeader
from app.gguf.tensor_classes import split_block

MAX_DIMENSIONS: Final = 4
MAX_NAME_BYTES: Final = 63
MAX_ELEMENTS: Final = 2**63 - 1
MAX_REPORTED: Final = 5
"""Tensors named one by one; the rest of a broken table says nothing new."""

MAPPED_ALIGNMENT: Final = 32
"""Engines end themselves at a tensor that starts elsewhere in a mapped file (`TENSOR_ALIGNMENT`)."""

_NO_WEIGHTS: Final = frozenset({"I8", "I16", "I32", "I64", "F64"})
"""Types engines store but cannot multiply by: they crash at the first token."""

_F32_ENDS: Final = (
    *(".bias", "norm.weight", "norm_2.weight", "attn_sinks.weight", "_scale.weight", "_base.weight"),
    *("ssm_a", "ssm_d", "ssm_conv1d.weight"),
)
"""Of names of tensors that are added or multiplied number by number; of another type they end the engine
at the first token."""

_BLOCK_ELEMENTS: Final = {quant.name: quant.block_elements for quant in QUANT_TYPES.values()}
_REMOVED_TYPES: Final = frozenset(type_name(type_id) for type_id in REMOVED_TYPE_IDS)


def table_findings(header: GgufHeader) -> Iterator[Finding]:
    """Return the findings on one file, its size included."""
    invalid = list(_invalid_tensors(header))
    for tensor, reason in invalid[:MAX_REPORTED]:
        yield error(
            FindingCode.TENSOR_INVALID,
            file=header.path.name,
            tensor=tensor.name[:200],
            reason=reason,
            tensors=len(invalid),
        )
    unknown = _unknown_types(header)
    for name, count in list(unknown.items())[:MAX_REPORTED]:
        yield warning(FindingCode.QUANTIZATION_UNKNOWN, file=header.path.name, type=name, tensors=count)
    if not invalid and not unknown:
        yield from _size_findings(header)


def _invalid_tensors(header: GgufHeader) -> Iterator[tuple[TensorInfo, str]]:
    seen: set[str] = set()
    expected_offset: int | None = 0
    for tensor in header.tensors:
        reason = _shape_problem(tensor) or ("duplicate-name" if tensor.name in seen else None)
        seen.add(tensor.name)
        if reason is None and expected_offset is not None and tensor.offset_bytes != expected_offset:
            reason = "offset"
        if reason is None and (header.data_offset + tensor.offset_bytes) % MAPPED_ALIGNMENT:
            reason = "misaligned"
        if reason is not None:
            yield tensor, reason
        if tensor.size_bytes is None or reason is not None:
            expected_offset = None  # from here on nothing says where a tensor should start
        elif expected_offset is not None:
            expected_offset += _padded(tensor.size_bytes, header.alignment)


def _shape_problem(tensor: TensorInfo) -> str | None:
    if len(tensor.shape) > MAX_DIMENSIONS:
        return "dimensions"
    if not all(tensor.shape) or math.prod(tensor.shape) > MAX_ELEMENTS:
        return "shape"
    if tensor.shape and tensor.shape[0] % _BLOCK_ELEMENTS.get(tensor.type_name, 1):
        return "row-not-whole-blocks"
    if len(tensor.name.encode("utf-8")) > MAX_NAME_BYTES:
        return "name-too-long"
    if tensor.type_name in _REMOVED_TYPES:
        return "removed-type"
    if tensor.type_name in _NO_WEIGHTS and _is_weight(tensor):
        return "unusable-type"
    return "not-f32" if tensor.type_name in _BLOCK_ELEMENTS and _is_f32_missing(tensor) else None


def _is_f32_missing(tensor: TensorInfo) -> bool:
    """Return whether engines calculate with it in F32 only, and it is stored otherwise."""
    block, rest = split_block(tensor.name)
    is_of_model = block is not None or tensor.name.count(".") == 1
    return is_of_model and rest.endswith(_F32_ENDS) and tensor.type_name != "F32"


def _is_weight(tensor: TensorInfo) -> bool:
    """Return whether a block multiplies by it; which expert stands for which token is in whole numbers."""
    block, rest = split_block(tensor.name)
    is_table = rest == "ffn_gate_tid2eid.weight"
    return block is not None and len(tensor.shape) > 1 and rest.endswith(".weight") and not is_table


def _unknown_types(header: GgufHeader) -> Counter[str]:
    return Counter(
        tensor.type_name
        for tensor in header.tensors
        if tensor.type_name not in _BLOCK_ELEMENTS and tensor.type_name not in _REMOVED_TYPES
    )


def _size_findings(header: GgufHeader) -> Iterator[Finding]:
    if not header.tensors:
        return
    last = header.tensors[-1]
    needed = header.data_offset + last.offset_bytes + (last.size_bytes or 0)
    if header.file_size < needed:
        yield error(
            FindingCode.FILE_INCOMPLETE,
            file=header.path.name,
            expected_bytes=needed,
            actual_bytes=header.file_size,
            missing_bytes=needed - header.file_size,
        )
    extra = header.file_size - _padded(needed, header.alignment)
    if extra > 0:
        yield note(FindingCode.TRAILING_BYTES, file=header.path.name, extra_bytes=extra)


def _padded(size_bytes: int, alignment: int) -> int:
    return -(-size_bytes // alignment) * alignment
