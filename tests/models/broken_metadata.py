"""Files whose metadata is wrong: expert counts, sizes, the architecture, the tokenizer, the template."""

from collections.abc import Callable
from typing import Final

from app.findings import FindingCode
from app.gguf.writer import text
from tests.models.broken_case import (
    ABORTS,
    ARCHITECTURE,
    LOADS,
    REFUSED,
    BrokenCase,
    EngineOutcome,
    Expected,
    Witness,
    edited,
)
from tests.models.draft import Draft

COUNT: Final = f"{ARCHITECTURE}.expert_count"
EPSILON: Final = f"{ARCHITECTURE}.attention.layer_norm_rms_epsilon"
USED: Final = f"{ARCHITECTURE}.expert_used_count"
_NO_COUNT: Final = Expected(FindingCode.EXPERT_COUNT_MISSING)
_NO_USED: Final = Expected(FindingCode.EXPERT_USED_COUNT_MISSING)
_BAD_COUNT: Final = FindingCode.EXPERT_COUNT_INVALID
_BAD_BLOCKS: Final = FindingCode.BLOCK_COUNT_INVALID
_BAD_USED: Final = FindingCode.EXPERT_USED_COUNT_INVALID


def _number(
    key: str,
    number: int,
    what: str,
    expected: Expected,
    outcome: EngineOutcome = REFUSED,
    name: str | None = None,
) -> BrokenCase:
    """Return the case of one architecture key set to a number."""
    name = name or f"meta-{key.removeprefix('attention.')}-{number}"
    return edited(name, what, expected, _setting((key, number)), outcome)


def _setting(*numbers: tuple[str, int]) -> Callable[[Draft], None]:
    def edit(draft: Draft) -> None:
        for key, number in numbers:
            draft.put_number(f"{ARCHITECTURE}.{key}", number)

    return edit


def _text(key: str, content: str) -> Callable[[Draft], None]:
    return lambda draft: draft.put(text(key, content))


def _without(*keys: str) -> Callable[[Draft], None]:
    return lambda draft: draft.drop(*keys)


EXPERTS: Final = (
    edited("expert_count-missing", "experts nobody counted", _NO_COUNT, _without(COUNT), ABORTS),
    edited("expert_used_count-missing", "no word on how many are used", _NO_USED, _without(USED), ABORTS),
    edited("expert_both-missing", "neither count",
           Expected(FindingCode.EXPERT_USED_COUNT_MISSING, also=(FindingCode.EXPERT_COUNT_MISSING,)),
           _without(COUNT, USED)),
    _number("expert_count", 0, "no experts, say the keys", _NO_COUNT, ABORTS),
    edited("meta-expert_both-0", "both counts 0", Expected(_BAD_USED, "0"),
           _setting(("expert_count", 0), ("expert_used_count", 0))),
    _number("expert_count", 16, "16 said, 8 held", Expected(FindingCode.EXPERT_COUNT_MISMATCH, 16),
            name="meta-expert_count-16-tensors-8"),
    _number("expert_count", 4, "4 said, 8 held", Expected(FindingCode.EXPERT_COUNT_MISMATCH, 4),
            name="meta-expert_count-4-tensors-8"),
    _number("expert_used_count", 0, "none used", Expected(_BAD_USED, "0"), ABORTS, "meta-expert_used-0"),
    _number("expert_used_count", 9, "9 used of 8", Expected(_BAD_USED, "9"), ABORTS,
            "meta-expert_used-9-of-8"),
    _number("expert_used_count", 8, "all used: works, slowly", Expected(FindingCode.EXPERTS_ALL_USED), LOADS,
            "meta-expert_used-all-8-of-8"),
    _number("expert_count", 5000, "more than engines take", Expected(_BAD_COUNT, "5000"), ABORTS),
    edited("meta-expert_count-as-string", "a count in letters", Expected(_BAD_COUNT, "8"), _text(COUNT, "8")),
    _number("expert_count", 2**32 - 8, "-8 read without a sign", Expected(_BAD_COUNT, "4294967288"), ABORTS,
            "meta-expert_count-negative"),
)  # fmt: skip

SIZES: Final = (
    _number("expert_feed_forward_length", 48, "48 said, experts 32 wide",
            Expected(FindingCode.EXPERT_WIDTH_MISMATCH, 48), name="meta-expert_ff-wrong"),
    _number("expert_feed_forward_length", 0, "no width: engines take another's share",
            Expected(FindingCode.EXPERT_WIDTH_MISMATCH), name="meta-expert_ff-missing-0"),
    _number("block_count", 0, "no blocks", Expected(_BAD_BLOCKS, 0), ABORTS),
    _number("block_count", 9, "9 said, 2 held", Expected(_BAD_BLOCKS, 9),
            name="meta-block_count-9-tensors-2"),
    _number("block_count", 100_000, "more than engines take", Expected(_BAD_BLOCKS, 100_000), ABORTS),
    _number("attention.head_count", 0, "no heads", Expected(FindingCode.HEAD_COUNT_INVALID)),
    _number("attention.head_count_kv", 3, "3 key heads said, 2 held",
            Expected(FindingCode.HEAD_COUNT_INVALID)),
    _number("context_length", 2**31, "more than 31 bits",
            Expected(FindingCode.METADATA_INVALID, 2**31), LOADS, "meta-context_length-2e31"),
    edited("meta-block_count-missing", "no word on blocks", Expected(_BAD_BLOCKS),
           _without(f"{ARCHITECTURE}.block_count")),
    edited("meta-rms-eps-missing", "no epsilon",
           Expected(FindingCode.METADATA_MISSING, EPSILON, witness=Witness.ENGINE), _without(EPSILON)),
)  # fmt: skip

NAMES: Final = (
    edited("arch-unknown", "an architecture nobody knows, over the keys of another",
           Expected(FindingCode.METADATA_PREFIX_MISMATCH, ARCHITECTURE),
           _text("general.architecture", "qwen99moe")),
    edited("arch-missing", "no architecture", Expected(FindingCode.ARCHITECTURE_MISSING),
           _without("general.architecture")),
    edited("arch-is-clip-mmproj", "it calls itself a projector",
           Expected(FindingCode.NOT_A_CHAT_MODEL, "projector"), _text("general.architecture", "clip")),
)  # fmt: skip

TOKENIZER: Final = (
    edited("tokenizer-tokens-missing", "no vocabulary", Expected(FindingCode.TOKENIZER_MISSING),
           _without("tokenizer.ggml.tokens")),
    edited("tokenizer-merges-missing", "no merges", Expected(FindingCode.TOKENIZER_MISSING),
           _without("tokenizer.ggml.merges")),
    edited("tokenizer-model-missing", "no kind of tokenizer", Expected(FindingCode.TOKENIZER_MISSING),
           _without("tokenizer.ggml.model")),
    edited("tokenizer-pre-missing", "no word on how text is cut",
           Expected(FindingCode.PRE_TOKENIZER_MISSING), _without("tokenizer.ggml.pre"), LOADS),
    edited("tokenizer-pre-unknown", "cut in a way nobody knows",
           Expected(FindingCode.PRE_TOKENIZER_UNKNOWN, "martian"), _text("tokenizer.ggml.pre", "martian")),
    edited("chat-template-broken", "a template cut off in the middle",
           Expected(FindingCode.CHAT_TEMPLATE_BROKEN, witness=Witness.TEMPLATE),
           _text("tokenizer.chat_template", "{% for m in messages %}{{ m.x }"), LOADS),
)  # fmt: skip

METADATA_CASES: Final[tuple[BrokenCase, ...]] = (*EXPERTS, *SIZES, *NAMES, *TOKENIZER)
