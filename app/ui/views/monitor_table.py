"""The values of the charts as a table, for who cannot see curves."""

import time
from typing import Final

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from app.texts import NO_VALUE, format_bytes
from app.ui.theme.look import LookSource
from app.ui.views.monitor_history import Curve, MonitorHistory

ROWS: Final = 120

Index = QModelIndex | QPersistentModelIndex


class ValuesModel(QAbstractTableModel):
    """A copy of the newest rows at one moment, so that nothing moves while it is read."""

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._rows: list[list[str]] = []
        looks.changed.connect(self._on_look_changed)

    def show_history(self, history: MonitorHistory, wall_seconds: float) -> None:
        """Copy the newest rows, gaps left out, the newest first."""
        self.beginResetModel()
        ring = history.ring
        now = history.now_seconds
        self._rows = []
        for index in range(len(ring) - 1, -1, -1):
            values = {curve: ring.value_at(index, curve) for curve in Curve}
            if any(value is not None for value in values.values()):
                moment = time.localtime(wall_seconds + float(ring.times[index]) - now)
                cells = [value_text(curve, values[curve]) for curve in Curve]
                self._rows.append([time.strftime("%H:%M:%S", moment), *cells])
            if len(self._rows) == ROWS:
                break
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 Qt's signature
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 Qt's signature
        return 0 if parent.isValid() else 1 + len(Curve)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if role == Qt.ItemDataRole.DisplayRole:
            return self._rows[index.row()][index.column()]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if role != Qt.ItemDataRole.DisplayRole or orientation is not Qt.Orientation.Horizontal:
            return None
        name = "time" if section == 0 else tuple(Curve)[section - 1].value
        return self._looks.look.text(f"ui.monitor.column.{name}")

    def _on_look_changed(self) -> None:
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(Curve))


class ValuesTable(QTableView):
    """The table; fills itself when `show_history` is called, not by itself."""

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._model = ValuesModel(looks)
        self.setModel(self._model)
        self.setProperty("style", "caption")
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setTabKeyNavigation(False)
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.setMinimumHeight(240)
        looks.changed.connect(self._set_words)
        self._set_words()

    def show_history(self, history: MonitorHistory, wall_seconds: float) -> None:
        """Show the values of this moment."""
        self._model.show_history(history, wall_seconds)

    def _set_words(self) -> None:
        self.setAccessibleName(self._looks.look.text("ui.monitor.table"))


def value_text(curve: Curve, value: float | None) -> str:
    """Return a value with its unit; a dash for none."""
    if value is None:
        return NO_VALUE
    match curve:
        case Curve.VRAM | Curve.RAM:
            return format_bytes(value)
        case Curve.DISK:
            return f"{format_bytes(value)}/s"
        case Curve.TEMPERATURE:
            return f"{value:.0f} °C"
        case Curve.POWER:
            return f"{value:.0f} W"
        case Curve.CPU:
            return f"{value:.0f}%"
        case Curve.SPEED:
            return f"{value:.1f} tok/s"
