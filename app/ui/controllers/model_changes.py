"""How the view of the model changes, as pure functions."""

from dataclasses import dataclass, replace
from typing import Any, Final

from app.findings import Finding, Severity
from app.hardware.verdicts_memory import judge_needs
from app.planner.facts import Wishes
from app.planner.plan import plan_offload
from app.planner.report import memory_needs
from app.ui.controllers.model_jobs import CheckedModel
from app.ui.model_view import ModelView

NOTHING_LOADED: Final[dict[str, Any]] = {
    "asked": None,
    "hello": None,
    "loaded": None,
    "progress": None,
    "failure": None,
    "next_step": None,
    "tokens_per_second": None,
    "needs_reload": False,
    "log_tail": (),
}
"""What a view says while no engine holds the model, and nothing failed."""


@dataclass(frozen=True, slots=True)
class InForce:
    """What the loaded model was loaded with: the wishes, not what became of them."""

    wishes: Wishes
    engine_name: str | None
    excluded_gpus: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Background:
    """What a view follows from beside what the engine says.

    Attributes:
        checked: None while the file is being looked at.
        in_force: None while nothing is loaded.
        engine_name: The person's choice; None lets Moxie choose.
        excluded_gpus: Keys of the cards engines are to be kept from.
        in_use: What was found of the drive it was loaded from, and while the model answered.
        is_english: Notes for everybody else are left out.
    """

    checked: CheckedModel | None = None
    in_force: InForce | None = None
    engine_name: str | None = None
    is_english: bool = True
    excluded_gpus: tuple[str, ...] = ()
    in_use: tuple[Finding, ...] = ()


def planned_again(view: ModelView, wishes: Wishes) -> ModelView:
    """Return the view with these wishes, and with their plan where there can be one."""
    view = replace(view, wishes=wishes)
    if view.facts is None or view.budget is None or view.plan is None:
        return view
    return replace(view, plan=plan_offload(view.facts, view.budget, wishes))


def judged(view: ModelView, background: Background) -> ModelView:
    """Return the view with its findings, and with whether a reload would change anything."""
    return replace(view, findings=_findings(view, background), needs_reload=_needs_reload(view, background))


def _findings(view: ModelView, background: Background) -> tuple[Finding, ...]:
    """Return the gravest first; among these, what happened before what was foreseen."""
    checked = background.checked
    if checked is None:
        return ()
    found = (
        *(background.in_use if view.loaded else ()),
        *(view.loaded.findings if view.loaded else ()),
        *checked.findings,
        *(() if background.is_english else checked.notes),
        *(view.plan.findings if view.plan else ()),
        *checked.of_machine,
        *_of_memory(view, checked),
    )
    unique = [finding for index, finding in enumerate(found) if finding not in found[:index]]
    order = list(Severity)
    return tuple(sorted(unique, key=lambda finding: order.index(finding.severity)))


def _of_memory(view: ModelView, checked: CheckedModel) -> tuple[Finding, ...]:
    if checked.host is None or view.plan is None:
        return ()
    return judge_needs(checked.host, memory_needs(view.plan))


def _needs_reload(view: ModelView, background: Background) -> bool:
    in_force = background.in_force
    if in_force is None or view.plan is None or not view.is_loaded:
        return False
    if background.engine_name not in (in_force.engine_name, view.engine_name):
        return True
    if background.excluded_gpus != in_force.excluded_gpus:
        return True
    return view.wishes != in_force.wishes and view.plan.options != view.asked
