"""The card in the middle of the chat page when the plan stands, and when the model is ready."""

from PySide6.QtWidgets import QWidget

from app.planner.facts import OffloadPlan
from app.ui.model_view import ModelPhase, ModelView
from app.ui.theme.look import LookSource
from app.ui.views.measured import CPU
from app.ui.views.model_picker import facts_line
from app.ui.views.state_words import model_name, speed_range_words
from app.ui.widgets.labels import TextLabel
from app.ui.widgets.layouts import FlowLayout, card, column, holder, row
from app.ui.widgets.swatch import Swatch


class PlannedCard(QWidget):
    """Names the model, where it goes and how fast it will be; the button is the model bar's."""

    def __init__(self, looks: LookSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._looks = looks
        self._view = ModelView()
        self._title = TextLabel("title", wrap=True)
        self._facts = TextLabel("caption", "faint", wrap=True)
        self._lead = TextLabel("body", "soft", wrap=True)
        self._places = {tier: TextLabel("label") for tier in ("vram", "ram", "disk")}
        self._items = {tier: self._item(tier) for tier in self._places}
        self._speed = TextLabel("label")
        figures = holder(FlowLayout(*self._items.values(), self._speed, gap=16))
        body = column(self._title, self._facts, 2, figures, 2, self._lead, gap=8)
        self.setLayout(column(card(body, 20), gap=0))
        looks.changed.connect(self._show)
        self._show()

    def show_view(self, view: ModelView) -> None:
        """Show a plan before the load, or that the model is ready."""
        self._view = view
        self._show()

    def _item(self, tier: str) -> QWidget:
        return holder(row(Swatch(self._looks, tier), self._places[tier], gap=6))

    def _show(self) -> None:
        look, view = self._looks.look, self._view
        is_planned = view.phase is ModelPhase.PLANNED
        key = "planned" if is_planned else "ready"
        self._title.setText(look.text(f"ui.stage.{key}", name=model_name(view)))
        self._lead.setText(look.text(f"ui.stage.{key}_lead"))
        self._facts.setText(facts_line(look, view.facts) if view.facts else "")
        if view.plan is not None:
            self._show_plan(view.plan)

    def _show_plan(self, plan: OffloadPlan) -> None:
        look = self._looks.look
        sizes = {
            "vram": sum(device.planned_bytes for device in plan.devices if device.name != CPU),
            "ram": plan.ram_bytes,
            "disk": plan.disk_bytes,
        }
        keys = {"vram": "ui.stage.on_gpu", "ram": "ui.stage.in_ram", "disk": "ui.stage.on_disk"}
        for tier, size in sizes.items():
            self._places[tier].setText(look.text(keys[tier], size=size))
            self._items[tier].setVisible(size > 0)
        speed = plan.tokens_per_second
        self._speed.setText(speed_range_words(look, speed) if speed else "")
        self._speed.setVisible(speed is not None)
