"""The side panel: plan, monitor, parameters."""

from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QStackedWidget, QWidget

from app.ui.theme.look import LookSource
from app.ui.theme.tokens import LAYOUT
from app.ui.views.monitor_tab import MonitorTab
from app.ui.views.parameters_tab import ParametersTab
from app.ui.views.plan_tab import PlanTab
from app.ui.widgets.buttons import IconButton
from app.ui.widgets.controls import Segmented
from app.ui.widgets.layouts import column, row
from app.ui.widgets.panel import Panel

PLAN: Final = "plan"
MONITOR: Final = "monitor"
PARAMETERS: Final = "parameters"
TABS: Final = (PLAN, MONITOR, PARAMETERS)
"""Also the ends of their text keys."""
WIDTH_MOST: Final = 520


class Dock(Panel):
    """Three tabs; only the one in front is shown, so only that one draws.

    Signals:
        tab_chosen: key of the tab in front.
        closed: the panel is to be hidden.
    """

    tab_chosen = Signal(str)
    closed = Signal()

    def __init__(self, looks: LookSource, parent: QWidget | None = None) -> None:
        super().__init__(looks, "left", parent=parent)
        self._looks = looks
        self.plan_tab = PlanTab(looks)
        self.monitor_tab = MonitorTab(looks)
        self.parameters_tab = ParametersTab(looks)
        self.tabs = Segmented(looks)
        self.close_button = IconButton(looks, "close", small=True)
        self._pages = QStackedWidget()
        for page in (self.plan_tab, self.monitor_tab, self.parameters_tab):
            self._pages.addWidget(page)
        head = row(self.tabs, None, self.close_button, gap=8, margins=(12, 10, 10, 0))
        layout = column(head, gap=6, margins=(1, 0, 0, 0))
        layout.addWidget(self._pages, 1)
        self.setLayout(layout)
        self.tabs.chosen.connect(self.show_tab)
        self.close_button.clicked.connect(self.closed)
        looks.changed.connect(self._apply_look)
        self._apply_look()
        self.show_tab(MONITOR)

    @property
    def tab(self) -> str:
        """Key of the tab in front."""
        return TABS[self._pages.currentIndex()]

    def show_tab(self, key: str) -> None:
        """Bring a tab to the front; an unknown key leaves the one that is there."""
        self.tabs.set_current(key)
        if key != self.tab and key in TABS:
            self._pages.setCurrentIndex(TABS.index(key))
            self.tab_chosen.emit(key)

    def _apply_look(self) -> None:
        look = self._looks.look
        self.setFixedWidth(min(WIDTH_MOST, round(LAYOUT["dock"] * max(1.0, look.zoom))))
        self.setAccessibleName(look.text("ui.dock.name"))
        self.tabs.setAccessibleName(look.text("ui.dock.tabs"))
        self.tabs.set_items([(key, look.text(f"ui.dock.{key}")) for key in TABS])
        self.tabs.set_current(self.tab)
        self.close_button.set_words(look.text("ui.dock.close"), "Ctrl+M")
