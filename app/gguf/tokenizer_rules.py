"""Whether engines can turn text into tokens with what the header says (`llama_vocab::impl::load`)."""

from collections.abc import Iterator
from typing import Final

from app.findings import Finding, FindingCode, error, note, warning
from app.gguf.facts import FileKind, ModelFacts
from app.gguf.known_names import build_with_pre_tokenizer, is_known_pre_tokenizer
from app.gguf.metadata import Metadata
from app.gguf.reader import GgufHeader
from app.gguf.vocabulary import TOKENS, missing_tokens

_MODEL: Final = "tokenizer.ggml.model"
_PRE: Final = "tokenizer.ggml.pre"
_MERGES: Final = "tokenizer.ggml.merges"
_PER_TOKEN: Final = ("tokenizer.ggml.scores", "tokenizer.ggml.token_type")

_WITHOUT_TOKENS: Final = ("no_vocab", "none", "rwkv")
_WITH_MERGES: Final = ("gpt2", "gemma4")
_KNOWN_MODELS: Final = frozenset(
    {*_WITHOUT_TOKENS, *_WITH_MERGES, "llama", "bert", "t5", "plamo2", "hybriddna", "whitespace", "test"}
)
_WITHOUT_MERGES: Final = "kimi-k2"
"""A pre-tokenizer that does without them, alone among those of `gpt2`."""

NAME: Final = "general.name"
_PHI_NAMES: Final = ("phi-3", "phi3")
_PHI_TOKENS: Final = ("</s>", "<unk>", "<s>", "<|endoftext|>")
_NAME_FIRST: Final = ("jina-v2-de", "jina-v2-es", "jina-v2-code")
_ARCHITECTURE_FIRST: Final = ("nomic-bert-moe", "jina-bert-v3")
"""Where one of these is in pre-tokenizer or architecture, the name is not looked at."""


def tokenizer_findings(header: GgufHeader, facts: ModelFacts, metadata: Metadata) -> Iterator[Finding]:
    """Return the findings on the tokenizer of a model that has an architecture."""
    missing = _missing_keys(metadata)
    if missing:
        yield error(FindingCode.TOKENIZER_MISSING, file=facts.path.name, keys=missing)
        return
    yield from _names_unknown(facts, metadata)
    yield from _lengths(facts, metadata)
    lacking = name_breaks_loader(header, metadata)
    if lacking:
        yield error(FindingCode.NAME_BREAKS_LOADER, key=NAME, name=metadata.string(NAME), tokens=lacking)
    if facts.kind is FileKind.MODEL and not facts.has_chat_template:
        yield note(FindingCode.CHAT_TEMPLATE_MISSING, file=facts.path.name)


def name_breaks_loader(header: GgufHeader, metadata: Metadata) -> tuple[str, ...]:
    """Return the tokens that llama.cpp would look for because of `general.name`, and not find.

    It treats a model with `phi-3` or `phi3` in its name, in any case, as Phi-3, whatever the architecture,
    and gives up when one of four tokens is not there (tested with llama-cpp-python 0.3.36).
    """
    name = (metadata.string(NAME) or "").lower()
    model, pre = metadata.string(_MODEL), metadata.string(_PRE) or ""
    if not any(part in name for part in _PHI_NAMES) or model in (None, *_WITHOUT_TOKENS):
        return ()
    if any(part in pre for part in _NAME_FIRST):
        return ()
    if any(part in (metadata.architecture or "") for part in _ARCHITECTURE_FIRST):
        return ()
    return missing_tokens(header, _PHI_TOKENS) or ()


def harmless_name(name: str) -> str:
    """Return a display name that llama.cpp does not take for Phi-3's: `Not-Phi-3` becomes `Not-Phi 3`."""
    for part in _PHI_NAMES:
        at = name.lower().find(part)
        while at >= 0:
            name = f"{name[: at + 3]} {name[at + len(part) - 1 :]}"
            at = name.lower().find(part)
    return name


def _missing_keys(metadata: Metadata) -> tuple[str, ...]:
    model = metadata.string(_MODEL)
    missing = [] if model is not None else [_MODEL]
    if model not in _WITHOUT_TOKENS and not metadata.has_texts(TOKENS):
        missing.append(TOKENS)
    needs_merges = model in _WITH_MERGES and metadata.string(_PRE) != _WITHOUT_MERGES
    if needs_merges and not metadata.has_texts(_MERGES):
        missing.append(_MERGES)
    return tuple(missing)


def _names_unknown(facts: ModelFacts, metadata: Metadata) -> Iterator[Finding]:
    model, pre = metadata.string(_MODEL) or "", metadata.string(_PRE)
    if model not in _KNOWN_MODELS:
        yield warning(FindingCode.TOKENIZER_UNKNOWN, model=model)
    if model != "gpt2":  # only byte pair encoders have pre-tokenizers
        return
    if not pre:
        yield warning(FindingCode.PRE_TOKENIZER_MISSING, file=facts.path.name)
    elif not is_known_pre_tokenizer(pre):
        yield unknown_pre_tokenizer(pre)


def unknown_pre_tokenizer(pre: str) -> Finding:
    """Return the warning about a pre-tokenizer that the engine asked does not know."""
    build = build_with_pre_tokenizer(pre)
    if build is None:
        return warning(FindingCode.PRE_TOKENIZER_UNKNOWN, key=_PRE, pre=pre)
    return warning(FindingCode.PRE_TOKENIZER_TOO_NEW, key=_PRE, pre=pre, build=build)


def _lengths(facts: ModelFacts, metadata: Metadata) -> Iterator[Finding]:
    tokens = metadata.length(TOKENS)
    if tokens is None:
        return
    for key in _PER_TOKEN:
        length = metadata.length(key)
        if length is not None and length < tokens:
            yield error(FindingCode.VOCABULARY_MISMATCH, name=key, found=length, expected=tokens)
    for tensor in facts.tensors:
        if tensor.name == "token_embd.weight" and len(tensor.shape) == 2 and tensor.shape[1] != tokens:
            rows = tensor.shape[1]
            yield error(FindingCode.VOCABULARY_MISMATCH, name=tensor.name, found=rows, expected=tokens)
