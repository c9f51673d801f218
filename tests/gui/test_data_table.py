"""Columns of tables share the room there is."""

from collections.abc import Callable
from dataclasses import replace

from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.ui.theme.look import LookSource
from app.ui.widgets.data_table import Column, DataTable, RowsModel


def test_a_column_without_a_width_stays_readable_where_the_table_is_narrow(
    looks: LookSource, show: Callable[[QWidget], QWidget], qtbot: QtBot
) -> None:
    columns = (
        Column("name", "ui.details.column.name", lambda number, _: f"blk.{number}.attn_q.weight"),
        Column("size", "ui.details.column.size", lambda number, _: str(number), "2048 x 151936"),
    )
    model = RowsModel(looks, columns)
    model.show_rows(range(9), range(9))
    table = DataTable(looks, model)
    table.resize(220, 300)
    show(table)
    looks.set_look(replace(looks.look, zoom=2.0))
    head = table.horizontalHeader()
    assert head.sectionSize(0) >= QFontMetrics(looks.look.font("code")).horizontalAdvance("blk.0.ffn_up")
    assert head.length() > table.viewport().width()
    table.resize(1800, 300)
    qtbot.waitUntil(lambda: head.length() == table.viewport().width())
