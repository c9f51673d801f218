"""How many experts well-known models use per token: proposals for a file that does not say, no decisions."""

from dataclasses import dataclass
from typing import Final

from app.gguf.describe import expert_count_of
from app.gguf.facts import ModelFacts
from app.gguf.repair_facts import RightValue, ValueSource


@dataclass(frozen=True, slots=True)
class UsualValue:
    """A value, and the model it is known from."""

    value: int
    model: str


_USED_OF: Final[dict[tuple[str, int], UsualValue]] = {
    ("llama", 8): UsualValue(2, "Mixtral 8x7B"),
    ("dbrx", 16): UsualValue(4, "DBRX"),
    ("grok", 8): UsualValue(2, "Grok-1"),
    ("qwen2moe", 60): UsualValue(4, "Qwen1.5-MoE-A2.7B"),
    ("qwen2moe", 64): UsualValue(8, "Qwen2-57B-A14B"),
    ("qwen3moe", 128): UsualValue(8, "Qwen3-30B-A3B"),
    ("qwen3next", 512): UsualValue(10, "Qwen3-Next-80B-A3B"),
    ("deepseek2", 64): UsualValue(6, "DeepSeek-V2-Lite"),
    ("deepseek2", 160): UsualValue(6, "DeepSeek-V2"),
    ("deepseek2", 256): UsualValue(8, "DeepSeek-V3"),
    ("deepseek2", 384): UsualValue(8, "Kimi-K2"),
    ("deepseek4", 256): UsualValue(6, "DeepSeek-V4-Flash"),
    ("glm4moe", 128): UsualValue(8, "GLM-4.5-Air"),
    ("glm4moe", 160): UsualValue(8, "GLM-4.5"),
    ("glm-dsa", 256): UsualValue(8, "GLM-5.2"),
    ("gpt-oss", 32): UsualValue(4, "gpt-oss-20b"),
    ("gpt-oss", 128): UsualValue(4, "gpt-oss-120b"),
    ("llama4", 16): UsualValue(1, "Llama-4-Scout"),
    ("llama4", 128): UsualValue(1, "Llama-4-Maverick"),
    ("olmoe", 64): UsualValue(8, "OLMoE-1B-7B"),
    ("granitemoe", 40): UsualValue(8, "Granite-3.0-3B-A800M"),
    ("phimoe", 16): UsualValue(2, "Phi-3.5-MoE"),
    ("minimax-m2", 256): UsualValue(8, "MiniMax-M2"),
    ("ernie4_5-moe", 64): UsualValue(6, "ERNIE-4.5-21B-A3B"),
}
"""(architecture, experts) -> experts used per token, from the models' published configurations."""


def usual_used_count(architecture: str, expert_count: int) -> UsualValue | None:
    """Return what a known model of this architecture with as many experts uses; None when none is known."""
    return _USED_OF.get((architecture, expert_count))


def usual_right(key: str, facts: ModelFacts) -> RightValue | None:
    """Return what known models say for a key, whatever the file says; None when none is known."""
    architecture = facts.architecture or ""
    usual = usual_used_count(architecture, expert_count_of(facts.layers))
    if usual is None or key != f"{architecture}.expert_used_count":
        return None
    return RightValue(key, usual.value, "u32", ValueSource.USUAL, (), model=usual.model)
