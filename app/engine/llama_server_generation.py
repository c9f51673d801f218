"""One answer of a llama-server: the request, its stream as events, and why it may fail."""

from collections.abc import Sequence
from typing import Any, Final

from app.engine.backend import Emit, EngineGoneError, IsCancelled
from app.engine.llama_server_child import ServerChild
from app.engine.llama_server_http import AnswerStream, ServerLost, ServerRefusal
from app.engine.llama_server_sse import AnswerPart, SseError
from app.engine.log_reader import explain_exit
from app.engine.protocol import Finished, Generate, PromptProgress, Timings, Token
from app.findings import Finding, FindingCode, FindingError, error
from app.options import SamplingOptions

DEATH_SECONDS: Final = 2.0
"""How long a process may take to end after its connection broke."""

_CONTEXT_EXCEEDED: Final = "exceed_context_size_error"
_TEMPLATE_WORDS: Final = ("template", "jinja")


def answer(
    child: ServerChild,
    command: Generate,
    emit: Emit,
    is_cancelled: IsCancelled,
    rpc_servers: Sequence[str] = (),
) -> Finished:
    """Ask for an answer and send it on as it comes.

    Raises:
        EngineGoneError: why the server died.
        FindingError: `PROMPT_TOO_LONG`, `CHAT_TEMPLATE_FAILED`, `ENGINE_REQUEST_FAILED`.
    """
    timings = Timings()
    finish_reason: str | None = None

    def must_stop() -> bool:
        return is_cancelled() or child.is_ending

    try:
        with AnswerStream(child.address, request_body(command), must_stop) as stream:
            for part in stream.parts():
                _emit_part(part, command.request_id, _new_tokens(timings, part.timings), emit)
                timings = part.timings or timings
                finish_reason = part.finish_reason or finish_reason
    except ServerRefusal as refusal:
        raise FindingError(_refusal_finding(refusal)) from refusal
    except (ServerLost, SseError) as reason:
        raise _loss(child, str(reason), rpc_servers) from reason
    if is_cancelled() and stream.was_cancelled:
        return Finished(command.request_id, "cancelled", timings)
    if finish_reason is None and (finding := why_gone(child, "generate", rpc_servers)):
        raise EngineGoneError(finding)
    said = finish_reason or "stop"
    return Finished(command.request_id, _finish_reason(said, command.sampling, timings), timings)


def why_gone(
    child: ServerChild, during: str, rpc_servers: Sequence[str], patience_seconds: float = 0.0
) -> Finding | None:
    """Return why the server is no more, or None while it lives.

    One that was told to end is ended: it takes no more questions, and may need long to go.
    """
    if child.is_ending:
        return error(FindingCode.ENGINE_KILLED, during=during, exit_code=child.stop())
    exit_code = child.wait(patience_seconds)
    return None if exit_code is None else explain_exit(exit_code, child.lines, during, rpc_servers)


def request_body(command: Generate) -> dict[str, Any]:
    """Return the JSON of the request.

    `return_progress` is always on: without it a server notices a closed connection only after the
    whole prompt, minutes later on a big model.
    """
    sampling = command.sampling
    body: dict[str, Any] = {
        "messages": [{"role": message.role, "content": message.content} for message in command.messages],
        "stream": True,
        "return_progress": True,
        "timings_per_token": True,
        "cache_prompt": True,
        "temperature": sampling.temperature,
        "top_k": sampling.top_k,
        "top_p": sampling.top_p,
        "min_p": sampling.min_p,
        "repeat_penalty": sampling.repeat_penalty,
    }
    if sampling.seed is not None:
        body["seed"] = sampling.seed
    if sampling.max_tokens is not None:
        body["max_tokens"] = sampling.max_tokens
    if sampling.stop:
        body["stop"] = list(sampling.stop)
    return body


def _new_tokens(before: Timings, now: Timings | None) -> int:
    if now is None or now.predicted_tokens is None:
        return 1
    return max(1, now.predicted_tokens - (before.predicted_tokens or 0))


def _emit_part(part: AnswerPart, request_id: int, token_count: int, emit: Emit) -> None:
    if part.prompt_progress is not None:
        emit(PromptProgress(request_id, *part.prompt_progress))
    if part.reasoning:
        emit(Token(request_id, part.reasoning, is_reasoning=True, token_count=token_count))
    if part.content:
        emit(Token(request_id, part.content, token_count=token_count))


def _finish_reason(said: str, sampling: SamplingOptions, timings: Timings) -> str:
    if said != "length":
        return "stop"
    predicted = timings.predicted_tokens
    if sampling.max_tokens is not None and (predicted is None or predicted >= sampling.max_tokens):
        return "length"
    return "context"


def _refusal_finding(refusal: ServerRefusal) -> Finding:
    details = refusal.details
    message = str(details.get("message", ""))
    if details.get("type") == _CONTEXT_EXCEEDED:
        return error(
            FindingCode.PROMPT_TOO_LONG,
            prompt_tokens=_int_or_none(details.get("n_prompt_tokens")),
            n_ctx=_int_or_none(details.get("n_ctx")),
        )
    if any(word in message.lower() for word in _TEMPLATE_WORDS):
        return error(FindingCode.CHAT_TEMPLATE_FAILED, detail=message)
    return error(FindingCode.ENGINE_REQUEST_FAILED, detail=message, status=refusal.status)


def _loss(child: ServerChild, detail: str, rpc_servers: Sequence[str]) -> FindingError:
    finding = why_gone(child, "generate", rpc_servers, DEATH_SECONDS)
    if finding is not None:
        return EngineGoneError(finding)
    return FindingError(error(FindingCode.ENGINE_REQUEST_FAILED, detail=detail, status=None))


def _int_or_none(value: object) -> int | None:
    return value if isinstance(value, int) else None
