"""One answer: prompt in pieces, then token by token, with the time of each part."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from app.engine.backend import Emit, IsCancelled
from app.engine.llama.answer_text import AnswerText
from app.engine.llama.engine_log import EngineLog
from app.engine.llama.load import LoadedModel
from app.engine.llama.memory import ContextMemory, Decoded
from app.engine.llama.prompts import Prompts
from app.engine.llama.sampling import Sampler
from app.engine.llama.vocabulary import Vocabulary
from app.engine.protocol import Finished, Generate, PromptProgress, Timings, Token
from app.findings import FindingCode, FindingError, error

CANCELLED: Final = "cancelled"


@dataclass(slots=True)
class _Clock:
    """Measures the two parts of one answer."""

    cached_tokens: int = 0
    prompt_tokens: int = 0
    predicted_tokens: int = 0
    started: float = field(default_factory=time.perf_counter)
    prompt_done: float | None = None

    def timings(self) -> Timings:
        now = time.perf_counter()
        prompt_done = now if self.prompt_done is None else self.prompt_done
        return Timings(
            prompt_tokens=self.prompt_tokens,
            prompt_ms=(prompt_done - self.started) * 1000.0,
            predicted_tokens=self.predicted_tokens,
            predicted_ms=(now - prompt_done) * 1000.0,
            cached_tokens=self.cached_tokens,
        )


class Generator:
    """Answers with one loaded model; what two prompts have in common at the start is computed once.

    Attributes:
        chat_template: Whose format is in force: `model` or `chatml`.
    """

    def __init__(self, loaded: LoadedModel, log: EngineLog, chat_template: str = "auto") -> None:
        """Start with an empty memory.

        Args:
            chat_template: As in `EngineOptions`.
        """
        self._loaded = loaded
        self._vocabulary = Vocabulary(loaded.library, loaded.vocabulary)
        self._memory = ContextMemory(loaded, log)
        llama = loaded.library.llama
        # the engine computes in physical batches anyway; longer pieces would only report and stop later
        self._piece_tokens: int = llama.llama_n_ubatch(loaded.context)
        source: bytes | None = llama.llama_model_chat_template(loaded.model, None)
        is_own = source is not None and chat_template == "auto"
        text = source.decode("utf-8", "replace") if source is not None and is_own else None
        self.chat_template = "model" if is_own else "chatml"
        self._prompts = Prompts(text, self._vocabulary.bos, self._vocabulary.eos)

    def close(self) -> None:
        """End what it started; the model is freed by who loaded it."""
        self._prompts.close()

    def answer(self, command: Generate, emit: Emit, is_cancelled: IsCancelled) -> Finished:
        """Answer one request.

        Raises:
            FindingError: `CHAT_TEMPLATE_FAILED`, `PROMPT_TOO_LONG`, `OPTION_UNSUPPORTED`, or why the
                engine failed.
        """
        prompt = self._prompt_tokens(command, is_cancelled)
        if prompt is None:
            return Finished(command.request_id, CANCELLED)
        clock = _Clock()
        sampler = Sampler(self._loaded.library, command.sampling, self._vocabulary.size)
        self._memory.obey(is_cancelled)
        try:
            if not self._read_prompt(command.request_id, prompt, emit, is_cancelled, clock):
                return Finished(command.request_id, CANCELLED, clock.timings())
            sampler.see_prompt(prompt)
            reason = self._predict(command, sampler, emit, is_cancelled, clock)
            return Finished(command.request_id, reason, clock.timings())
        finally:
            sampler.close()

    def _prompt_tokens(self, command: Generate, is_cancelled: IsCancelled) -> list[int] | None:
        """Return the prompt; None when cancelled."""
        prompt = self._prompts.prompt(command.messages, is_cancelled)
        if prompt is None:
            return None
        tokens = self._vocabulary.tokenize(prompt)
        if not tokens:
            raise FindingError(error(FindingCode.CHAT_TEMPLATE_FAILED, detail="prompt_tokens = 0"))
        if len(tokens) >= self._memory.capacity:
            values = {"prompt_tokens": len(tokens), "n_ctx": self._memory.capacity}
            raise FindingError(error(FindingCode.PROMPT_TOO_LONG, **values))
        return tokens

    def _read_prompt(
        self, request_id: int, prompt: Sequence[int], emit: Emit, is_cancelled: IsCancelled, clock: _Clock
    ) -> bool:
        """Compute the prompt; False when cancelled on the way."""
        done = clock.cached_tokens = self._memory.keep_common_start(prompt)
        while done < len(prompt):
            piece = prompt[done : done + self._piece_tokens]
            result = Decoded.ABORTED if is_cancelled() else self._memory.decode(piece)
            if result is Decoded.ABORTED:
                return False
            if result is Decoded.FULL:
                values = {"prompt_tokens": len(prompt), "n_ctx": self._memory.capacity}
                raise FindingError(error(FindingCode.PROMPT_TOO_LONG, **values))
            done += len(piece)
            clock.prompt_tokens += len(piece)
            self._memory.wait()
            emit(PromptProgress(request_id, done, len(prompt)))
        clock.prompt_done = time.perf_counter()
        return True

    def _predict(
        self, command: Generate, sampler: Sampler, emit: Emit, is_cancelled: IsCancelled, clock: _Clock
    ) -> str:
        """Give out text until something ends the answer, and return what it was."""
        text = AnswerText(command.sampling.stop)

        def give_out(words: str) -> None:
            if words:
                emit(Token(command.request_id, words))

        while True:
            if is_cancelled():
                reason = CANCELLED
                break
            token = sampler.sample(self._loaded.context)
            if self._vocabulary.ends_answer(token):
                reason = "stop"
                break
            clock.predicted_tokens += 1
            give_out(text.feed(self._vocabulary.piece(token)))
            if text.is_stopped:
                reason = "stop"
                break
            if clock.predicted_tokens == command.sampling.max_tokens:
                reason = "length"
                break
            result = Decoded.FULL if self._memory.is_full else self._memory.decode([token])
            if result is not Decoded.DONE:
                reason = CANCELLED if result is Decoded.ABORTED else "context"
                break
        give_out(text.rest())
        return reason
