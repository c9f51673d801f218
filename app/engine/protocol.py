"""What window and worker say to each other: one JSON object per line, commands in, events out."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from app.findings import Finding
from app.options import EngineOptions, SamplingOptions


class ProtocolError(Exception):
    """A line is not a message of this protocol."""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of the prompt. `role` is `system`, `user` or `assistant`."""

    role: str
    content: str


# commands: to the worker


@dataclass(frozen=True, slots=True)
class LoadModel:
    """Load `path` (first shard) with `options`. One worker loads one model once."""

    path: str
    options: EngineOptions


@dataclass(frozen=True, slots=True)
class CheckModel:
    """Ask the engine whether it would take the file, without reading its tensors.

    Attributes:
        measures: Also how much working memory it would take with these options.
    """

    path: str
    options: EngineOptions
    measures: bool = False


@dataclass(frozen=True, slots=True)
class Generate:
    """Answer the messages. One at a time; the answer's events carry `request_id`."""

    request_id: int
    messages: tuple[ChatMessage, ...]
    sampling: SamplingOptions


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stop what is running: a load, a prompt or an answer. Harmless when nothing is."""


# events: from the worker


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """A device as the engine sees it.

    Attributes:
        name: The engine's own, e.g. `CUDA0`, `Vulkan0`, `RPC0`, `CPU`.
        kind: `cpu`, `gpu`, `igpu` or `accelerator`.
    """

    name: str
    description: str
    kind: str
    free_bytes: int | None = None
    total_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class BufferUse:
    """Memory an engine took, as its log says.

    Attributes:
        device: The buffer's name in the log, e.g. `CPU_Mapped`, `CPU_REPACK`, `RPC0`. The size of a
            `_Mapped` one is the span of the file that is mapped: weights inside it that another
            device holds count in both.
        part: `model`, `kv_cache`, `state`, `compute` or `output`.
    """

    device: str
    part: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Timings:
    """The engine's own figures; prompt apart from generation. `None` = not given.

    Attributes:
        cached_tokens: Prompt tokens that were still in the cache and cost nothing.
    """

    prompt_tokens: int | None = None
    prompt_ms: float | None = None
    predicted_tokens: int | None = None
    predicted_ms: float | None = None
    cached_tokens: int | None = None

    @property
    def predicted_tokens_per_second(self) -> float | None:
        """Decode speed, prompt time excluded."""
        if not self.predicted_tokens or not self.predicted_ms:
            return None
        return self.predicted_tokens / self.predicted_ms * 1000.0


@dataclass(frozen=True, slots=True)
class Hello:
    """First line of every worker.

    Attributes:
        engine: `worker`, `llama-server`, `echo`.
        build: The engine's own version text.
    """

    engine: str
    build: str
    devices: tuple[DeviceInfo, ...] = ()


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """Loading goes on.

    Attributes:
        phase: `starting`, `weights`, `context`, `warmup`.
        fraction: 0..1, or None when the engine does not say.
    """

    phase: str
    fraction: float | None = None


@dataclass(frozen=True, slots=True)
class Loaded:
    """The model answers from now on.

    Attributes:
        applied: Option values the engine reports to be in force, by `EngineOptions` field name;
            a field the engine says nothing about is absent.
        buffers: What it took and where.
        context_length: Tokens of context in force.
        bus_ids: Where the cards it uses sit, by its names for them; cards it gives no place of are left out.
    """

    applied: Mapping[str, Any]
    buffers: tuple[BufferUse, ...] = ()
    context_length: int | None = None
    findings: tuple[Finding, ...] = ()
    bus_ids: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Checked:
    """Answer to `CheckModel`.

    Attributes:
        buffers: Compute buffers alone, when it was to measure: without memory all else counts as 0.
    """

    accepted: bool
    findings: tuple[Finding, ...] = ()
    buffers: tuple[BufferUse, ...] = ()


@dataclass(frozen=True, slots=True)
class PromptProgress:
    """The prompt is being read."""

    request_id: int
    processed_tokens: int
    total_tokens: int


@dataclass(frozen=True, slots=True)
class Token:
    """More text, always whole UTF-8 characters.

    Attributes:
        is_reasoning: The engine itself marked it as reasoning.
        token_count: Tokens in `text`; more than 1 when characters or chunks were collected.
    """

    request_id: int
    text: str
    is_reasoning: bool = False
    token_count: int = 1


@dataclass(frozen=True, slots=True)
class Finished:
    """The answer is complete.

    Attributes:
        finish_reason: `stop`, `length` (max_tokens), `context` (context full) or `cancelled`.
    """

    request_id: int
    finish_reason: str
    timings: Timings = field(default_factory=Timings)


@dataclass(frozen=True, slots=True)
class Failed:
    """What was asked did not work, or the engine is gone.

    Attributes:
        request_id: Of the answer that failed, when the next may work. None when the worker ends after
            it: a load or a check failed, or the engine died, whatever it was doing.
    """

    finding: Finding
    request_id: int | None = None


Command = LoadModel | CheckModel | Generate | Cancel
Event = Hello | LoadProgress | Loaded | Checked | PromptProgress | Token | Finished | Failed
Message = Command | Event

_TYPES: Mapping[str, type[Any]] = {
    t.__name__: t
    for t in (
        LoadModel, CheckModel, Generate, Cancel,
        Hello, LoadProgress, Loaded, Checked, PromptProgress, Token, Finished, Failed,
    )
}  # fmt: skip


def encode(message: Message) -> bytes:
    """Return `message` as one line of ASCII JSON, newline included.

    ASCII escapes carry what UTF-8 cannot: a path whose bytes are no UTF-8 holds lone surrogates
    (PEP 383), which come out on the other side as they went in.
    """
    data: dict[str, Any] = {"type": type(message).__name__}
    for name in message.__dataclass_fields__:
        data[name] = _plain(getattr(message, name))
    return json.dumps(data, separators=(",", ":")).encode("ascii") + b"\n"


def decode(line: bytes) -> Message:
    """Read one line back.

    Raises:
        ProtocolError: anything but what `encode` writes.
    """
    try:
        data = json.loads(line)
        kind = _TYPES[data.pop("type")]
        message: Message = kind(**{name: _rich(name, value) for name, value in data.items()})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as reason:
        raise ProtocolError(f"{type(reason).__name__}: {reason}") from reason
    return message


def _plain(value: Any) -> Any:
    if isinstance(value, EngineOptions | Finding):
        return value.to_json()
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "__dataclass_fields__"):
        return asdict(value)
    return dict(value) if isinstance(value, Mapping) else value


def _rich(name: str, value: Any) -> Any:
    match name:
        case "options":
            return EngineOptions.from_json(value)
        case "sampling":
            return SamplingOptions(**{**value, "stop": tuple(value.get("stop", ()))})
        case "messages":
            return tuple(ChatMessage(**item) for item in value)
        case "devices":
            return tuple(DeviceInfo(**item) for item in value)
        case "buffers":
            return tuple(BufferUse(**item) for item in value)
        case "timings":
            return Timings(**value)
        case "finding":
            return Finding.from_json(value)
        case "findings":
            return tuple(Finding.from_json(item) for item in value)
    return value
