"""Looks into the weights for values that are no numbers and for tensors of nothing but zeros.

Engines load such files without a word, and answer with nonsense. Of quantized types only the scales are
looked at: codes are whole numbers (`quant_scales.py`). Plain reads, not a memory map: a drive that goes away
must not kill the process.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from io import FileIO
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.files import open_regular
from app.findings import Finding, FindingCode, FindingError, error, warning
from app.gguf.facts import ModelFacts, TensorInfo
from app.gguf.quant_scales import SCALE_FIELDS, SPREAD_OFFSET, SPREAD_SCALE, ScaleField
from app.gguf.quants import QUANT_TYPES
from app.gguf.reader import GgufError, read_header

SAMPLE_SECONDS: Final = 0.5
"""A sample stops here; on a slow drive fewer tensors are looked at, the small ones first."""

SPOTS: Final = 3
BLOCKS_PER_SPOT: Final = 64
SMALL_BYTES: Final = 1024**2
CHUNK_BYTES: Final = 4 * 1024**2
MAX_NAMED: Final = 5

_LAYOUTS: Final = {quant.name: quant for quant in QUANT_TYPES.values()}
_Bytes = NDArray[np.uint8]


@dataclass(slots=True)
class _Seen:
    """What was found in one tensor so far."""

    checked: int = 0
    bad: int = 0
    first: int | None = None
    is_zero: bool = True


@dataclass(slots=True)
class _Run:
    """Progress of one scan over `total` bytes."""

    total: int
    deadline: float | None
    on_progress: Callable[[float], None]
    is_cancelled: Callable[[], bool]
    done: int = 0
    seen: list[tuple[TensorInfo, _Seen]] = field(default_factory=list)

    def is_over(self) -> bool:
        is_late = self.deadline is not None and time.monotonic() > self.deadline
        return is_late or self.is_cancelled()

    def advance(self, size_bytes: int) -> None:
        self.done += size_bytes
        self.on_progress(min(1.0, self.done / max(1, self.total)))


def scan_weights(
    facts: ModelFacts,
    *,
    is_full: bool = False,
    on_progress: Callable[[float], None] = lambda _: None,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> tuple[Finding, ...]:
    """Return the findings on the weights of a model; none when what was looked at is sound.

    A sample reads norms and routers in full and a few blocks of every other tensor, within half a second.
    Reads for as long as the drive takes when full: a worker thread's job.

    Args:
        is_full: Read every byte.
        on_progress: Hears the share that is done, 0 to 1.
        is_cancelled: Asked between reads; what was found until then is returned.
    """
    tensors = sorted(
        (tensor for tensor in facts.tensors if _can_read(tensor)),
        key=lambda tensor: (tensor.shard, tensor.offset_bytes) if is_full else (not _is_small(tensor), 0),
    )
    total = sum(size for tensor in tensors for _, size in _ranges(tensor, is_full=is_full))
    deadline = None if is_full else time.monotonic() + SAMPLE_SECONDS
    run = _Run(total, deadline, on_progress, is_cancelled)
    try:
        _scan(facts, tensors, run, is_full=is_full)
    except (OSError, FindingError, GgufError) as reason:
        detail = getattr(reason, "strerror", None) or str(reason)
        return (*_findings(run), warning(FindingCode.WEIGHTS_UNREAD, file=facts.path.name, detail=detail))
    return _findings(run)


def can_scan(facts: ModelFacts) -> bool:
    """Return whether a scan has anything to look at."""
    return any(_can_read(tensor) for tensor in facts.tensors)


def _scan(facts: ModelFacts, tensors: Sequence[TensorInfo], run: _Run, *, is_full: bool) -> None:
    starts: dict[int, int] = {}
    files: dict[int, FileIO] = {}
    try:
        for tensor in tensors:
            if run.is_over():
                return
            if tensor.shard not in files:
                path = facts.files[tensor.shard]
                starts[tensor.shard] = read_header(path).data_offset
                files[tensor.shard] = open_regular(path)
            seen = _Seen()
            run.seen.append((tensor, seen))
            start = starts[tensor.shard] + tensor.offset_bytes
            for offset, size in _ranges(tensor, is_full=is_full):
                if run.is_over():
                    break
                _look(tensor, seen, offset, _read(files[tensor.shard], start + offset, size))
                run.advance(size)
    finally:
        for file in files.values():
            file.close()


def _can_read(tensor: TensorInfo) -> bool:
    return bool(tensor.size_bytes) and (tensor.type_name in SCALE_FIELDS or tensor.type_name == SPREAD_SCALE)


def _is_small(tensor: TensorInfo) -> bool:
    is_vital = "norm" in tensor.name or "ffn_gate_inp" in tensor.name or len(tensor.shape) == 1
    return is_vital and (tensor.size_bytes or 0) <= SMALL_BYTES


def _ranges(tensor: TensorInfo, *, is_full: bool) -> Iterator[tuple[int, int]]:
    """Yield offset and size of what is to be read of a tensor, whole blocks each."""
    block, size = _LAYOUTS[tensor.type_name].block_bytes, tensor.size_bytes or 0
    spot = BLOCKS_PER_SPOT * block
    if not is_full and not _is_small(tensor) and size > SPOTS * spot:
        for number in range(SPOTS):
            yield (size - spot) * number // (SPOTS - 1) // block * block, spot
        return
    chunk = CHUNK_BYTES // block * block
    for offset in range(0, size, chunk):
        yield offset, min(chunk, size - offset)


def _read(file: FileIO, offset: int, size_bytes: int) -> _Bytes:
    file.seek(offset)
    pieces = []
    while size_bytes > 0 and (piece := file.read(size_bytes)):
        pieces.append(piece)
        size_bytes -= len(piece)
    return np.frombuffer(b"".join(pieces), np.uint8)


def _look(tensor: TensorInfo, seen: _Seen, offset: int, content: _Bytes) -> None:
    layout = _LAYOUTS[tensor.type_name]
    whole = len(content) // layout.block_bytes
    blocks = content[: whole * layout.block_bytes].reshape(whole, layout.block_bytes)
    for numbers in _numbers(tensor.type_name, blocks):
        is_bad = ~np.isfinite(numbers)
        seen.checked += numbers.size
        if is_bad.any():
            seen.bad += int(np.count_nonzero(is_bad))
            block = offset // layout.block_bytes + int(np.argmax(is_bad.any(axis=1)))
            first = block * layout.block_elements
            seen.first = first if seen.first is None else min(seen.first, first)
        seen.is_zero = seen.is_zero and (not numbers.any() or not content.any())


def _numbers(type_name: str, blocks: _Bytes) -> Iterator[NDArray[np.floating]]:
    """Yield the floating-point numbers of whole blocks, a row per block."""
    if type_name == SPREAD_SCALE:
        words = np.ascontiguousarray(blocks[:, SPREAD_OFFSET : SPREAD_OFFSET + 8]).view("<u2") >> 12
        yield (words @ np.array([1, 16, 256, 4096], np.uint16)).astype("<u2").view("<f2")[:, None]
        return
    for place in SCALE_FIELDS[type_name]:
        yield _field(place, blocks)


def _field(place: ScaleField, blocks: _Bytes) -> NDArray[np.floating]:
    width = _WIDTHS[place.kind]
    raw = np.ascontiguousarray(blocks[:, place.offset : place.offset + place.count * width])
    match place.kind:
        case "bf16":
            return (raw.view("<u2").astype(np.uint32) << 16).view(np.float32)
        case "e8m0":
            return np.where(raw == 0xFF, np.nan, 1.0)
        case "ue4m3":
            return np.where(raw & 0x7F == 0x7F, np.nan, raw.astype(np.float64))
    return raw.view(f"<f{width}")


_WIDTHS: Final = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8, "e8m0": 1, "ue4m3": 1}


def _findings(run: _Run) -> tuple[Finding, ...]:
    bad = [(tensor, seen) for tensor, seen in run.seen if seen.bad]
    findings = [
        error(
            FindingCode.WEIGHTS_NOT_FINITE,
            tensor=tensor.name,
            type=tensor.type_name,
            count=seen.bad,
            checked=seen.checked,
            position=seen.first,
            tensors=len(bad),
        )
        for tensor, seen in bad[:MAX_NAMED]
    ]
    # biases may well be zero; a matrix is not
    zero = [(t, s) for t, s in run.seen if s.checked and s.is_zero and not s.bad and len(t.shape) > 1]
    if zero:
        tensor, seen = zero[0]
        findings.append(
            warning(
                FindingCode.WEIGHTS_ALL_ZERO,
                tensor=tensor.name,
                type=tensor.type_name,
                checked=seen.checked,
                tensors=len(zero),
            )
        )
    return tuple(findings)
