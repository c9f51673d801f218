"""Planned, asked, applied and measured of one file: of its last load in this session, or only its plan."""

from collections.abc import Iterator
from typing import Final

from PySide6.QtWidgets import QWidget

from app.ui.model_page_view import ModelPageView
from app.ui.theme.look import LookSource
from app.ui.views.applied_rows import applied_rows
from app.ui.views.applied_table import AppliedTable
from app.ui.widgets.labels import Chip, TextLabel
from app.ui.widgets.layouts import card, column, row

_ROWS_OF_A_PLAN: Final = 10


class ModelTruth(QWidget):
    """The table, and a chip that says which load it is of."""

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._view = ModelPageView()
        self._title = TextLabel("subtitle", wrap=True)
        self._chip = Chip("neutral")
        self.table = AppliedTable(looks)
        self._note = TextLabel("caption", "faint", wrap=True)
        head = row(self._title, self._chip)
        head.setStretch(0, 1)
        self.setLayout(column(card(column(head, self.table, self._note, None, gap=8))))
        looks.changed.connect(self._show)

    def show_view(self, view: ModelPageView) -> None:
        """Show the table; hidden for a file without plan or load."""
        for _ in self.show_in_steps(view):
            pass

    def show_in_steps(self, view: ModelPageView) -> Iterator[None]:
        """Do the same, a row at a step."""
        self._view = view
        yield from self._steps()

    def prepare(self) -> Iterator[None]:
        """Make what a plan will need."""
        yield from self.table.prepare(_ROWS_OF_A_PLAN)

    def _show(self) -> None:
        self.show_view(self._view)

    def _steps(self) -> Iterator[None]:
        look, view = self._looks.look, self._view
        rows = applied_rows(view.as_model_view())
        self.setVisible(bool(rows) and not view.is_checking)
        yield from self.table.show_in_steps(rows)
        self._title.setText(
            look.text("ui.plan.table.title" if not view.last_load else "ui.models.truth.title")
        )
        has_load = view.last_load is not None
        key = "ui.models.truth.loaded_at" if has_load else "ui.models.truth.not_loaded"
        self._chip.setText(look.text(key, time=view.loaded_at))
        self._note.setText(look.text("ui.models.truth.note"))
        self._note.setVisible(not has_load)
