"""The port behind which every engine stands, inside the worker process."""

from collections.abc import Callable
from typing import Protocol

from app.engine.protocol import Checked, CheckModel, Event, Finished, Generate, Hello, Loaded, LoadModel
from app.findings import FindingError

Emit = Callable[[Event], None]
"""Sends an event to the window; quick, any thread."""

IsCancelled = Callable[[], bool]
"""True once the person asked to stop what is running; polled often, any thread."""


class EngineGoneError(FindingError):
    """The engine's process died, so nothing can be asked any more: the worker says why and ends too."""


class Backend(Protocol):
    """Runs one model. Adapters: `LlamaBackend`, `LlamaServerBackend`, `EchoBackend`.

    Called from the worker's main thread, one call at a time. Failures are raised as
    `app.findings.FindingError`; cancelling is no failure of `generate`.
    """

    def hello(self) -> Hello:
        """Say which engine and build this is and which devices it sees.

        Raises:
            FindingError: the engine cannot run here (library missing, wrong processor).
        """
        ...

    def load(self, command: LoadModel, emit: Emit, is_cancelled: IsCancelled) -> Loaded:
        """Load the model, sending `LoadProgress` meanwhile.

        Raises:
            FindingError: `OPTION_UNSUPPORTED` names a field this engine cannot map;
                `LOAD_CANCELLED`; else why the engine refused.
        """
        ...

    def check(self, command: CheckModel) -> Checked:
        """Say whether the engine would take the file, without loading it.

        Raises:
            FindingError: `ENGINE_CHECK_UNAVAILABLE` when this engine cannot tell.
        """
        ...

    def generate(self, command: Generate, emit: Emit, is_cancelled: IsCancelled) -> Finished:
        """Answer, sending `PromptProgress` and `Token` meanwhile.

        Raises:
            EngineGoneError: why the engine's own process died meanwhile.
            FindingError: e.g. `PROMPT_TOO_LONG`, `CHAT_TEMPLATE_FAILED`; the next answer may work.
        """
        ...

    def check_alive(self) -> None:
        """Look whether the engine is still there; called about twice a second while nothing else is.

        Raises:
            EngineGoneError: why its own process died. An engine that has none never raises it.
        """
        ...

    def close(self) -> None:
        """Let go of everything; children are dead when it returns."""
        ...
