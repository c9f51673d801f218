"""What becomes of a message the model cannot answer just now. No Qt."""

from dataclasses import dataclass
from typing import Final

from app.ui.controllers.live_chat import LiveChat
from app.ui.model_view import ModelPhase, ModelView

_WAITS: Final = frozenset(
    {ModelPhase.LOADING, ModelPhase.WARMING, ModelPhase.GENERATING, ModelPhase.STOPPING}
)
_IN_VAIN: Final = frozenset({ModelPhase.NONE, ModelPhase.CHECKING, ModelPhase.PLANNED, ModelPhase.FAILED})
_HINTS: Final = {
    ModelPhase.NONE: "ui.chat.hint.no_model",
    ModelPhase.CHECKING: "ui.chat.hint.not_loaded",
    ModelPhase.PLANNED: "ui.chat.hint.not_loaded",
    ModelPhase.FAILED: "ui.chat.hint.failed",
    ModelPhase.UNLOADING: "ui.chat.hint.unloading",
}
_BUSY: Final = "ui.chat.hint.busy"


@dataclass(frozen=True, slots=True)
class QueuedMessage:
    """A message that waits for the model."""

    chat: LiveChat
    text: str


def can_wait(view: ModelView) -> bool:
    """Say whether the model will be ready without anything more being done."""
    return view.phase in _WAITS


def waits_in_vain(view: ModelView) -> bool:
    """Say whether the model will not be ready by itself; unloading may be half a reload."""
    return view.phase in _IN_VAIN


def hint_for(view: ModelView) -> str:
    """Return the key of the sentence that says why nothing is answered, and what helps."""
    if view.phase is ModelPhase.FAILED and view.plan is None:
        return _HINTS[ModelPhase.NONE]
    return _HINTS.get(view.phase, _BUSY)
