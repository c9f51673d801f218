"""Auto or Manual, and the slider over the layers that have experts."""

from dataclasses import replace
from typing import Final

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QWidget

from app.planner.facts import Wishes
from app.texts import NO_VALUE
from app.ui.model_view import BUSY_PHASES, ModelView
from app.ui.theme.look import LookSource
from app.ui.views.moe_steps import MoeSteps, moe_steps
from app.ui.widgets.controls import MarkSlider, Segmented
from app.ui.widgets.labels import TextLabel
from app.ui.widgets.layouts import column, row

AUTO: Final = "auto"
MANUAL: Final = "manual"
PAGE_STEP: Final = 4


class MoeControl(QWidget):
    """How many layers keep their experts in RAM.

    Signals:
        wishes_changed: `Wishes` with another `moe`, while dragging too; at most one per turn of the loop.
    """

    wishes_changed = Signal(object)

    def __init__(self, looks: LookSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._looks = looks
        self._view = ModelView()
        self._steps = MoeSteps()
        self._auto: tuple[object, int] | None = None
        self._title = TextLabel("label")
        self.choice = Segmented(looks)
        self.slider = MarkSlider(looks)
        self.value = TextLabel("caption", "soft")
        self._later = QTimer(self)
        self._lay_out()
        looks.changed.connect(self._apply_look)
        self._apply_look()

    def show_view(self, view: ModelView) -> None:
        """Show the wish in force, what Auto would choose, and whether it can be changed."""
        self._view = view
        self._steps = moe_steps(view.facts)
        self._remember_auto()
        self._show_values()

    def _lay_out(self) -> None:
        self.slider.setPageStep(PAGE_STEP)
        self.slider.setSingleStep(1)
        self.value.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.setLayout(
            column(row(self._title, None, self.choice, gap=8), row(self.slider, self.value, gap=8), gap=2)
        )
        self._later.setSingleShot(True)
        self._later.setInterval(0)
        self._later.timeout.connect(self._emit_step)
        self.slider.valueChanged.connect(self._on_moved)
        self.choice.chosen.connect(self._on_mode_chosen)

    def _remember_auto(self) -> None:
        view = self._view
        if view.plan is not None and view.wishes.moe == AUTO:
            self._auto = (_question(view), self._steps.step_of_options(view.plan.options))

    def _auto_step(self) -> int | None:
        if self._auto is None or self._auto[0] != _question(self._view):
            return None
        return self._auto[1]

    def _show_values(self) -> None:
        view, steps = self._view, self._steps
        can_change = view.can_set_moe and view.plan is not None and steps.count > 0 and not _lacks_gpu(view)
        if not self._is_being_moved():
            step = self._step()
            self.slider.blockSignals(True)
            self.slider.setRange(0, max(1, steps.count))
            self.slider.setValue(step)
            self.slider.blockSignals(False)
            is_auto = view.wishes.moe == AUTO or _lacks_gpu(view)
            self.choice.set_current(AUTO if is_auto else MANUAL)
        self.slider.set_mark(self._auto_step() if can_change else None)
        self.slider.setEnabled(can_change)
        self.choice.setEnabled(can_change)
        self._say(can_change=can_change)

    def _step(self) -> int:
        """Return how many layers have their experts in RAM: where no GPU takes part, all of them."""
        plan = self._view.plan
        if plan is not None and plan.options.n_gpu_layers == 0:
            return self._steps.step_of_options(plan.options)
        return self._steps.step_of_wish(self._view.wishes.moe, plan)

    def _say(self, *, can_change: bool) -> None:
        look = self._looks.look
        value = self._value_text()
        self.value.setText(value)
        self.value.setEnabled(can_change)
        tip = look.text(self._tip_key())
        self.setToolTip(tip)
        self.slider.setToolTip(tip)
        self.choice.setToolTip(tip)
        self.value.setMinimumWidth(self._value_width())
        self.slider.setAccessibleName(look.text("ui.moe.slider"))
        self.slider.setAccessibleDescription(f"{value}. {tip}")
        self.choice.setAccessibleName(look.text("ui.moe.mode"))
        self.choice.setAccessibleDescription(tip)

    def _value_text(self) -> str:
        count = self._steps.count
        if not count or (self._view.plan is None and self._view.wishes.moe == AUTO):
            return NO_VALUE
        step = self.slider.value()
        if step >= count:
            return self._looks.look.text("ui.moe.value_all", count=count)
        return self._looks.look.text("ui.moe.value", step=step, count=count)

    def _value_width(self) -> int:
        """Return room for every value, so that the slider does not move under the mouse."""
        look, count = self._looks.look, max(10, self._steps.count)
        texts = (
            look.text("ui.moe.value", step=count, count=count),
            look.text("ui.moe.value_all", count=count),
        )
        metrics = QFontMetrics(look.font("caption"))
        return max(metrics.horizontalAdvance(text) for text in texts) + 2

    def _tip_key(self) -> str:
        view = self._view
        if view.facts is None:
            return "ui.moe.why_no_model"
        if not self._steps.count:
            return "ui.moe.why_dense"
        if view.plan is None:
            return "ui.moe.why_no_plan"
        if _lacks_gpu(view):
            return "ui.moe.why_no_gpu"
        if view.phase in BUSY_PHASES:
            return "ui.moe.why_busy"
        if view.plan.options.n_gpu_layers == 0:
            return "ui.moe.tip_no_gpu"
        return "ui.moe.tip"

    def _is_being_moved(self) -> bool:
        return self.slider.isSliderDown() or self._later.isActive()

    def _on_moved(self) -> None:
        self.choice.set_current(MANUAL)
        self.value.setText(self._value_text())
        self._later.start()

    def _on_mode_chosen(self, mode: str) -> None:
        if mode == AUTO:
            self._later.stop()
            self._emit(replace(self._view.wishes, moe=AUTO))
        else:
            self._later.start()

    def _emit_step(self) -> None:
        self._emit(replace(self._view.wishes, moe=self._steps.wish_of(self.slider.value())))

    def _emit(self, wishes: Wishes) -> None:
        if wishes != self._view.wishes:
            self.wishes_changed.emit(wishes)

    def _apply_look(self) -> None:
        look = self._looks.look
        self._title.setText(look.text("ui.moe.title"))
        self.choice.set_items([(AUTO, look.text("ui.moe.auto")), (MANUAL, look.text("ui.moe.manual"))])
        self._show_values()


def _lacks_gpu(view: ModelView) -> bool:
    """Return whether there is no card that could hold any expert."""
    return view.plan is not None and view.budget is not None and not view.budget.vram_free_bytes


def _question(view: ModelView) -> object:
    """Return what decides Auto's answer: it holds for another wish of the MoE control, for nothing else."""
    return (view.path, replace(view.wishes, moe=AUTO), view.budget)
