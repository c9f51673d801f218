"""Files whose tensor table or weights are broken: places, types, shapes, names, and what is no number."""

import struct
from typing import Final

from app.findings import FindingCode
from tests.models.broken_case import (
    LOADS,
    UP,
    BrokenCase,
    Expected,
    Witness,
    edited,
    good,
    made,
)
from tests.models.draft import Draft
from tests.models.weights import F16

_HALF_NAN: Final = struct.pack("<H", 0x7E00)
_INFINITE: Final = struct.pack("<f", float("inf"))
_EXPERTS_GONE: Final = (FindingCode.EXPERT_TENSORS_MISSING,)


def _invalid(reason: str, *also: FindingCode) -> Expected:
    return Expected(FindingCode.TENSOR_INVALID, reason, also)


def _scanned(code: FindingCode) -> Expected:
    return Expected(code, witness=Witness.WEIGHTS)


def _at(draft: Draft, offset: int) -> None:
    draft.row(UP).offset = offset


def _shaped(draft: Draft, *shape: int) -> None:
    draft.row(UP).shape = shape


def _typed(draft: Draft, type_id: int) -> None:
    draft.row(UP).type_id = type_id


def _named(draft: Draft, name: str, row: str = UP) -> None:
    draft.row(row).name = name.encode()


def _nan_experts() -> bytes:
    draft = good(F16)
    for row in draft.rows:
        if b"up_exps" in row.name:
            draft.fill(row, _HALF_NAN)
    return draft.encode()


def _infinite_router(draft: Draft) -> None:
    for row in draft.rows:
        if b"gate_inp" in row.name:
            draft.fill(row, _INFINITE)


def _nan_scale(draft: Draft) -> None:
    start = draft.row(UP).offset
    draft.data[start : start + 2] = _HALF_NAN


def _all_zero(draft: Draft) -> None:
    draft.data = bytearray(len(draft.data))


def _fewer_rows(draft: Draft) -> None:
    draft.row("token_embd.weight").shape = (64, 319)


TABLE: Final = (
    edited("tensor-offset-past-end", "a tensor a gigabyte away", _invalid("offset"), lambda d: _at(d, 2**30)),
    edited("tensor-offset-unaligned", "a tensor one byte off", _invalid("offset"),
           lambda d: _at(d, d.row(UP).offset + 1)),
    edited("tensor-offset-2e64", "a tensor at the end of 64 bits", _invalid("offset"),
           lambda d: _at(d, 2**64 - 32)),
    edited("tensor-type-200", "a type to come",
           Expected(FindingCode.QUANTIZATION_UNKNOWN, "type-200"), lambda d: _typed(d, 200)),
    edited("tensor-type-removed-q4_2", "a type ggml has removed", _invalid("removed-type"),
           lambda d: _typed(d, 4)),
    edited("tensor-dims-5", "five dimensions", _invalid("dimensions"), lambda d: _shaped(d, 64, 32, 8, 1, 1)),
    edited("tensor-dim-zero", "a dimension of 0", _invalid("shape"), lambda d: _shaped(d, 64, 0, 8)),
    edited("tensor-dim-negative", "a dimension of -32", _invalid("shape"),
           lambda d: _shaped(d, 64, 2**64 - 32, 8)),
    edited("tensor-dims-overflow", "2**65 elements", _invalid("shape"),
           lambda d: _shaped(d, 2**31, 2**31, 8)),
    edited("tensor-row-not-block-multiple", "rows of 60 in blocks of 32", _invalid("row-not-whole-blocks"),
           lambda d: _shaped(d, 60, 32, 8)),
    edited("tensor-name-duplicated", "a tensor twice", _invalid("duplicate-name", *_EXPERTS_GONE),
           lambda d: _named(d, UP, "blk.1.ffn_up_exps.weight")),
    edited("tensor-name-200-chars", "a name of 200 letters", _invalid("name-too-long", *_EXPERTS_GONE),
           lambda d: _named(d, "x" * 200)),
    edited("tensor-missing", "a block without `ffn_up_exps`", Expected(FindingCode.EXPERT_TENSORS_MISSING),
           lambda d: _named(d, "blk.0.something_else.weight")),
    edited("tensor-transposed", "rows and columns exchanged",
           Expected(FindingCode.TENSOR_SHAPE_MISMATCH, UP), lambda d: _shaped(d, 32, 64, 8)),
    edited("tokenizer-fewer-than-rows", "320 tokens, 319 rows",
           Expected(FindingCode.VOCABULARY_MISMATCH, also=(FindingCode.TENSOR_INVALID,)), _fewer_rows),
)  # fmt: skip

WEIGHTS: Final = (
    made("nan-experts", "experts of no numbers", _scanned(FindingCode.WEIGHTS_NOT_FINITE),
         _nan_experts, LOADS),
    edited("inf-router", "an infinite router", _scanned(FindingCode.WEIGHTS_NOT_FINITE),
           _infinite_router, LOADS),
    edited("nan-scale-q8_0", "one block whose scale is no number", _scanned(FindingCode.WEIGHTS_NOT_FINITE),
           _nan_scale, LOADS),
    edited("all-zero-weights", "nothing but zeros", _scanned(FindingCode.WEIGHTS_ALL_ZERO), _all_zero, LOADS),
)  # fmt: skip

TENSOR_CASES: Final[tuple[BrokenCase, ...]] = (*TABLE, *WEIGHTS)
