"""Random weights that an engine can compute with, as bytes of a ggml type."""

import zlib
from typing import Final

import numpy as np
from numpy.typing import NDArray

from build_scripts.make_selftest_model import SPECIALS, q8_0
from tests.models.blueprint import Role, Row

F32, F16, Q8_0, I32, MXFP4 = 0, 1, 8, 26, 39
"""ggml type numbers."""

_MATRICES: Final = (Role.EMBEDDING, Role.OUTPUT, Role.ATTENTION, Role.FFN, Role.SHARED)
_FP4: Final = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
_ROUTER_SPREAD: Final = 3.0

Values = NDArray[np.float32]


def type_of(row: Row, expert_type: int) -> int:
    """Return the ggml type of a tensor: experts as asked, other matrices F16, the rest plain."""
    if row.role is Role.EXPERTS:
        return expert_type
    if row.role is Role.HASH:
        return I32
    return F16 if row.role in _MATRICES else F32


def content_of(row: Row, type_id: int, experts: int) -> bytes:
    """Return the bytes of a tensor: always the same for the same name and shape."""
    random = np.random.default_rng(zlib.crc32(row.name.encode()))
    shape = tuple(reversed(row.shape))
    if row.role is Role.HASH:
        return random.integers(0, experts, shape).astype("<i4").tobytes()
    values = _values(row, random.standard_normal(shape, dtype=np.float32))
    if row.role is Role.OUTPUT:
        values[: len(SPECIALS)] = 0  # no likeliest token ends an answer before it begins
    return encoded(values, type_id)


def encoded(values: Values, type_id: int) -> bytes:
    """Return values in one of the five types used here but `I32`."""
    match type_id:
        case 0:
            return values.astype("<f4").tobytes()
        case 1:
            return values.astype("<f2").tobytes()
        case 8:
            return q8_0(values)
        case 39:
            return _mxfp4(values)
    raise ValueError(f"no encoder for ggml type {type_id}")


def _values(row: Row, normal: Values) -> Values:
    match row.role:
        case Role.NORM:
            return 1 + np.float32(0.05) * normal
        case Role.BIAS:
            return np.float32(0.02) * normal
        case Role.DECAY:
            return -np.abs(normal)
        case Role.EMBEDDING:
            return normal
    spread = _ROUTER_SPREAD if row.role is Role.ROUTER else 1.0
    return np.float32(spread / row.shape[0] ** 0.5) * normal


def _mxfp4(values: Values) -> bytes:
    """Return blocks of 32: an exponent, then 4-bit floats, the first 16 in the low halves of their bytes."""
    blocks = values.reshape(-1, 32)
    exponents = np.floor(np.log2(np.abs(blocks).max(axis=1))) - 2
    scaled = blocks / np.exp2(exponents)[:, None]
    nearest = np.abs(np.abs(scaled)[:, :, None] - _FP4).argmin(axis=2).astype(np.uint8)
    codes = nearest | np.where(scaled < 0, np.uint8(8), np.uint8(0))
    halves = codes[:, :16] | (codes[:, 16:] << 4)
    return np.concatenate([(exponents + 127).astype(np.uint8)[:, None], halves], axis=1).tobytes()
