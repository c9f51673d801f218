"""The one model of the window: picked, planned, loaded, answering, let go."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import Slot

from app.engine.engine_on_machine import EngineOnMachine
from app.engine.protocol import (
    ChatMessage,
    Failed,
    Finished,
    Hello,
    Loaded,
    LoadProgress,
    PromptProgress,
    Token,
)
from app.engine.session_state import SessionEvent, SessionState, StateChanged
from app.engine.spec import EngineSpec
from app.findings import Finding, FindingError
from app.options import SamplingOptions
from app.planner.facts import LadderStep, Wishes
from app.ui.bridge import Bridge
from app.ui.controllers.answer_relay import AnswerRelay
from app.ui.controllers.engine_holder import EngineHolder
from app.ui.controllers.model_changes import NOTHING_LOADED, InForce, planned_again
from app.ui.controllers.model_jobs import (
    CheckedModel,
    Launch,
    LaunchRequest,
    ModelPorts,
    check_model,
    next_step,
    prepare_launch,
    refusal_of,
)
from app.ui.controllers.model_teller import ModelTeller
from app.ui.model_view import ModelPhase, ModelView
from app.ui.tasks import Tasks

_STARTING: Final = LoadProgress("starting")
_WARMUP: Final = "warmup"


class ModelController(ModelTeller):
    """Owns the model. Methods return at once, except `close`; what they lead to comes as `view_changed`.

    What cannot be done in the present phase is not done, and nothing is said.
    What it tells: `ModelTeller`.
    """

    def __init__(
        self, bridge: Bridge, tasks: Tasks, ports: ModelPorts, engine_name: str | None = None
    ) -> None:
        """Start nothing yet.

        Args:
            engine_name: The person's choice; None lets Moxie choose.
        """
        super().__init__(ports.language, engine_name)
        self._tasks = tasks
        self._ports = ports
        self._job = 0  # results of an older job than this are outdated
        self._pick = 0  # likewise
        self._on_cards: EngineOnMachine | None = None  # what the load under way was told
        self.spec: EngineSpec | None = None  # of the newest load
        self._answer = AnswerRelay()
        self._answer.answer_event.connect(self.answer_event)
        self._answer.speed_changed.connect(self.speed_changed)
        self._answer.speed_changed.connect(self._on_speed)
        self._engine = EngineHolder(bridge, tasks, ports.make_session)
        self._engine.told.connect(self._on_told)

    @property
    def log_tail(self) -> tuple[str, ...]:
        """The engine's newest lines; none without an engine."""
        return self._engine.log_tail

    def pick(self, path: Path) -> None:
        """Look at a model; one that is loaded goes first, unless it is this one or this one is no model."""
        view = self._view
        self._pick += 1
        if not (view.is_loaded or view.can_cancel_load):
            self._when_free(partial(self._check, path))
        elif path != view.path:
            self._tasks.run_in_background(
                partial(refusal_of, self._ports, path), partial(self._on_peeked, self._pick, path)
            )

    def load(self) -> None:
        """Load what is picked."""
        if self._view.can_load:
            self._launch_when_free(None)

    def load_step(self, step: LadderStep) -> None:
        """Load with a plan of the ladder instead of the first; what is loaded is unloaded before."""
        if self._view.can_load or self._view.phase is ModelPhase.READY:
            self._launch_when_free(step)

    def reload(self) -> None:
        """Load again, with the wishes in force."""
        if self._view.can_load or self._view.phase is ModelPhase.READY:
            self._launch_when_free(None)

    def unload(self) -> None:
        """Let the model go; its plan stays."""
        if self._view.is_loaded:
            self._when_free(self._show_plan)

    def cancel_load(self) -> None:
        """Give up the load under way."""
        if self._view.can_cancel_load:
            self._when_free(self._show_plan)

    def set_wishes(self, wishes: Wishes) -> None:
        """Plan again with other wishes; what is loaded stays as it is until it is loaded again."""
        if wishes != self._view.wishes:
            self._show(planned_again(self._view, wishes))

    def set_engine(self, name: str | None) -> None:
        """Use another engine from the next load on; None lets Moxie choose."""
        self._background = replace(self._background, engine_name=name)
        self._show(self._view if self._background.in_force else replace(self._view, engine_name=name))

    def generate(self, messages: Sequence[ChatMessage], sampling: SamplingOptions) -> bool:
        """Ask for an answer; False when no model is ready."""
        if not self._view.can_send:
            return False
        self._change(phase=ModelPhase.GENERATING, tokens_per_second=None)
        number = self._answer.begin()
        self._engine.generate(
            tuple(messages), sampling, lambda: self._answer.refuse(number, self._view.failure)
        )
        return True

    def stop(self) -> None:
        """End the running answer; what came so far stays."""
        if self._view.can_stop:
            self._change(phase=ModelPhase.STOPPING)
            self._engine.cancel()

    def look_again(self) -> None:
        """Plan anew with the machine as it is now, unless a model is loaded or being loaded."""
        if self._view.phase is ModelPhase.PLANNED and self._view.path is not None:
            self._when_free(partial(self._check, self._view.path))

    @Slot()
    def update_findings(self) -> None:
        """Choose the findings to show once more: the language is another one."""
        self._show(self._view)

    def close(self) -> None:
        """End the engine and wait until it is gone, five seconds at most."""
        self._job += 1
        self._pick += 1
        self._engine.close()

    # a picked file

    def _on_peeked(self, pick: int, path: Path, refusal: Finding | None) -> None:
        if pick != self._pick:
            return
        if refusal is not None and (self._view.is_loaded or self._view.can_cancel_load):
            self.pick_refused.emit(refusal)
        else:
            self._when_free(partial(self._check, path))

    def _check(self, path: Path) -> None:
        wishes = self._view.wishes
        if path != self._view.path:
            # numbers of blocks and layers belong to one model
            wishes = replace(wishes, moe="auto", expert=replace(wishes.expert, n_gpu_layers=None))
        name = self._background.engine_name
        self._background = replace(self._background, checked=None)
        self._show(ModelView(phase=ModelPhase.CHECKING, path=path, wishes=wishes, engine_name=name))
        self._tasks.run_in_background(
            partial(check_model, self._ports, path, wishes, name),
            partial(self._on_checked, self._job, wishes),
            partial(self._on_check_failed, self._job),
        )

    def _on_checked(self, job: int, wishes: Wishes, checked: CheckedModel) -> None:
        if job != self._job:
            return
        self._background = replace(self._background, checked=checked)
        view = replace(
            self._view,
            phase=ModelPhase.FAILED if checked.failure else ModelPhase.PLANNED,
            facts=checked.facts,
            budget=checked.budget,
            plan=checked.plan,
            failure=checked.failure,
        )
        # they may have changed meanwhile
        self._show(view if view.wishes == wishes else planned_again(view, view.wishes))

    def _on_check_failed(self, job: int, reason: Exception) -> None:
        if job == self._job:
            self._show(ModelView(wishes=self._view.wishes, engine_name=self._background.engine_name))
        raise reason

    # a load

    def _launch_when_free(self, step: LadderStep | None) -> None:
        if self._view.is_loaded:
            self._when_free(partial(self._launch, step))
        else:
            self._change(phase=ModelPhase.LOADING, **(NOTHING_LOADED | {"progress": _STARTING}))
            self._when_free(partial(self._launch, step), ModelPhase.LOADING)

    def _when_free(self, then: Callable[[], None], phase: ModelPhase = ModelPhase.UNLOADING) -> None:
        self._job += 1
        self._background = replace(self._background, in_force=None)
        has_engine = self._view.can_cancel_load or self._view.is_loaded
        if has_engine and phase is not self._view.phase:
            self._change(phase=phase, progress=None)
        self._engine.when_free(then)

    def _launch(self, step: LadderStep | None) -> None:
        facts = self._view.facts
        assert facts is not None  # `can_load` asks for a plan
        self._change(phase=ModelPhase.LOADING, **(NOTHING_LOADED | {"progress": _STARTING}))
        options = step.options if step is not None else None
        request = LaunchRequest(facts, self._view.wishes, self._background.engine_name, options)
        self._tasks.run_in_background(
            partial(prepare_launch, self._ports, request),
            partial(self._on_prepared, self._job, request),
            partial(self._on_not_prepared, self._job),
        )

    def _on_prepared(self, job: int, request: LaunchRequest, launch: Launch) -> None:
        if job != self._job:
            return
        in_force = InForce(request.wishes, request.engine_name, self._background.excluded_gpus)
        self._background = replace(self._background, in_force=in_force, in_use=launch.of_drive)
        self._on_cards = launch.seen
        self.spec = launch.spec
        view = replace(
            self._view,
            budget=launch.budget,
            plan=launch.plan,
            asked=launch.options,
            engine_name=launch.spec.name,
        )
        self._show(view if view.wishes == request.wishes else planned_again(view, view.wishes))
        self._engine.start(launch.spec, request.facts.path, launch.options)

    def _on_not_prepared(self, job: int, reason: Exception) -> None:
        if job != self._job:
            return
        if not isinstance(reason, FindingError):
            self._show_plan()
            raise reason
        self._fail(reason.finding)

    def _show_plan(self) -> None:
        self._change(phase=ModelPhase.PLANNED, engine_name=self._background.engine_name, **NOTHING_LOADED)

    def _fail(self, finding: Finding) -> None:
        self._background = replace(self._background, in_force=None)
        asked = self._view.asked
        told = {
            "asked": asked,
            "failure": finding,
            "next_step": next_step(self._view.plan, asked, finding),
            "log_tail": self._engine.log_tail,
        }
        self._change(phase=ModelPhase.FAILED, **(NOTHING_LOADED | told))

    # what the engine says

    @Slot(object)
    def _on_told(self, event: SessionEvent) -> None:
        match event:
            case PromptProgress() | Token():
                self._answer.pass_on(event)
            case Finished():
                self._answer.end(event)
                self._on_speed(event.timings.predicted_tokens_per_second, is_prefill=False)
            case Failed() if event.request_id is not None:
                self._answer.end(event)
            case Hello():
                self._change(hello=event)
            case LoadProgress():
                phase = ModelPhase.WARMING if event.phase == _WARMUP else ModelPhase.LOADING
                self._change(phase=phase, progress=event)
            case Loaded():
                self._change(loaded=self._judged_load(event))
            case StateChanged(SessionState.READY):
                self._change(phase=ModelPhase.READY, progress=None)
            case StateChanged(SessionState.FAILED, Finding() as finding):
                self._fail(finding)

    def _judged_load(self, loaded: Loaded) -> Loaded:
        if self._on_cards is None:
            return loaded
        found = self._on_cards.judge_load(self._view.hello, loaded)
        return replace(loaded, findings=(*loaded.findings, *found))

    @Slot(object, bool)
    def _on_speed(self, tokens_per_second: float | None, is_prefill: bool) -> None:
        if tokens_per_second is not None and not is_prefill:
            self._change(tokens_per_second=tokens_per_second)
