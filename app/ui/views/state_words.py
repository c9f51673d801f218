"""The state of the model in words: a short state and one line more. Pure but for the language."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.findings import FindingCode
from app.gguf.display_name import display_name, file_title
from app.planner.facts import SpeedRange
from app.ui.model_view import ModelPhase, ModelView
from app.ui.theme.look import Look

_FAILURES: Mapping[FindingCode | None, str] = {
    FindingCode.ENGINE_OUT_OF_VRAM: "ui.state.detail.out_of_vram",
    FindingCode.VRAM_EXCEEDED: "ui.state.detail.out_of_vram",
    FindingCode.ENGINE_OUT_OF_RAM: "ui.state.detail.out_of_ram",
    FindingCode.MODEL_EXCEEDS_MEMORY: "ui.state.detail.out_of_ram",
    FindingCode.ENGINE_DIED: "ui.state.detail.engine_gone",
    FindingCode.ENGINE_KILLED: "ui.state.detail.engine_gone",
    FindingCode.ENGINE_ASSERT: "ui.state.detail.engine_gone",
    FindingCode.EXPERT_COUNTS_ABORT: "ui.state.detail.engine_gone",
    FindingCode.BLOCK_COUNT_ABORTS: "ui.state.detail.engine_gone",
}


@dataclass(frozen=True, slots=True)
class StateWords:
    """What stands beside the state dot; `detail` may be empty."""

    state: str
    detail: str


def state_words(look: Look, view: ModelView) -> StateWords:
    """Return the words for what the model is doing."""
    if view.phase is ModelPhase.PLANNED and view.plan is None:
        return StateWords(look.text("ui.state.refused"), look.text("ui.state.detail.refused"))
    fraction = view.progress.fraction if view.progress else None
    if view.phase is ModelPhase.LOADING and fraction is not None:
        state = look.text("ui.state.loading_percent", percent=round(fraction * 100))
    else:
        state = look.text(f"ui.state.{view.phase.value}")
    return StateWords(state, _detail(look, view))


def model_name(view: ModelView) -> str | None:
    """Return the name to show, which is the same everywhere; None without a model."""
    if view.facts is not None:
        return display_name(view.facts.name, file_title(view.facts.path))
    return file_title(view.path) if view.path is not None else None


def speed_range_words(look: Look, speed: SpeedRange) -> str:
    """Return a planned speed as a thin claim."""
    low, high = speed_figure(speed.low), speed_figure(speed.high)
    if low == high:
        return look.text("ui.state.detail.speed_about", speed=low)
    return look.text("ui.state.detail.speed_range", low=low, high=high)


def speed_figure(tokens_per_second: float) -> str:
    """Return tokens per second with as many digits as mean something."""
    return f"{tokens_per_second:.1f}" if tokens_per_second < 10 else f"{tokens_per_second:.0f}"


def _detail(look: Look, view: ModelView) -> str:
    match view.phase:
        case ModelPhase.CHECKING:
            return look.text("ui.state.detail.header")
        case ModelPhase.PLANNED:
            speed = view.plan.tokens_per_second if view.plan else None
            return speed_range_words(look, speed) if speed else look.text("ui.state.detail.planned")
        case ModelPhase.LOADING | ModelPhase.WARMING:
            return look.text(f"ui.state.detail.{view.progress.phase}") if view.progress else ""
        case ModelPhase.READY:
            return _ready_detail(look, view)
        case ModelPhase.GENERATING:
            if view.tokens_per_second is None:
                return look.text("ui.state.detail.prompt")
            return look.text("ui.state.detail.speed", speed=f"{view.tokens_per_second:.1f}")
        case ModelPhase.FAILED:
            code = view.failure.code if view.failure else None
            return look.text(_FAILURES.get(code, "ui.state.detail.load_failed"))
    return ""


def _ready_detail(look: Look, view: ModelView) -> str:
    if view.needs_reload:
        return look.text("ui.state.detail.needs_reload")
    if view.tokens_per_second is not None:
        return look.text("ui.state.detail.last_speed", speed=f"{view.tokens_per_second:.1f}")
    if view.engine_name:
        return look.text("ui.state.detail.engine", name=view.engine_name)
    return ""
