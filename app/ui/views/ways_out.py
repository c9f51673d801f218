"""Which buttons lead on after a failure, for the card of an answer and for the stage alike. Pure."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from app.findings import Finding, FindingCode
from app.ui.model_view import ModelPhase, ModelView
from app.ui.views.plan_words import step_changes
from app.ui.views.words import Words

_ANSWERABLE: Final = frozenset(
    {FindingCode.PROMPT_TOO_LONG, FindingCode.CHAT_TEMPLATE_FAILED, FindingCode.ENGINE_REQUEST_FAILED}
)
"""Failures after which the engine lives on: asking again is enough."""

_OUT_OF_MEMORY: Final = frozenset({FindingCode.ENGINE_OUT_OF_RAM, FindingCode.ENGINE_OUT_OF_VRAM})


class WayOut(StrEnum):
    """What a button after a failure does; also what a message asks for."""

    AGAIN = "regenerate"
    RELOAD = "reload"
    STEP = "step"
    OTHER = "pick"


@dataclass(frozen=True, slots=True)
class WaysOut:
    """The buttons of a failure.

    Attributes:
        primary: None where the button is elsewhere, or none helps just now.
    """

    primary: WayOut | None = None
    secondary: WayOut | None = None


def ways_after_load(view: ModelView) -> WaysOut:
    """Return the ways out after a load that failed: the safer plan first."""
    if not view.can_load:
        return WaysOut(WayOut.OTHER)
    return WaysOut(WayOut.RELOAD if view.next_step is None else WayOut.STEP, WayOut.OTHER)


def ways_after_answer(view: ModelView, failure: Finding) -> WaysOut:
    """Return the ways out after the newest answer broke off, as far as they still are ones.

    An engine that was killed or crashed is loaded as it was; where memory ran out the safer plan is first.
    """
    if view.phase is ModelPhase.READY:
        return WaysOut(WayOut.AGAIN)
    if view.phase is not ModelPhase.FAILED or view.failure != failure or failure.code in _ANSWERABLE:
        return WaysOut()
    if not view.can_load:
        return WaysOut(WayOut.OTHER)
    if view.next_step is None:
        return WaysOut(WayOut.RELOAD, WayOut.OTHER)
    if failure.code in _OUT_OF_MEMORY:
        return WaysOut(WayOut.STEP, WayOut.OTHER)
    return WaysOut(WayOut.RELOAD, WayOut.STEP)


def way_words(view: ModelView, way: WayOut) -> Words:
    """Return the text of a button."""
    if way is WayOut.STEP and view.next_step is not None:
        return Words(f"ui.stage.step_button.{view.next_step.name}")
    return Words(_KEYS[way])


def price_words(view: ModelView) -> tuple[Words, ...]:
    """Return what the safer plan changes against what was asked."""
    step = view.next_step
    if step is None:
        return ()
    before = view.asked or (view.plan.options if view.plan else step.options)
    return step_changes(before, step.options, view.facts)


_KEYS: Final = {
    WayOut.AGAIN: "ui.chat.answer_again",
    WayOut.RELOAD: "ui.chat.reload",
    WayOut.STEP: "ui.chat.reload",
    WayOut.OTHER: "ui.stage.other_button",
}
