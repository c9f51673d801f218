"""The context's memory: which tokens it holds, what of it the next turn can use, and feeding it more."""

import ctypes
from collections.abc import Sequence
from enum import Enum
from typing import Any

from app.engine.backend import IsCancelled
from app.engine.llama.engine_log import EngineLog
from app.engine.llama.load import LoadedModel
from app.engine.log_reader import explain_load_failure
from app.findings import FindingError

SEQUENCE = 0
TO_THE_END = -1


class Decoded(Enum):
    """How `llama_decode` ended; negative results are failures."""

    DONE = 0
    FULL = 1
    ABORTED = 2


class ContextMemory:
    """The KV cache of one conversation, with the tokens it was made from."""

    def __init__(self, loaded: LoadedModel, log: EngineLog) -> None:
        """Start empty."""
        self._llama: Any = loaded.library.llama
        self._context = loaded.context
        self._log = log
        self._memory = self._llama.llama_get_memory(loaded.context)
        self._window: int = self._llama.llama_model_n_swa(loaded.model)
        self._tokens: list[int] = []
        self.capacity: int = self._llama.llama_n_ctx_seq(loaded.context)
        self._is_cancelled: IsCancelled = lambda: False
        # asked after each node of a graph, on the CPU; 785 times per token of a 30-layer MoE
        self._abort = self._llama.ggml_abort_callback(lambda _data: self._is_cancelled())
        self._llama.llama_set_abort_callback(self._context, self._abort, None)

    @property
    def is_full(self) -> bool:
        """True when not one more token fits."""
        return len(self._tokens) >= self.capacity

    def obey(self, is_cancelled: IsCancelled) -> None:
        """Stop in the middle of a computation when `is_cancelled` says so."""
        self._is_cancelled = is_cancelled

    def keep_common_start(self, prompt: Sequence[int]) -> int:
        """Forget all but what the prompt begins with; return how many of its tokens need no work.

        At least one token is left over: its output is what the answer starts from.
        """
        common = 0
        for held, wanted in zip(self._tokens, prompt[:-1], strict=False):
            if held != wanted:
                break
            common += 1
        if common < len(self._tokens):
            self._forget_from(common)
        return len(self._tokens)

    def decode(self, tokens: Sequence[int]) -> Decoded:
        """Compute tokens behind those held. Unless `DONE`, nothing of them stays.

        Raises:
            FindingError: the engine failed; the reason is from its log.
        """
        array = (ctypes.c_int32 * len(tokens))(*tokens)
        result = self._llama.llama_decode(self._context, self._llama.llama_batch_get_one(array, len(tokens)))
        if result == Decoded.DONE.value:
            self._tokens.extend(tokens)
            return Decoded.DONE
        self._forget_from(len(self._tokens))
        if result < 0:
            raise FindingError(explain_load_failure(self._log.lines()))
        return Decoded(result)

    def wait(self) -> None:
        """Return when everything queued is computed; clocks are read after it."""
        self._llama.llama_synchronize(self._context)

    def _forget_from(self, position: int) -> None:
        """Drop what follows `position`; everything, where the model cannot go back that far."""
        removed = self._llama.llama_memory_seq_rm(self._memory, SEQUENCE, position, TO_THE_END)
        first: int = self._llama.llama_memory_seq_pos_min(self._memory, SEQUENCE)
        # a sliding window holds only the last tokens: those before the cut may be gone already
        is_usable = removed and (position == 0 or first <= max(0, position - self._window))
        if not is_usable:
            self._llama.llama_memory_clear(self._memory, True)
            position = 0
        del self._tokens[position:]
