"""Where each layer of a model lives with the chosen step, what that comes to, and what one token reads."""

from PySide6.QtWidgets import QWidget

from app.ui.model_page_view import ModelPageView
from app.ui.theme.look import LookSource
from app.ui.views.layer_cells import Tier, cells_of
from app.ui.views.models_words import anatomy_words
from app.ui.views.plan_memory import tier_bytes
from app.ui.views.words import say
from app.ui.widgets.labels import Chip, TextLabel
from app.ui.widgets.layer_rows import LayerRows
from app.ui.widgets.layouts import card, column, holder, row
from app.ui.widgets.swatch import Swatch


class LayerCard(QWidget):
    """The map with its legend; below it the layer under the mouse, or what holds for the whole file."""

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._view = ModelPageView()
        self._title = TextLabel("subtitle")
        self._chip = Chip("neutral")
        self._legend = {tier: TextLabel("caption", "soft") for tier in Tier}
        self._entries = {
            tier: holder(row(Swatch(looks, tier.value), words, gap=6)) for tier, words in self._legend.items()
        }
        self.map = LayerRows(looks)
        self.foot = TextLabel("caption", "faint", wrap=True)
        self._layer = ""
        head = row(self._title, self._chip, gap=8)
        head.addStretch(1)
        head.addLayout(row(*self._entries.values(), gap=16))
        self.setLayout(column(card(column(head, self.map, self.foot, gap=10))))
        self.map.words_changed.connect(self._on_layer)
        looks.changed.connect(self._show)

    def show_view(self, view: ModelPageView) -> None:
        """Show the plan of the chosen step; hidden without one."""
        self._view = view
        self._show()

    def _on_layer(self, words: str) -> None:
        self._layer = words
        self._show_foot()

    def _show(self) -> None:
        look, view = self._looks.look, self._view
        plan, facts = view.plan, view.facts
        self.setVisible(plan is not None and bool(facts and facts.layers))
        if plan is None or facts is None:
            return
        self._title.setText(look.text("ui.plan.map.title"))
        self._chip.setText(look.text("ui.plan.planned"))
        cells = cells_of(facts, plan)
        self.map.show_layers(cells)
        for tier, size_bytes in tier_bytes(cells, plan).items():
            name = look.text(f"ui.plan.tier.{tier.value}")
            self._legend[tier].setText(look.text("ui.plan.part.line", name=name, size=size_bytes))
            self._entries[tier].setVisible(size_bytes > 0)
        self._show_foot()

    def _show_foot(self) -> None:
        words = anatomy_words(self._view)
        whole = say(self._looks.look.texts, words) if words is not None else ""
        self.foot.setText(self._layer or whole)
        self.foot.set_ink("soft" if self._layer else "faint")
