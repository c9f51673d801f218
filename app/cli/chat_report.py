"""What one chat found out: shown while it happens, or as the one JSON document at the end."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.chat.conversation import Message
from app.cli.context import CliContext
from app.engine.protocol import BufferUse, Hello, Loaded
from app.findings import Finding
from app.options import EngineOptions


@dataclass(slots=True)
class ChatReport:
    """Collects; `to_json` is the contract of `moxie chat --json`.

    Attributes:
        asked: What the engine was told; None when it was never started.
        answer: The newest answer; None before the first.
    """

    context: CliContext
    is_json: bool = False
    asked: EngineOptions | None = None
    loaded: Loaded | None = None
    hello: Hello | None = None
    engine: str | None = None
    answer: Message | None = None
    conversation_id: int | None = None
    findings: list[Finding] = field(default_factory=list)

    def add(self, findings: Iterable[Finding]) -> None:
        """Keep findings not known yet; without JSON they are shown at once."""
        new = [finding for finding in findings if finding not in self.findings]
        self.findings += new
        if not self.is_json:
            self.context.print_findings(new, to_err=True)

    def to_json(self) -> dict[str, Any]:
        """Return the document; keys are always all there."""
        answer = self.answer
        timings = answer.timings if answer else None
        buffers = self.loaded.buffers if self.loaded else ()
        return {
            "text": answer.content if answer else "",
            "reasoning": answer.reasoning if answer else "",
            "finish_reason": answer.finish_reason if answer else None,
            "timings": {
                "prompt_tokens": timings.prompt_tokens if timings else None,
                "prompt_ms": timings.prompt_ms if timings else None,
                "predicted_tokens": timings.predicted_tokens if timings else None,
                "predicted_ms": timings.predicted_ms if timings else None,
                "cached_tokens": timings.cached_tokens if timings else None,
            },
            "asked": self.asked.to_json() if self.asked else {},
            "applied": dict(self.loaded.applied) if self.loaded else {},
            "buffers": _by_device(buffers),
            "buffer_parts": _by_device_and_part(buffers),
            "engine": self.engine,
            "build": self.hello.build if self.hello else None,
            "conversation_id": self.conversation_id,
            "findings": [finding.to_json() for finding in self.findings],
        }


def _by_device(buffers: Iterable[BufferUse]) -> Mapping[str, int]:
    sums: dict[str, int] = {}
    for buffer in buffers:
        sums[buffer.device] = sums.get(buffer.device, 0) + buffer.size_bytes
    return sums


def _by_device_and_part(buffers: Iterable[BufferUse]) -> Mapping[str, Mapping[str, int]]:
    sums: dict[str, dict[str, int]] = {}
    for buffer in buffers:
        parts = sums.setdefault(buffer.device, {})
        parts[buffer.part] = parts.get(buffer.part, 0) + buffer.size_bytes
    return sums
