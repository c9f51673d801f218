"""The top of the plan tab: what the plan comes to and why, or what to do while there is none."""

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QWidget

from app.planner.facts import OffloadPlan
from app.ui.model_view import ModelPhase, ModelView
from app.ui.theme.look import LookSource
from app.ui.theme.style_sheet import restyle
from app.ui.views.plan_speed import basis_words, speed_lines
from app.ui.views.plan_words import plan_summary
from app.ui.views.state_words import model_name, speed_range_words, state_words
from app.ui.views.words import say
from app.ui.widgets.buttons import Button
from app.ui.widgets.labels import Chip, IconLabel, TextLabel
from app.ui.widgets.layouts import column, holder, row, tone_box

_TOP_GAP = 48
_LEAST_WIDTH = 120
_BUSY = (ModelPhase.LOADING, ModelPhase.WARMING, ModelPhase.UNLOADING)


class SectionTitle(QWidget):
    """A heading, and a chip where something below it deserves a look."""

    def __init__(self) -> None:
        super().__init__()
        self._title = TextLabel("subtitle", wrap=True)
        self._chip = Chip("warning")
        self._line = row(self._title, self._chip)
        self._line.setStretch(0, 1)
        self.setLayout(self._line)

    def show_title(self, title: str, chip: str | None = None, tone: str = "warning") -> None:
        """Set the words."""
        self._title.setText(title)
        self._chip.setText(chip or "")
        self._chip.set_tone(tone)
        self._chip.setVisible(chip is not None)
        self._arrange()

    def minimumSizeHint(self) -> QSize:
        return QSize(_LEAST_WIDTH, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        """Put the chip below where a word of the title would be broken beside it."""
        metrics = self._title.fontMetrics()
        word = max((metrics.horizontalAdvance(word) for word in self._title.text().split()), default=0)
        beside = word + self._line.spacing() + self._chip.sizeHint().width()
        has_room = self._chip.isHidden() or beside <= self.width()
        sides, stacked = QBoxLayout.Direction.LeftToRight, QBoxLayout.Direction.TopToBottom
        self._line.setDirection(sides if has_room else stacked)


class PlanHead(QWidget):
    """The plan in one line and one sentence, with its speed; below, what the model is doing for a while.

    Signals:
        measure_requested: the speed is to be measured.
    """

    measure_requested = Signal()

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._view = ModelView()
        self._sign = IconLabel(looks, "plan", "accent_text")
        self._title = TextLabel("subtitle", wrap=True)
        self._why = TextLabel("caption", "soft", wrap=True)
        self._speed = TextLabel("caption", wrap=True)
        self.measure = Button(looks, "link", size="compact")
        self.measure.clicked.connect(self.measure_requested)
        self._doing = TextLabel("caption", "soft", wrap=True)
        top = row(column(self._sign, None), self._title, gap=8)
        top.setStretch(1, 1)
        self._measure_line = holder(row(self.measure, None))
        lines = (top, self._why, self._speed, self._measure_line, self._doing)
        self._box = tone_box("accent", column(*lines, gap=4))
        self.setLayout(column(self._box))
        looks.changed.connect(self._show)

    def show_view(self, view: ModelView) -> None:
        """Show the plan of a view; hidden without one."""
        self._view = view
        self._show()

    def _show(self) -> None:
        look, view = self._looks.look, self._view
        summary = plan_summary(view)
        self.setVisible(summary is not None)
        if summary is None or view.plan is None:
            return
        self._title.setText(say(look.texts, summary.title))
        self._why.setText(say(look.texts, summary.why))
        works = summary.tone != "danger"
        self._show_speed(view, view.plan, works=works)
        is_busy = view.phase in _BUSY
        self._doing.setVisible(is_busy)
        if is_busy:
            words = state_words(look, view)
            self._doing.setText(look.text("ui.plan.doing", state=words.state, detail=words.detail))
        self._sign.set_icon("plan" if works else "error", "accent_text" if works else "danger_text")
        if self._box.property("tone") != summary.tone:
            self._box.setProperty("tone", summary.tone)
            restyle(self._box)

    def _show_speed(self, view: ModelView, plan: OffloadPlan, *, works: bool) -> None:
        look, told = self._looks.look, plan.forecast
        lines = [say(look.texts, words) for words in speed_lines(plan)]
        if told is not None:
            speed = look.text("ui.plan.speed", speed=speed_range_words(look, told.decode))
            basis = say(look.texts, basis_words(told))
            lines.insert(0, look.text("ui.plan.speed.basis", speed=speed, basis=basis))
        elif view.is_measuring:
            lines = [look.text("ui.plan.speed.measuring")]
        elif view.can_measure:
            lines = [look.text("ui.plan.speed.unknown")]
        self._speed.setText("\n".join(lines))
        self._speed.setVisible(works and bool(lines))
        self._measure_line.setVisible(works and view.can_measure)
        self.measure.setText(look.text("ui.plan.speed.measure"))
        self.measure.setToolTip(look.text("ui.plan.speed.measure_hint"))


class EmptyPlan(QWidget):
    """There is no plan yet: one sentence, and the button that leads on.

    Signals:
        pick_requested: a model is to be picked.
    """

    pick_requested = Signal()

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._view = ModelView()
        self._title = TextLabel("subtitle", wrap=True)
        self._hint = TextLabel("caption", "soft", wrap=True)
        self._pick = Button(looks, "secondary", "models")
        self._pick.clicked.connect(self.pick_requested)
        for words in (self._title, self._hint):
            words.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.setLayout(
            column(
                _TOP_GAP,
                row(None, IconLabel(looks, "plan", "text_faint", 32), None),
                self._title,
                self._hint,
                row(None, self._pick, None),
            )
        )
        looks.changed.connect(self._show)

    def show_view(self, view: ModelView) -> None:
        """Show what is missing: a model, or the end of its check."""
        self._view = view
        self._show()

    def _show(self) -> None:
        look, view = self._looks.look, self._view
        is_checking = view.phase is ModelPhase.CHECKING
        key = "checking" if is_checking else "none"
        self._title.setText(look.text(f"ui.plan.empty.{key}", name=model_name(view)))
        self._hint.setText(look.text(f"ui.plan.empty.{key}.hint"))
        self._pick.setText(look.text("ui.plan.empty.pick"))
        self._pick.setVisible(not is_checking)
