"""`moxie inspect PATH --weights`: looks at the weights themselves, with a line of progress on a terminal."""

from typing import Final

from app.cli.context import CliContext
from app.findings import Finding
from app.gguf.facts import ModelFacts
from app.gguf.weights_scan import scan_weights

SAMPLE: Final = "sample"
FULL: Final = "full"


def weights_findings(facts: ModelFacts, how: str, context: CliContext) -> tuple[Finding, ...]:
    """Return what is wrong with the weights, read as `how` says: `SAMPLE` or `FULL`."""
    progress = _Progress(context)
    try:
        return scan_weights(facts, is_full=how == FULL, on_progress=progress.show)
    finally:
        progress.clear()


class _Progress:
    """One line on standard error that is written over and leaves nothing; none where that is no terminal."""

    def __init__(self, context: CliContext) -> None:
        self._context = context
        self._is_shown = context.err.isatty()
        self._percent = -1

    def show(self, share: float) -> None:
        percent = int(share * 100)
        if self._is_shown and percent != self._percent:
            self._percent = percent
            self._write("\r" + self._context.texts.text("cli.inspect.weights.progress", share=share))

    def clear(self) -> None:
        if self._percent >= 0:
            self._write("\r\033[K")

    def _write(self, text: str) -> None:
        self._context.err.write(text)
        self._context.err.flush()
