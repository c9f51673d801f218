"""SamplingOptions as a chain of the engine's own samplers."""

from collections.abc import Sequence
from typing import Any, Final

from app.engine.llama.bindings import Library
from app.engine.llama.params import unsupported
from app.options import SamplingOptions

PENALTY_TOKENS: Final = 64
"""How far back a repetition counts; llama.cpp's own default."""


class Sampler:
    """Picks tokens from a context's last output. Free it with `close`."""

    def __init__(self, library: Library, options: SamplingOptions, vocabulary_size: int) -> None:
        """Build the chain.

        Raises:
            FindingError: `OPTION_UNSUPPORTED` for a penalty of 0, by which the engine would divide.
        """
        if options.repeat_penalty <= 0.0:
            raise unsupported("repeat_penalty", options.repeat_penalty)
        llama = library.llama
        self._llama = llama
        self._sees_history = options.repeat_penalty != 1.0
        self._chain: Any = llama.llama_sampler_chain_init(llama.llama_sampler_chain_default_params())
        for sampler in _samplers(llama, options, vocabulary_size):
            llama.llama_sampler_chain_add(self._chain, sampler)

    def see_prompt(self, tokens: Sequence[int]) -> None:
        """Let penalties know the end of the prompt."""
        if self._sees_history:
            for token in tokens[-PENALTY_TOKENS:]:
                self._llama.llama_sampler_accept(self._chain, token)

    def sample(self, context: Any) -> int:
        """Return the next token of the context's last output."""
        token: int = self._llama.llama_sampler_sample(self._chain, context, -1)
        return token

    def close(self) -> None:
        """Free the chain and its samplers."""
        self._llama.llama_sampler_free(self._chain)


def _samplers(llama: Any, options: SamplingOptions, vocabulary_size: int) -> list[Any]:
    penalties = llama.llama_sampler_init_penalties(
        vocabulary_size, PENALTY_TOKENS, options.repeat_penalty, 0.0, 0.0
    )
    if options.temperature == 0.0:
        return [penalties, llama.llama_sampler_init_greedy()]
    seed = llama.LLAMA_DEFAULT_SEED if options.seed is None else options.seed
    return [
        penalties,
        llama.llama_sampler_init_top_k(options.top_k),
        llama.llama_sampler_init_top_p(options.top_p, 1),
        llama.llama_sampler_init_min_p(options.min_p, 1),
        llama.llama_sampler_init_temp(options.temperature),
        llama.llama_sampler_init_dist(seed),
    ]
