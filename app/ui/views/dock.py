"""The side panel: plan, monitor, parameters."""

from typing import Final

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QStackedWidget, QWidget

from app.ui.theme.look import LookSource
from app.ui.theme.tokens import LAYOUT
from app.ui.views.monitor_tab import MonitorTab
from app.ui.views.parameters_tab import ParametersTab
from app.ui.views.plan_tab import PlanTab
from app.ui.widgets.buttons import IconButton
from app.ui.widgets.controls import Segmented
from app.ui.widgets.layouts import column, row
from app.ui.widgets.panel import Panel
from app.ui.widgets.width_handle import THICKNESS, WidthHandle

PLAN: Final = "plan"
MONITOR: Final = "monitor"
PARAMETERS: Final = "parameters"
TABS: Final = (PLAN, MONITOR, PARAMETERS)
"""Also the ends of their text keys."""
WIDTH_MOST: Final = 520
"""Of its own accord, with large text; by hand it can have more."""

_WIDTH_LEAST: Final = 280
_WIDTH_MOST_BY_HAND: Final = 860


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
        self.handle = WidthHandle(looks, self)
        self._width_wish: int | None = None
        self._pages = QStackedWidget()
        for page in (self.plan_tab, self.monitor_tab, self.parameters_tab):
            self._pages.addWidget(page)
        head = row(self.tabs, None, self.close_button, gap=8, margins=(12, 10, 10, 0))
        layout = column(head, gap=6, margins=(1, 0, 0, 0))
        layout.addWidget(self._pages, 1)
        self.setLayout(layout)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)
        self.handle.raise_()
        self.handle.widened.connect(self._on_widened)
        self.handle.reset_requested.connect(lambda: self.set_width_wish(None))
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

    @property
    def width_wish(self) -> int | None:
        """The width the person gave it, in pixels; None for its own."""
        return self._width_wish

    def set_width_wish(self, width: int | None) -> None:
        """Give it a width, within bounds, for as long as the window has that much room; None: its own."""
        if width is not None:
            width = max(self._width_least(), min(_WIDTH_MOST_BY_HAND, width))
        if width != self._width_wish:
            self._width_wish = width
            self.updateGeometry()
            self._say_width()

    def sizeHint(self) -> QSize:
        width = self._own_width() if self._width_wish is None else self._width_wish
        return QSize(max(self._width_least(), width), super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        return QSize(self._width_least(), super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.handle.setGeometry(0, 0, THICKNESS, self.height())
        self._say_width()

    def _on_widened(self, pixels: int) -> None:
        self.set_width_wish(self.width() + pixels)

    def _own_width(self) -> int:
        return min(WIDTH_MOST, round(LAYOUT["dock"] * max(1.0, self._looks.look.zoom)))

    def _width_least(self) -> int:
        """Return the least width: what is in it needs room, large text more, but never more than its own."""
        zoomed = round(_WIDTH_LEAST * max(1.0, self._looks.look.zoom))
        return min(self._own_width(), max(zoomed, super().minimumSizeHint().width()))

    def _say_width(self) -> None:
        look = self._looks.look
        self.handle.setAccessibleName(look.text("ui.dock.width"))
        self.handle.setAccessibleDescription(look.text("ui.dock.width_value", width=self.width()))
        self.handle.setToolTip(look.text("ui.dock.width_tip"))

    def _apply_look(self) -> None:
        look = self._looks.look
        self.updateGeometry()
        self._say_width()
        self.setAccessibleName(look.text("ui.dock.name"))
        self.tabs.setAccessibleName(look.text("ui.dock.tabs"))
        self.tabs.set_items([(key, look.text(f"ui.dock.{key}")) for key in TABS])
        self.tabs.set_current(self.tab)
        self.close_button.set_words(look.text("ui.dock.close"), "Ctrl+M")
