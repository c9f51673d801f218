"""What the engine said when a load failed: the sentence, the safer step, and the log folded away."""

from PySide6.QtCore import Signal
from PySide6.QtGui import QFontMetrics, QGuiApplication, QTextOption
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from app.planner.facts import LadderStep
from app.ui.model_view import ModelView
from app.ui.theme.look import LookSource
from app.ui.views.repair_actions import repair_button
from app.ui.views.words import say
from app.ui.widgets.buttons import Button, IconButton
from app.ui.widgets.labels import IconLabel, TextLabel
from app.ui.widgets.layouts import column, row, tone_box
from app.ui.window_actions import action_in_window

_LOG_LINES = 8
_LOG_MARGIN = 18


class FailureNote(QWidget):
    """Shown while the model's phase is `FAILED`.

    Signals:
        step_requested: the safer `LadderStep` offered.
        repair_requested: the `Finding` that a repair mends.
    """

    step_requested = Signal(object)
    repair_requested = Signal(object)

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._view = ModelView()
        self._step: LadderStep | None = None
        self._message = TextLabel("body", wrap=True)
        self._action = TextLabel("caption", "soft", wrap=True)
        self.use_step = Button(looks, "secondary", size="compact")
        self.repair = Button(looks, "secondary", size="compact")
        self.fold = Button(looks, "link", "right", size="compact")
        self.copy = IconButton(looks, "copy", small=True)
        self.log = QPlainTextEdit(readOnly=True)
        self.log.setWordWrapMode(QTextOption.WrapMode.WrapAnywhere)
        self.log.setTabChangesFocus(True)
        self._lay_out()
        self.fold.clicked.connect(self._on_fold_clicked)
        self.copy.clicked.connect(self._on_copy_clicked)
        self.use_step.clicked.connect(self._on_step_clicked)
        self.repair.clicked.connect(self._on_repair_clicked)
        looks.changed.connect(self._show)

    def show_view(self, view: ModelView) -> None:
        """Show the failure of a view."""
        self._view = view
        self._show()

    def _lay_out(self) -> None:
        sign = column(IconLabel(self._looks, "error", "danger_text"), None)
        words = row(sign, column(self._message, self._action, gap=4), gap=10)
        words.setStretch(1, 1)
        buttons = row(self.use_step, self.repair, None)
        tools = row(self.fold, None, self.copy)
        self.setLayout(column(tone_box("danger", column(words, buttons, gap=8)), tools, self.log, gap=4))
        self.log.hide()
        self.repair.hide()

    def _show(self) -> None:
        look, view = self._looks.look, self._view
        if view.failure is None:
            return
        words = look.texts.finding(view.failure)
        self._message.setText(words.message)
        self._message.setAccessibleName(f"{look.text('severity.error')}: {words.message}")
        self._action.setText(action_in_window(look.texts, view.failure))
        button = repair_button(view.failure, view.findings)
        self.repair.setVisible(button is not None)
        self.repair.setText("" if button is None else say(look.texts, button))
        self._action.setVisible(view.next_step is None and button is None)  # else the button does it
        self._step = view.next_step
        self.use_step.setVisible(view.next_step is not None)
        if view.next_step is not None:
            name = look.text(f"ui.plan.step.{view.next_step.name}")
            self.use_step.setText(look.text("ui.plan.failure.use_step", name=name))
        has_log = bool(view.log_tail)
        self.fold.setText(look.text("ui.plan.failure.log"))
        self.fold.setVisible(has_log)
        self.copy.set_words(look.text("ui.plan.failure.copy"))
        self.copy.setVisible(has_log)
        self._show_log()

    def _show_log(self) -> None:
        look = self._looks.look
        is_open = self.log.isVisibleTo(self) and bool(self._view.log_tail)
        self.log.setVisible(is_open)
        self.fold.set_icon_name("down" if is_open else "right")
        font = look.font("code")
        self.log.setFont(font)
        self.log.setFixedHeight(QFontMetrics(font).lineSpacing() * _LOG_LINES + _LOG_MARGIN)
        self.log.setAccessibleName(look.text("ui.plan.failure.log"))
        text = "\n".join(self._view.log_tail)
        if text != self.log.toPlainText():
            self.log.setPlainText(text)
            bar = self.log.verticalScrollBar()
            bar.setValue(bar.maximum())  # the reason stands at the end

    def _on_fold_clicked(self) -> None:
        self.log.setVisible(not self.log.isVisibleTo(self))
        self._show_log()

    def _on_copy_clicked(self) -> None:
        QGuiApplication.clipboard().setText("\n".join(self._view.log_tail))

    def _on_repair_clicked(self) -> None:
        if self._view.failure is not None:
            self.repair_requested.emit(self._view.failure)

    def _on_step_clicked(self) -> None:
        if self._step is not None:
            self.step_requested.emit(self._step)
