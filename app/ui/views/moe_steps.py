"""The MoE slider counts blocks that have experts; llama.cpp counts all blocks from 0. Pure."""

from dataclasses import dataclass

from app.gguf.facts import ModelFacts
from app.options import EngineOptions
from app.planner.facts import OffloadPlan


@dataclass(frozen=True, slots=True)
class MoeSteps:
    """Which blocks the slider moves.

    A step k means: the experts of the first k such blocks stay in RAM.

    Attributes:
        blocks: Indices of the blocks whose experts a GPU can hold, ascending. Leading dense blocks and extra
            MTP blocks are not among them.
    """

    blocks: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        """The slider's largest step."""
        return len(self.blocks)

    def wish_of(self, step: int) -> str | int:
        """Return what to ask for at a step: `off`, `all`, or N as llama.cpp counts blocks."""
        if step <= 0:
            return "off"
        if step >= self.count:
            return "all"
        return self.blocks[step - 1] + 1

    def step_of(self, n_cpu_moe: int) -> int:
        """Return how many blocks with experts lie below block N."""
        return sum(1 for block in self.blocks if block < n_cpu_moe)

    def step_of_options(self, options: EngineOptions) -> int:
        """Return the step options stand for; without a GPU all experts are in RAM anyway."""
        if options.cpu_moe or options.n_gpu_layers == 0:
            return self.count
        if options.cpu_moe_blocks:
            return sum(1 for block in self.blocks if block in options.cpu_moe_blocks)
        return self.step_of(options.n_cpu_moe)

    def step_of_wish(self, wish: str | int, plan: OffloadPlan | None) -> int:
        """Return the step a wish stands for; what `auto` means only a plan says."""
        if wish == "off":
            return 0
        if wish == "all":
            return self.count
        if isinstance(wish, int):
            return self.step_of(wish)
        return self.step_of_options(plan.options) if plan is not None else 0


def moe_steps(facts: ModelFacts | None) -> MoeSteps:
    """Return the steps of a model; none for a dense one."""
    if facts is None:
        return MoeSteps()
    return MoeSteps(tuple(layer.index for layer in facts.expert_layers if not layer.is_mtp))
