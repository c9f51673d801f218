"""What is wished of the next load: context, type of the KV cache, threads, repacking."""

from dataclasses import replace
from typing import Any, Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.options import KV_CACHE_TYPES
from app.planner.facts import ExpertWishes, Wishes
from app.ui.model_view import ModelView
from app.ui.theme.look import LookSource
from app.ui.views.auto_slider_row import AutoSliderRow
from app.ui.views.expert_parameters import ExpertParameters
from app.ui.views.parameter_rows import ChoiceRow, NumberRow
from app.ui.views.parameter_values import WHOLE, NumberField, context_stops
from app.ui.views.plan_head import SectionTitle
from app.ui.views.words import Words
from app.ui.widgets.labels import TextLabel
from app.ui.widgets.layouts import column

_AUTO: Final = "auto"
_REPACK: Final[dict[str, bool | None]] = {_AUTO: None, "on": True, "off": False}


class LoadParameters(QWidget):
    """The lower card of the parameters tab. What is left open shows what the plan chose.

    Signals:
        wishes_changed: `Wishes`.
    """

    wishes_changed = Signal(object)

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._view = ModelView()
        self._wishes = Wishes()
        self._auto_n_ctx: tuple[object, int] | None = None
        self._title = SectionTitle()
        self.context = AutoSliderRow(looks, "context")
        self.n_ctx = NumberRow(looks, NumberField("n_ctx", WHOLE, "auto"))
        self.kv_type = ChoiceRow(looks, "kv_type")
        self.n_threads = NumberRow(looks, NumberField("n_threads", WHOLE, "auto"))
        self.repack = ChoiceRow(looks, "repack")
        self.expert = ExpertParameters(looks)
        self._note = TextLabel("caption", "warning", wrap=True)
        rows = (self.context, self.n_ctx, self.kv_type, self.n_threads, self.repack, self.expert)
        self.setLayout(column(self._title, *rows, self._note, gap=14))
        self.context.moved.connect(self._on_context_moved)
        self.context.auto_chosen.connect(lambda: self._wish(n_ctx=None))
        self.n_ctx.committed.connect(lambda value: self._wish(n_ctx=value))
        self.n_threads.committed.connect(lambda value: self._wish(n_threads=value))
        self.kv_type.chosen.connect(lambda key: self._wish(kv_type=None if key == _AUTO else key))
        self.repack.chosen.connect(lambda key: self._wish(repack=_REPACK[key]))
        self.expert.expert_changed.connect(lambda expert: self._wish(expert=expert))
        looks.changed.connect(self._show_title)
        self._show_title()
        self._show()

    def show_view(self, view: ModelView) -> None:
        """Show the wishes of a view."""
        view = replace(view, tokens_per_second=None, gains=())
        if view != self._view:
            self._view, self._wishes = view, view.wishes
            self._show()

    def show_detail(self, *, is_expert: bool) -> None:
        """Show the one slider, or all there is."""
        self.context.setVisible(not is_expert)
        for line in (self.n_ctx, self.kv_type, self.n_threads, self.repack, self.expert):
            line.setVisible(is_expert)

    def reset(self) -> None:
        """Leave everything to Moxie; the MoE control of the model bar stays as it is."""
        self._wish(n_ctx=None, kv_type=None, repack=None, n_threads=None, expert=ExpertWishes())

    def _wish(self, **values: Any) -> None:
        changed = replace(self._wishes, **values)
        if changed != self._wishes:
            self._wishes = changed
            self._show()
            self.wishes_changed.emit(changed)

    def _show(self) -> None:
        wishes = self._wishes
        if not self.context.is_being_moved:
            self._show_context()
        self.n_ctx.show_value(wishes.n_ctx, self._auto("n_ctx", wishes.n_ctx))
        self.n_threads.show_value(wishes.n_threads, self._auto("n_threads", wishes.n_threads))
        kv_types = [(name, Words("ui.plan.value.name", {"value": name})) for name in KV_CACHE_TYPES]
        kv_auto = (_AUTO, self._auto("type_k", wishes.kv_type))
        self.kv_type.show_choices([kv_auto, *kv_types], wishes.kv_type or _AUTO)
        switches = [(key, Words(f"ui.plan.value.{key}")) for key in ("on", "off")]
        current = next(key for key, value in _REPACK.items() if value is wishes.repack)
        self.repack.show_choices([(_AUTO, self._auto("repack", wishes.repack)), *switches], current)
        self.expert.show_view(replace(self._view, wishes=wishes))
        self._note.setVisible(self._view.is_loaded and self._view.needs_reload)

    def _show_context(self) -> None:
        wished, auto = self._wishes.n_ctx, self._auto_context()
        stops = self._context_stops()
        words = self._auto("n_ctx", wished)
        if wished is not None:
            words = Words("ui.parameters.context.value", {"tokens": wished})
        stands_at = wished or auto or stops[0]
        mark = None if auto is None else stops.index(auto)
        self.context.show_stop(stops.index(stands_at), len(stops) - 1, words, mark)
        self.context.show_mode(is_auto=wished is None)
        self.context.slider.setEnabled(wished is not None or auto is not None)

    def _context_stops(self) -> tuple[int, ...]:
        facts = self._view.facts
        length = facts.context_length if facts else None
        return context_stops(length, self._wishes.n_ctx, self._auto_context())

    def _auto_context(self) -> int | None:
        """Return what Auto chose, also while something else is wished; None while nobody asked it."""
        view = self._view
        question = (view.path, replace(view.wishes, n_ctx=None), view.budget)
        if view.plan is not None and view.wishes.n_ctx is None:
            self._auto_n_ctx = (question, view.plan.options.n_ctx)
        return self._auto_n_ctx[1] if self._auto_n_ctx and self._auto_n_ctx[0] == question else None

    def _auto(self, option: str, wished: object) -> Words:
        """Return how "you decide" is said: with what was decided, where that is known."""
        plan = self._view.plan
        if plan is None or wished is not None:
            return Words("ui.parameters.auto")
        value = getattr(plan.options, option)
        if isinstance(value, bool):
            said = Words("ui.plan.value.on" if value else "ui.plan.value.off")
        else:
            key = "count" if isinstance(value, int) else "name"
            said = Words(f"ui.plan.value.{key}", {"value": value})
        return Words("ui.parameters.auto_value", {"value": said})

    def _on_context_moved(self, position: int) -> None:
        self._wish(n_ctx=self._context_stops()[position])

    def _show_title(self) -> None:
        look = self._looks.look
        self._title.show_title(look.text("ui.parameters.loading"), look.text("ui.parameters.needs_reload"))
        self._note.setText(look.text("ui.parameters.not_in_force"))
