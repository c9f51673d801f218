"""Files that are broken as containers: other formats, cut off, absurd counts and lengths, damaged entries."""

import struct
from typing import Final

from app.findings import FindingCode
from app.gguf.writer import KeyValue, ValueType, text
from tests.models.broken_case import (
    ARCHITECTURE,
    LOADS,
    BrokenCase,
    Expected,
    Witness,
    edited,
    good,
    made,
)
from tests.models.draft import Draft, string

_STRING, _ARRAY, _U8, _U32 = ValueType.STRING, ValueType.ARRAY, ValueType.UINT8, ValueType.UINT32
_EVIL: Final = string(b"evil")
_NOTHING: Final = Expected(None, witness=Witness.NOBODY)
_CUT: Final = Expected(FindingCode.FILE_INCOMPLETE)
_PAGE: Final = b"<!DOCTYPE html><html><body>404 Not Found</body></html>" * 40
_POINTER: Final = (
    b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 4920734272\n"
)


def _broken(reason: str) -> Expected:
    return Expected(FindingCode.HEADER_BROKEN, reason)


def _not_gguf(looks_like: str) -> Expected:
    return Expected(FindingCode.NOT_GGUF, looks_like)


def _whole() -> bytes:
    return good().encode()


def _data_start() -> int:
    head = len(good().head())
    return head + -head % 32


def _half_of_data() -> bytes:
    whole = _whole()
    return whole[: (_data_start() + len(whole)) // 2]


def _big_endian() -> bytes:
    """Return a sound file of a big-endian machine: one key and one tensor."""
    key = struct.pack(">Q", 20) + b"general.architecture" + struct.pack(">I", _STRING)
    key += struct.pack(">Q", len(ARCHITECTURE)) + ARCHITECTURE.encode()
    row = struct.pack(">Q", 17) + b"token_embd.weight" + struct.pack(">I2QIQ", 2, 64, 4, 0, 0)
    head = b"GGUF" + struct.pack(">IQQ", 3, 1, 1) + key + row
    return head + bytes(-len(head) % 32) + struct.pack(">f", 1.0) * 256


def _with_version(draft: Draft, version: int) -> None:
    draft.version = version


def _with_counts(draft: Draft, tensors: int | None = None, keys: int | None = None) -> None:
    draft.tensor_count, draft.key_count = tensors, keys


def _evil(draft: Draft, *numbers: tuple[str, int]) -> None:
    """Put an entry first whose type and lengths are `numbers`, each with its struct format."""
    content = b"".join(struct.pack(f"<{layout}", number) for layout, number in numbers)
    draft.raw_entries.append(_EVIL + content)


def _without_tensors(draft: Draft) -> None:
    draft.rows, draft.data = [], bytearray()


def _aligned(draft: Draft, alignment: int) -> None:
    draft.put_number("general.alignment", alignment)


OTHER_FORMATS: Final = (
    made("empty", "no bytes", Expected(FindingCode.FILE_EMPTY), lambda: b""),
    made("magic-only", "four bytes", _CUT, lambda: b"GGUF"),
    made("short-20-bytes", "less than the fixed head", _CUT, lambda: _whole()[:20]),
    made(
        "wrong-magic", "the format before GGUF", _not_gguf("ggml-before-gguf"), lambda: b"GGML" + _whole()[4:]
    ),
    made("html-error-page", "a web page saved as a model", _not_gguf("html"), lambda: _PAGE),
    made("lfs-pointer", "a pointer of Git LFS", _not_gguf("git-lfs-pointer"), lambda: _POINTER),
    made("zip-file", "an archive", _not_gguf("zip"), lambda: b"PK\3\4" + bytes(400)),
    made("big-endian-real", "from a big-endian machine", _broken("big-endian"), _big_endian),
)

CUT_OFF: Final = (
    made("truncated-in-kv", "ends in the metadata", _CUT, lambda: _whole()[:2000]),
    made(
        "truncated-in-tensor-info", "ends in the tensor table", _CUT, lambda: _whole()[: _data_start() - 200]
    ),
    made("truncated-at-data", "no weights at all", _CUT, lambda: _whole()[: _data_start()]),
    made("truncated-half-data", "half of the weights", _CUT, _half_of_data),
    made("truncated-last-byte", "40 bytes short", _CUT, lambda: _whole()[:-40]),
)

VERSIONS: Final = (
    edited("version-0", "version 0", _broken("version"), lambda d: _with_version(d, 0)),
    edited("version-1", "version 1", _broken("version"), lambda d: _with_version(d, 1)),
    edited("version-2", "version 2, laid out as 3 is", _NOTHING, lambda d: _with_version(d, 2), LOADS),
    edited("version-4", "a version to come", _broken("version"), lambda d: _with_version(d, 4)),
    edited(
        "version-big-endian-mark", "version 3 in the other byte order", _broken("big-endian"),
        lambda d: _with_version(d, 3 << 24),
    ),
)  # fmt: skip

COUNTS: Final = (
    edited("kv-count-2e60", "2**60 keys", _broken("bad-count"), lambda d: _with_counts(d, keys=2**60)),
    edited("tensor-count-2e60", "2**60 tensors", _broken("bad-count"), lambda d: _with_counts(d, 2**60)),
    edited("tensor-count-1e7", "ten million tensors", _broken("bad-count"), lambda d: _with_counts(d, 10**7)),
    edited(
        "kv-count-zero", "no keys", Expected(FindingCode.ARCHITECTURE_MISSING), lambda d: d.entries.clear()
    ),
    edited(
        "tensor-count-zero", "a vocabulary and no tensors", Expected(FindingCode.NOT_A_CHAT_MODEL, "vocab"),
        _without_tensors,
    ),
    edited(
        "tensor-count-too-low", "three tensors more than it says",
        Expected(FindingCode.EXPERT_TENSORS_MISSING, also=(FindingCode.TENSOR_COUNT_WRONG,)),
        lambda d: _with_counts(d, len(d.rows) - 3),
    ),
)  # fmt: skip

LENGTHS: Final = (
    edited("string-len-2e62", "a text of 2**62 bytes", _broken("bad-length"),
           lambda d: _evil(d, ("I", _STRING), ("Q", 2**62))),
    edited("string-len-4e9", "a text of 4 GB", _broken("bad-length"),
           lambda d: _evil(d, ("I", _STRING), ("Q", 4 * 10**9))),
    edited("key-len-2e40", "a key of 2**40 bytes", _broken("bad-length"),
           lambda d: d.raw_entries.append(struct.pack("<Q", 2**40) + b"x")),
    edited("array-len-2e61", "2**61 numbers", _broken("bad-length"),
           lambda d: _evil(d, ("I", _ARRAY), ("I", _U32), ("Q", 2**61))),
    edited("array-u8-len-8e9", "eight billion bytes", _broken("bad-length"),
           lambda d: _evil(d, ("I", _ARRAY), ("I", _U8), ("Q", 8 * 10**9))),
    edited("array-str-len-1e9", "a billion texts", _broken("bad-length"),
           lambda d: _evil(d, ("I", _ARRAY), ("I", _STRING), ("Q", 10**9))),
    edited("array-nested", "an array of arrays", _broken("nested-array"),
           lambda d: _evil(d, ("I", _ARRAY), ("I", _ARRAY), ("Q", 1), ("I", _U32), ("Q", 1), ("I", 1))),
    edited("value-type-99", "a value of unknown type", _broken("value-type"),
           lambda d: _evil(d, ("I", 99), ("I", 0))),
)  # fmt: skip

ENTRIES: Final = (
    edited("key-duplicated", "a key twice",
           Expected(FindingCode.METADATA_DUPLICATE, f"{ARCHITECTURE}.expert_count"),
           lambda d: d.entries.append(
               (f"{ARCHITECTURE}.expert_count".encode(), struct.pack("<II", _U32, 4)))),
    edited("key-empty", "a key without a name", _broken("empty-key"),
           lambda d: d.entries.append((b"", struct.pack("<II", _U32, 4)))),
    edited("key-invalid-utf8", "a key that is no text", _NOTHING,
           lambda d: d.entries.append((b"\xff\xfe\x80", struct.pack("<II", _U32, 1))), LOADS),
    edited("bool-value-7", "neither true nor false", _NOTHING,
           lambda d: d.put(KeyValue("evil", struct.pack("<IB", ValueType.BOOL, 7))), LOADS),
    edited("alignment-0", "tensors at multiples of 0", _broken("alignment"), lambda d: _aligned(d, 0)),
    edited("alignment-3", "tensors at multiples of 3", _broken("alignment"), lambda d: _aligned(d, 3)),
    edited("alignment-2147483648", "tensors 2 GB apart", _broken("alignment"), lambda d: _aligned(d, 2**31)),
    edited("alignment-as-string", "an alignment in letters", _broken("alignment"),
           lambda d: d.put(text("general.alignment", "32"))),
)  # fmt: skip

CONTAINER_CASES: Final[tuple[BrokenCase, ...]] = (
    *OTHER_FORMATS,
    *CUT_OFF,
    *VERSIONS,
    *COUNTS,
    *LENGTHS,
    *ENTRIES,
)
