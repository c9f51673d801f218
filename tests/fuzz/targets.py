"""What is fed foreign bytes: each target lets its one named error through and nothing else."""

import atexit
import io
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from app.findings import Finding, FindingCode, FindingError
from app.gguf.anatomy import anatomy_of, router_findings
from app.gguf.describe import describe
from app.gguf.header_patch import byte_changes, patched_header
from app.gguf.inspect_file import findings_for_chat, inspect_path
from app.gguf.key_types import is_count
from app.gguf.mended_header import mended_header
from app.gguf.metadata_rows import metadata_rows
from app.gguf.reader import GgufError, GgufHeader, MetadataValue, SkippedValue, parse_header, read_header
from app.gguf.repair import RepairKind, repairs_for
from app.gguf.shards import ShardSet, find_shards, shard_findings
from app.gguf.validate import validate
from app.gguf.writer import KeyValue, TensorData, ValueType, array, scalar, write_gguf
from app.library.model_summary import ModelSummary
from app.texts import LANGUAGES, Texts

Target = Callable[[bytes], None]

_NAME: Final = Path("m.gguf")
_TYPES: Final = {
    "u8": ValueType.UINT8, "i8": ValueType.INT8, "u16": ValueType.UINT16, "i16": ValueType.INT16,
    "u32": ValueType.UINT32, "i32": ValueType.INT32, "f32": ValueType.FLOAT32, "bool": ValueType.BOOL,
    "u64": ValueType.UINT64, "i64": ValueType.INT64, "f64": ValueType.FLOAT64, "str": ValueType.STRING,
}  # fmt: skip
_DATA_BYTES_MAX: Final = 4096
PART_SEPARATOR: Final = b"\0next part\0"


def read(content: bytes) -> None:
    """Bytes -> a header whose numbers are sound."""
    header = _header(content)
    if header is not None:
        assert header.data_offset % header.alignment == 0
        assert len(set(header.duplicate_keys)) == len(header.duplicate_keys)
        assert set(header.key_types) >= set(header.keys)


def shards(content: bytes) -> None:
    """The parts of a model, and what is wrong with the set."""
    parts = content.split(PART_SEPARATOR)[:8]
    names = [Path(f"m-{number + 1:05d}-of-{len(parts):05d}.gguf") for number in range(len(parts))]
    found = [_header(*given) for given in zip(parts, names, range(len(parts)), strict=True)]
    headers = [header for header in found if header is not None]
    if headers:
        for header in headers:
            assert find_shards(header).missing or header.path.name
        missing = tuple(name.name for name, header in zip(names, found, strict=True) if header is None)
        _say(shard_findings(ShardSet(tuple(header.path for header in headers), missing), headers))
        facts = describe(headers, names)
        _say(validate(headers, facts))


def facts(content: bytes) -> None:
    """A header -> facts, anatomy and a row of the list."""
    header = _header(content)
    if header is not None:
        known = describe([header], [_NAME])
        assert known.expert_count >= 0 and known.mtp_layers >= 0
        assert all(size >= 0 for layer in known.layers for size in layer.bytes_by_class.values())
        anatomy = anatomy_of(known)
        assert 0 <= anatomy.expert_share <= 1
        _say(router_findings(known))


def rules(content: bytes) -> None:
    """A header -> findings that can be told in every language."""
    header = _header(content)
    if header is not None:
        _say(validate([header], describe([header], [_NAME])))


def files(content: bytes) -> None:
    """A file on disk -> all that the model page shows of it; nothing at all is raised."""
    path = _scratch() / "m.gguf"
    path.write_bytes(content)
    inspected = inspect_path(path)
    _say(findings_for_chat(inspected))
    summary = ModelSummary.from_inspected(inspected)
    assert ModelSummary.from_json(summary.to_json()) == summary
    try:
        metadata_rows(path)
    except GgufError as reason:
        assert reason.reason


def mend(content: bytes) -> None:
    """A file -> the header a patched copy would have, byte by byte; it can be read, or nobody can mend it."""
    path = _scratch() / "m.gguf"
    path.write_bytes(content)
    inspected = inspect_path(path)
    assert len({repair.kind for repair in repairs_for(inspected)}) <= len(RepairKind)
    try:
        mended = mended_header(inspected)
    except FindingError as reason:
        assert reason.finding.code is FindingCode.REPAIR_IMPOSSIBLE
        return
    _say(mended.left)
    patched = patched_header(mended.raw, mended.patch)
    parse_header(path, io.BytesIO(patched), max(len(content), len(patched)))
    before = mended.raw.content
    assert all(
        before[change.offset :].startswith(change.before) for change in byte_changes(mended.raw, mended.patch)
    )


def round_trip(content: bytes) -> None:
    """A header -> a file of ours -> the same header."""
    header = _header(content)
    if header is None:
        return
    entries = [entry for name, value in header.keys.items() for entry in _entry(name, value, header)]
    tensors = _writable(header)
    path = _scratch() / "w.gguf"
    write_gguf(path, entries, tensors)
    again = read_header(path)
    kept = {entry.key for entry in entries}
    assert repr(again.keys) == repr({name: value for name, value in header.keys.items() if name in kept})
    assert [(t.name, t.shape) for t in again.tensors] == [(t.name, t.shape) for t in tensors]


TARGETS: Final[Mapping[str, Target]] = {
    "read": read,
    "shards": shards,
    "facts": facts,
    "rules": rules,
    "files": files,
    "mend": mend,
    "round_trip": round_trip,
}


def _header(content: bytes, path: Path = _NAME, shard: int = 0) -> GgufHeader | None:
    try:
        return parse_header(path, io.BytesIO(content), len(content))
    except GgufError as reason:
        assert reason.reason and str(reason)
        return None


def _entry(name: str, value: MetadataValue, header: GgufHeader) -> Iterable[KeyValue]:
    kind = header.key_types[name]
    # what a count of another type means is judged by what follows it, and that changes with the file
    is_judged = kind != "u32" and is_count(name)
    is_ours = name != "general.alignment" and not is_judged
    if isinstance(value, SkippedValue) or not is_ours or "\ufffd" in name:
        return
    if isinstance(value, tuple):
        if value:
            yield array(name, _array_type(value), value)
    elif kind in _TYPES:
        yield scalar(name, _TYPES[kind], value)


def _array_type(values: tuple[bool | int | float | str, ...]) -> ValueType:
    first = values[0]
    if isinstance(first, bool):
        return ValueType.BOOL
    if isinstance(first, str):
        return ValueType.STRING
    if isinstance(first, float):
        return ValueType.FLOAT64
    return ValueType.INT64 if any(int(value) < 0 for value in values) else ValueType.UINT64


def _writable(header: GgufHeader) -> list[TensorData]:
    return [
        TensorData(tensor.name, tensor.shape, 24, _DATA_BYTES_MAX, lambda: [bytes(_DATA_BYTES_MAX)])
        for tensor in header.tensors[:8]
        if len(tensor.shape) <= 4
    ]


def _say(findings: Iterable[Finding]) -> None:
    for finding in findings:
        for texts in _all_texts():
            assert texts.finding_line(finding)


@cache
def _all_texts() -> tuple[Texts, ...]:
    return tuple(Texts(language) for language in LANGUAGES)


@cache
def _scratch() -> Path:
    """Return a folder of this process: every input becomes a file."""
    folder = tempfile.mkdtemp(prefix="moxie-fuzz-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
