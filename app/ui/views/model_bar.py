"""The bar on top: which model, how it is, where its experts live, what memory it takes, one button."""

from enum import Enum
from typing import Final

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QAccessible, QAccessibleEvent, QResizeEvent
from PySide6.QtWidgets import QGridLayout, QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from app.hardware.facts import Sample
from app.ui.model_view import ModelPhase, ModelView
from app.ui.theme.look import LookSource
from app.ui.theme.tokens import LAYOUT
from app.ui.views.memory_figures import MemoryFigures, gpu_figures, ram_figures
from app.ui.views.model_picker import ModelPicker
from app.ui.views.moe_control import MoeControl
from app.ui.views.state_words import state_words
from app.ui.widgets.buttons import Button, IconButton
from app.ui.widgets.labels import ElidedLabel
from app.ui.widgets.layouts import column, holder, row, rule
from app.ui.widgets.memory_bar import MemoryBar
from app.ui.widgets.panel import Panel
from app.ui.widgets.progress_line import ProgressLine
from app.ui.widgets.state_dot import StateDot

STATE_WIDTH: Final = 122
MOE_WIDTH: Final = 240
GAP: Final = 14
COMFORT_WIDTH: Final = 180
"""Beyond the least widths, for the picker and the bars, before all stands in one line."""
DOCK_SHORTCUT: Final = "Ctrl+M"


class ModelAction(Enum):
    """What the one button does now; also the end of its text key."""

    LOAD = "load"
    CANCEL = "cancel"
    RELOAD = "reload"


def action_of(view: ModelView) -> ModelAction | None:
    """Return what the one button does; None when there is nothing to do with it."""
    if view.can_load:
        return ModelAction.LOAD
    if view.can_cancel_load:
        return ModelAction.CANCEL
    if view.can_reload:
        return ModelAction.RELOAD
    return None


class ModelBar(Panel):
    """Shows one `ModelView` and says what the person wants done with the model.

    Signals:
        pick_requested: the palette is wanted.
        load_requested: load with the plan in force; reload_, unload_ and cancel_requested likewise.
        wishes_changed: `Wishes`, while the slider is dragged too.
        dock_toggled: show or hide the side panel.
    """

    pick_requested = Signal()
    load_requested = Signal()
    reload_requested = Signal()
    unload_requested = Signal()
    cancel_requested = Signal()
    wishes_changed = Signal(object)
    dock_toggled = Signal()

    def __init__(self, looks: LookSource, parent: QWidget | None = None) -> None:
        super().__init__(looks, "bottom", parent=parent)
        self._looks = looks
        self._view = ModelView()
        self.picker = ModelPicker(looks)
        self._dot = StateDot(looks)
        self.state = ElidedLabel("label")
        self.detail = ElidedLabel("caption", "faint")
        self.moe = MoeControl(looks)
        self.gpu_bar = MemoryBar(looks)
        self.ram_bar = MemoryBar(looks)
        self._no_gpu = ElidedLabel("caption", "faint")
        self._gpu_line = QStackedWidget()
        self.primary = Button(looks, "primary", "play")
        self.secondary = Button(looks, "secondary")
        self.unload = IconButton(looks, "eject")
        self.dock = IconButton(looks, "dock")
        self.progress = ProgressLine(looks)
        self._grid = QGridLayout()
        self._line_count = 0
        self._lay_out()
        self._connect()
        looks.changed.connect(self._apply_look)
        self._apply_look()

    def show_view(self, view: ModelView) -> None:
        """Show the model, its state, and only the buttons that work; a new state is announced once."""
        is_new_state = view.phase is not self._view.phase
        self._view = view
        self.picker.show_view(view)
        self._dot.show_phase(view.phase)
        self.moe.show_view(view)
        self._show_state()
        self._show_buttons()
        self._arrange()
        if is_new_state:
            QAccessible.updateAccessibility(QAccessibleEvent(self._states, QAccessible.Event.NameChanged))

    def show_memory(self, sample: Sample | None, view: ModelView) -> None:
        """Show what is measured and what is planned; None = nothing measured yet."""
        look = self._looks.look
        unknown = MemoryFigures(None, None, None, None)
        gpu = unknown if sample is None else gpu_figures(sample, view)
        self._gpu_line.setCurrentIndex(1 if gpu is None else 0)
        _fill(self.gpu_bar, look.text("ui.model_bar.gpu"), gpu or unknown, "vram")
        ram = unknown if sample is None else ram_figures(sample, view)
        _fill(self.ram_bar, look.text("ui.model_bar.ram"), ram, "ram")

    def has_gpu_bar(self) -> bool:
        """The GPU has a bar; without one a sentence stands in its place."""
        return self._gpu_line.currentIndex() == 0

    def minimumSizeHint(self) -> QSize:
        """Return the size of two lines: a narrow window, or large text, may take them."""
        left, middle, right = (part.minimumSizeHint().width() for part in self._parts)
        margins = self._grid.contentsMargins()
        width = max(left + GAP + right, middle) + margins.left() + margins.right()
        return QSize(width, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def _lay_out(self) -> None:
        self._gpu_line.addWidget(self.gpu_bar)
        self._gpu_line.addWidget(self._no_gpu)
        self._gpu_line.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)
        self._states = holder(column(None, row(self._dot, self.state, gap=6), self.detail, None, gap=1))
        memory = holder(column(None, self._gpu_line, self.ram_bar, None, gap=6))
        left = row(gap=GAP)
        left.addWidget(self.picker, 1)
        left.addWidget(self._states)
        middle = row(rule("v"), self.moe, rule("v"), gap=GAP)
        middle.addWidget(memory, 1)
        right = row(self.primary, self.secondary, self.unload, self.dock, gap=6)
        self._parts = (holder(left), holder(middle), holder(right))
        self._grid.setContentsMargins(14, 7, 12, 4)
        self._grid.setHorizontalSpacing(GAP)
        self._grid.setVerticalSpacing(4)
        self._grid.setColumnStretch(1, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(self._grid, 1)
        layout.addWidget(self.progress)
        self.state.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self._arrange()

    def _arrange(self) -> None:
        """Put everything in one line where it has room, else the middle part in a line of its own."""
        left, middle, right = self._parts
        needed = sum(part.minimumSizeHint().width() for part in self._parts) + 2 * GAP + 26
        needed += round(COMFORT_WIDTH * max(1.0, self._looks.look.zoom))
        line_count = 1 if self.width() >= needed else 2
        if line_count == self._line_count:
            return
        self._line_count = line_count
        for part in self._parts:
            self._grid.removeWidget(part)
        self._grid.setRowMinimumHeight(0, LAYOUT["model_bar"] - 14 if line_count == 1 else 0)
        if line_count == 1:
            self._grid.addWidget(left, 0, 0)
            self._grid.addWidget(middle, 0, 1)
        else:
            self._grid.addWidget(left, 0, 0, 1, 2)
            self._grid.addWidget(middle, 1, 0, 1, 3)
        self._grid.addWidget(right, 0, 2)
        self.updateGeometry()

    def _connect(self) -> None:
        self.picker.clicked.connect(self.pick_requested)
        self.primary.clicked.connect(self._on_action)
        self.secondary.clicked.connect(self._on_action)
        self.unload.clicked.connect(self.unload_requested)
        self.dock.clicked.connect(self.dock_toggled)
        self.moe.wishes_changed.connect(self.wishes_changed)

    def _on_action(self) -> None:
        signals = {
            ModelAction.LOAD: self.load_requested,
            ModelAction.CANCEL: self.cancel_requested,
            ModelAction.RELOAD: self.reload_requested,
        }
        action = action_of(self._view)
        if action is not None:
            signals[action].emit()

    def _show_state(self) -> None:
        look, view = self._looks.look, self._view
        words = state_words(look, view)
        spoken = look.text("ui.state.spoken", state=words.state, detail=words.detail)
        self.state.setText(words.state)
        self.detail.setText(words.detail)
        self._states.setAccessibleName(spoken)
        self._states.setToolTip(look.texts.finding(view.failure).message if view.failure else "")
        self.state.set_ink("danger" if view.phase is ModelPhase.FAILED else None)
        if view.phase in (ModelPhase.LOADING, ModelPhase.WARMING):
            fraction = view.progress.fraction if view.progress else None
            self.progress.show_fraction(1.0 if view.phase is ModelPhase.WARMING else fraction)
            self.progress.setAccessibleDescription(words.state)
        else:
            self.progress.end()

    def _show_buttons(self) -> None:
        look, view = self._looks.look, self._view
        action = action_of(view)
        is_primary = action is not None and action is not ModelAction.CANCEL
        is_primary = is_primary and view.phase is not ModelPhase.FAILED  # there the failure's remedy is it
        had_focus = self.primary.hasFocus() or self.secondary.hasFocus()
        for button, is_shown in ((self.primary, is_primary), (self.secondary, not is_primary)):
            if action is not None:
                button.setText(look.text(f"ui.model_bar.{action.value}"))
                tip = look.text(f"ui.model_bar.{action.value}_tip")
                button.setToolTip(tip)
                button.setAccessibleDescription(tip)
            button.setVisible(action is not None and is_shown)
        if had_focus and action is not None:
            (self.primary if is_primary else self.secondary).setFocus()
        self.primary.set_icon_name("retry" if action is ModelAction.RELOAD else "play")
        self.unload.setEnabled(view.can_unload)

    def _apply_look(self) -> None:
        look = self._looks.look
        zoom = max(1.0, look.zoom)
        self._states.setFixedWidth(round(STATE_WIDTH * zoom))
        self.moe.setFixedWidth(round(MOE_WIDTH * zoom))
        self.setAccessibleName(look.text("ui.model_bar.name"))
        self.unload.set_words(look.text("ui.model_bar.unload"))
        self.dock.set_words(look.text("ui.model_bar.dock"), DOCK_SHORTCUT)
        self.progress.setAccessibleName(look.text("ui.model_bar.progress"))
        self._no_gpu.setText(look.text("ui.model_bar.no_gpu"))
        self._show_state()
        self._show_buttons()
        self._arrange()


def _fill(bar: MemoryBar, title: str, figures: MemoryFigures, tier: str) -> None:
    bar.show_memory(
        title,
        figures.total_bytes,
        figures.other_bytes,
        figures.ours_bytes,
        figures.planned_bytes,
        tier,
    )
