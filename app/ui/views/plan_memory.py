"""Where a plan puts the model: the layer map with its legend, and each device's memory by parts."""

from collections.abc import Mapping

from PySide6.QtWidgets import QWidget

from app.planner.facts import OffloadPlan
from app.ui.model_view import ModelView
from app.ui.theme.look import LookSource
from app.ui.views.layer_cells import LayerCell, Tier, cells_of
from app.ui.views.measured import CPU
from app.ui.views.plan_head import SectionTitle
from app.ui.views.plan_parts import DeviceParts, device_parts
from app.ui.widgets.labels import TextLabel
from app.ui.widgets.layer_map import LayerMap
from app.ui.widgets.layouts import FlowLayout, column, holder, row
from app.ui.widgets.parts_bar import PartsBar
from app.ui.widgets.swatch import Swatch


class PlanMemory(QWidget):
    """The lower half of the plan tab."""

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._view = ModelView()
        self._map_title = SectionTitle()
        self._map = LayerMap(looks)
        self._legend = {tier: _LegendEntry(looks, tier) for tier in Tier}
        self._parts_title = SectionTitle()
        self._devices: list[_DeviceView] = []
        self._device_list = column(gap=12)
        legend = holder(FlowLayout(*self._legend.values(), gap=12))
        map_part = column(self._map_title, self._map, legend, gap=8)
        self.setLayout(column(map_part, column(self._parts_title, self._device_list, gap=8), gap=16))
        looks.changed.connect(self._show)

    def show_view(self, view: ModelView) -> None:
        """Show where the plan of a view puts things."""
        self._view = view
        self._show()

    def _show(self) -> None:
        look, view = self._looks.look, self._view
        if view.plan is None or view.facts is None:
            return
        planned = look.text("ui.plan.planned")
        self._map_title.show_title(look.text("ui.plan.map.title"), planned, "neutral")
        self._parts_title.show_title(look.text("ui.plan.parts.title"), planned, "neutral")
        cells = cells_of(view.facts, view.plan)
        self._map.show_layers(cells)
        for tier, size_bytes in tier_bytes(cells, view.plan).items():
            self._legend[tier].show_size(size_bytes)
        devices = device_parts(view.plan, view.budget)
        while len(self._devices) < len(devices):
            self._devices.append(_DeviceView(self._looks))
            self._device_list.addWidget(self._devices[-1])
        for index, line in enumerate(self._devices):
            line.setVisible(index < len(devices))
            if index < len(devices):
                line.show_device(devices[index])


class _LegendEntry(QWidget):
    def __init__(self, looks: LookSource, tier: Tier) -> None:
        super().__init__()
        self._looks = looks
        self._tier = tier
        self._words = TextLabel("caption", "soft")
        self.setLayout(row(Swatch(looks, tier.value), self._words, gap=6))

    def show_size(self, size_bytes: int) -> None:
        """Show what the layers take in this tier; nothing hides the entry."""
        look = self._looks.look
        self.setVisible(size_bytes > 0)
        name = look.text(f"ui.plan.tier.{self._tier.value}")
        self._words.setText(look.text("ui.plan.part.line", name=name, size=size_bytes))


class _DeviceView(QWidget):
    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._name = TextLabel("label")
        self._figures = TextLabel("caption", "soft")
        self._error = TextLabel("caption", "soft")
        self._bar = PartsBar(looks)
        self._missing = TextLabel("caption", "danger", wrap=True)
        words = holder(FlowLayout(self._name, self._figures, self._error))
        self.setLayout(column(words, self._bar, self._missing, gap=6))

    def show_device(self, device: DeviceParts) -> None:
        """Show one device of the plan."""
        look = self._looks.look
        tier = "ram" if device.name == CPU else "vram"
        name = look.text(f"ui.plan.row.{tier}", device=device.name)
        values = {"planned": device.planned_bytes, "free": device.free_bytes}
        self._name.setText(name)
        self._figures.setText(look.text("ui.plan.parts.figures", **values))
        self._error.setVisible(bool(device.error_bytes))
        self._error.setText(look.text("ui.plan.parts.error", error=device.error_bytes))
        missing = device.planned_bytes - device.free_bytes
        self._missing.setVisible(missing > 0)
        self._missing.setText(look.text("ui.plan.parts.missing", missing=max(0, missing)))
        mark = device.free_bytes if missing > 0 else None
        self._bar.show_parts(name, tier, device.parts, device.total_bytes, mark)


def tier_bytes(cells: tuple[LayerCell, ...], plan: OffloadPlan) -> Mapping[Tier, int]:
    """Return what the layers of the map take by tier; all of `plan.disk_bytes` is theirs."""
    in_vram = in_ram = 0
    for cell in cells:
        routed_in_vram = cell.tier is Tier.VRAM
        other_in_vram = (cell.other_tier if cell.has_experts else cell.tier) is Tier.VRAM
        in_vram += cell.routed_bytes * routed_in_vram + cell.other_bytes * other_in_vram
        in_ram += cell.routed_bytes * (not routed_in_vram) + cell.other_bytes * (not other_in_vram)
    return {Tier.VRAM: in_vram, Tier.RAM: in_ram - plan.disk_bytes, Tier.DISK: plan.disk_bytes}
