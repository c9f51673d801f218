"""Why llama.cpp refused a file or aborted on it: its log lines become findings about the file.

Recorded with the llama.cpp of llama-cpp-python 0.3.36 and with llama-server (`tests/data/logs/refused-*`).
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from app.findings import Finding, FindingCode, Severity, error
from app.gguf.architecture_rules import unknown_architecture
from app.gguf.tokenizer_rules import unknown_pre_tokenizer

_Match = re.Match[str]
_Rule = tuple[re.Pattern[str], Callable[[_Match, str | None], Finding]]

_FILE: Final = (
    re.compile(r"loaded meta data with .{0,80} from (?P<path>.+) \(version GGUF"),
    re.compile(r"failed to load model from (?P<path>\S.*)$"),
    re.compile(r"failed to load model,? '(?P<path>.+)'"),
)
_SEPARATOR: Final = re.compile(r"[/\\]")

_FUNCTION: Final = re.compile(r"^.{0,80}?\bgguf_init_\w{1,40}: ")

_LISTS: Final = {"scores": "tokenizer.ggml.scores", "toktypes": "tokenizer.ggml.token_type"}
_MERGES: Final = "tokenizer.ggml.merges"
_TOKENS: Final = "tokenizer.ggml.tokens"
_MODEL: Final = "tokenizer.ggml.model"

_TENSOR: Final = r"tensor '(?P<tensor>[^']{1,200})'"
_TENSOR_REASONS: Final = (
    (re.compile(r"duplicate tensor name '(?P<tensor>[^']{1,200})'"), "duplicate-name"),
    (re.compile(rf"invalid model: {_TENSOR} is duplicated"), "duplicate-name"),
    (re.compile(rf"{_TENSOR} has offset"), "offset"),
    (re.compile(rf"{_TENSOR} has invalid number of dimensions"), "dimensions"),
    (re.compile(rf"{_TENSOR} dimension \d has invalid number of elements"), "shape"),
    (re.compile(rf"incorrect shape for a {_TENSOR}"), "shape"),
    (re.compile(rf"{_TENSOR} of type .{{1,200}} not a multiple of block size"), "row-not-whole-blocks"),
)
_HEADER_REASONS: Final = (
    (re.compile(r"invalid magic characters"), "not-gguf"),
    (re.compile(r"key \d{1,9} is empty"), "empty-key"),
    (re.compile(r"string length \d{1,20} exceeds"), "bad-length"),
    (re.compile(r"has invalid GGUF type"), "value-type"),
    (re.compile(r"alignment \d{1,20} is not a power of 2|seek to beginning of data section"), "alignment"),
    (re.compile(r"host and model endianness"), "big-endian"),
    (re.compile(r"GGUFv1 is no longer supported"), "version"),
)
_SOMEWHERE: Final = re.compile(
    r"failed to read (?:magic|header|key-value pairs|tensor info|tensor data)|failed to read GGUF"
)


def refusal(lines: Sequence[str]) -> Finding | None:
    """Return why a file was refused; None where the log does not say, or not in words known here.

    Args:
        lines: Of the load, from its beginning: the file is named there.
    """
    file = _file_name(lines)
    for line in reversed(lines):
        for pattern, finding_of in _RULES:
            if found := pattern.search(line):
                return finding_of(found, file)
    for line in reversed(lines):
        if _SOMEWHERE.search(line):
            return _header_broken("unreadable-header", line, file)
    return None


def abort_cause(line: str) -> FindingCode | None:
    """Return what in the file made one of the engine's own checks fail; None for checks of other things."""
    return next((code for pattern, code in _ABORTS if pattern.search(line)), None)


def _file_name(lines: Sequence[str]) -> str | None:
    for line in reversed(lines):
        for pattern in _FILE:
            if found := pattern.search(line):
                return _base(found["path"])
    return None


def _base(path: str) -> str:
    return _SEPARATOR.split(path.strip())[-1]


def _shape(numbers: str, dimensions: int) -> str:
    """Return llama.cpp's list of lengths as `64 × 32 × 8`; it always names four of those found."""
    lengths = [part.strip() for part in numbers.split(",")]
    while len(lengths) > dimensions and lengths[-1] == "1":
        lengths.pop()
    return " × ".join(lengths)


def _wrong_shape(found: _Match, _file: str | None) -> Finding:
    dimensions = found["expected"].count(",") + 1
    return error(
        FindingCode.TENSOR_SHAPE_MISMATCH,
        tensor=found["tensor"],
        expected=_shape(found["expected"], dimensions),
        found=_shape(found["found"], dimensions),
    )


def _key_missing(found: _Match, file: str | None) -> Finding:
    if found["key"] == _MODEL:
        return error(FindingCode.TOKENIZER_MISSING, file=file, keys=(_MODEL,))
    return error(FindingCode.METADATA_MISSING, key=found["key"])


def _architecture(found: _Match, file: str | None) -> Finding:
    if not found["name"]:
        return error(FindingCode.ARCHITECTURE_MISSING, file=file)
    return replace(unknown_architecture(found["name"]), severity=Severity.ERROR)


def _tensor_invalid(reason: str) -> Callable[[_Match, str | None], Finding]:
    return lambda found, file: error(
        FindingCode.TENSOR_INVALID, file=file, tensor=found["tensor"], reason=reason, tensors=1
    )


def _header_reason(reason: str) -> Callable[[_Match, str | None], Finding]:
    return lambda found, file: _header_broken(reason, found.string, file)


def _header_broken(reason: str, line: str, file: str | None) -> Finding:
    return error(FindingCode.HEADER_BROKEN, file=file, reason=reason, detail=_FUNCTION.sub("", line.strip()))


def _shard(found: _Match, _file: str | None) -> Finding:
    path = found["path"]
    detail = found.string.strip().replace(path, _base(path))
    return error(FindingCode.SHARD_REFUSED, file=_base(path), detail=detail.rpartition("loading model: ")[2])


def _rule(pattern: str, finding_of: Callable[[_Match, str | None], Finding]) -> _Rule:
    return re.compile(pattern), finding_of


_LENGTHS: Final = r"[\d, ]{1,200}"
_SHAPES: Final = rf"expected (?P<expected>{_LENGTHS}), got (?P<found>{_LENGTHS})"
_OF_TYPE: Final = r"(?P<found>\w{1,9}) but expected type (?P<expected>\w{1,9})"
_COUNTS: Final = r"expected (?P<expected>\d{1,10}), got (?P<found>\d{1,10})"
_FEWER: Final = r"\((?P<found>\d{1,9}) < (?P<expected>\d{1,9})\)"
_LOOK_UP: Final = r"(?:unordered_map|map|_Map_base)::at|invalid unordered_map.{0,40}key"

_RULES: Final[tuple[_Rule, ...]] = (
    _rule(
        rf"{_TENSOR} has wrong shape; {_SHAPES}",
        _wrong_shape,
    ),
    _rule(rf"{_TENSOR} not found", lambda m, _: error(FindingCode.TENSOR_MISSING, tensor=m["tensor"])),
    _rule(
        rf"{_TENSOR} data is not within the file bounds",
        lambda m, _: error(FindingCode.TENSOR_BEYOND_FILE, tensor=m["tensor"]),
    ),
    _rule(
        rf"{_TENSOR} has invalid data",
        lambda m, _: error(FindingCode.WEIGHTS_REFUSED, tensor=m["tensor"]),
    ),
    _rule(
        rf"{_TENSOR} has invalid ggml type (?P<type>\d{{1,10}})",
        lambda m, _: error(FindingCode.TENSOR_TYPE_REFUSED, tensor=m["tensor"], type=int(m["type"])),
    ),
    _rule(
        rf"wrong number of tensors; {_COUNTS}",
        lambda m, _: error(
            FindingCode.TENSOR_COUNT_WRONG, expected=int(m["expected"]), found=int(m["found"])
        ),
    ),
    _rule(r"key not found in model: (?P<key>\S{1,200})", _key_missing),
    _rule(
        rf"key (?P<key>\S{{1,200}}) has wrong type {_OF_TYPE}",
        lambda m, _: error(
            FindingCode.METADATA_TYPE_WRONG,
            key=m["key"],
            found=m["found"],
            expected=m["expected"],
            value=None,
        ),
    ),
    _rule(
        r"key '(?P<key>[^']{1,200})' must be of type (?P<expected>\w{1,9}) but is (?P<found>\w{1,9})",
        lambda m, _: error(
            FindingCode.METADATA_TYPE_WRONG,
            key=m["key"],
            found=m["found"],
            expected=m["expected"],
            value=None,
        ),
    ),
    _rule(
        rf"key (?P<key>\S{{1,200}}) has wrong array length; {_COUNTS}",
        lambda m, _: error(
            FindingCode.METADATA_LENGTH_WRONG,
            key=m["key"],
            expected=int(m["expected"]),
            found=int(m["found"]),
        ),
    ),
    _rule(
        r"duplicate key '(?P<key>[^']{1,200})'",
        lambda m, file: error(FindingCode.METADATA_DUPLICATE, file=file, key=m["key"]),
    ),
    _rule(r"unknown model architecture: '(?P<name>[^']{0,200})'", _architecture),
    _rule(
        r"unknown pre-tokenizer type: '(?P<pre>[^']{1,200})'",
        lambda m, _: replace(unknown_pre_tokenizer(m["pre"]), severity=Severity.ERROR),
    ),
    _rule(
        r"unknown tokenizer: '(?P<model>[^']{0,200})'",
        lambda m, _: error(FindingCode.TOKENIZER_UNKNOWN, model=m["model"]),
    ),
    _rule(
        r"cannot find tokenizer merges",
        lambda _, file: error(FindingCode.TOKENIZER_MISSING, file=file, keys=(_MERGES,)),
    ),
    _rule(
        r"cannot find tokenizer vocab",
        lambda _, file: error(FindingCode.TOKENIZER_MISSING, file=file, keys=(_TOKENS,)),
    ),
    _rule(
        rf"out of array bounds for (?P<list>scores|toktypes) {_FEWER}",
        lambda m, _: error(
            FindingCode.VOCABULARY_MISMATCH,
            name=_LISTS[m["list"]],
            found=int(m["found"]),
            expected=int(m["expected"]),
        ),
    ),
    _rule(
        rf"loading model vocabulary: (?P<detail>{_LOOK_UP})",
        lambda m, _: error(FindingCode.VOCABULARY_LOOKUP_FAILED, detail=m["detail"]),
    ),
    _rule(
        r"CLIP cannot be used as main model",
        lambda _, file: error(FindingCode.NOT_A_CHAT_MODEL, file=file, kind="projector"),
    ),
    _rule(r"i(?:nvalid|llegal) split file idx: \d{1,5} \(file: (?P<path>.{1,4096})\)", _shard),
    _rule(r"invalid split file name: (?P<path>.{1,4096})", _shard),
    _rule(r"failed to load GGUF split from (?P<path>.{1,4096})", _shard),
    *((pattern, _tensor_invalid(reason)) for pattern, reason in _TENSOR_REASONS),
    *((pattern, _header_reason(reason)) for pattern, reason in _HEADER_REASONS),
)
"""The last line that fits counts."""

_ABORTS: Final = (
    (re.compile(r"n_expert_used|LLAMA_MAX_EXPERTS"), FindingCode.EXPERT_COUNTS_ABORT),
    (re.compile(r"n_layer\w* > 0|LLAMA_MAX_LAYERS"), FindingCode.BLOCK_COUNT_ABORTS),
    (re.compile(r"id_to_token\.size\(\) == token_to_id\.size\(\)"), FindingCode.VOCABULARY_DUPLICATE),
)

REFUSALS: Final = frozenset(
    {
        *(code for _, code in _ABORTS),
        *(FindingCode.TENSOR_SHAPE_MISMATCH, FindingCode.TENSOR_MISSING, FindingCode.TENSOR_BEYOND_FILE),
        *(FindingCode.TENSOR_TYPE_REFUSED, FindingCode.TENSOR_COUNT_WRONG, FindingCode.TENSOR_INVALID),
        *(FindingCode.METADATA_MISSING, FindingCode.METADATA_TYPE_WRONG, FindingCode.METADATA_LENGTH_WRONG),
        *(FindingCode.METADATA_DUPLICATE, FindingCode.HEADER_BROKEN, FindingCode.NOT_A_CHAT_MODEL),
        *(FindingCode.ARCHITECTURE_MISSING, FindingCode.ARCHITECTURE_UNKNOWN),
        *(FindingCode.ARCHITECTURE_TOO_NEW, FindingCode.PRE_TOKENIZER_UNKNOWN),
        *(FindingCode.PRE_TOKENIZER_TOO_NEW, FindingCode.TOKENIZER_UNKNOWN, FindingCode.TOKENIZER_MISSING),
        *(FindingCode.VOCABULARY_MISMATCH, FindingCode.VOCABULARY_LOOKUP_FAILED),
        *(FindingCode.WEIGHTS_REFUSED, FindingCode.SHARD_REFUSED),
    }
)
"""All that `refusal` and `abort_cause` say: faults of the file, and none of the machine."""
