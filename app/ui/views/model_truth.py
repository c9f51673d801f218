"""Planned, asked, applied and measured of one file: of its last load in this session, or only its plan."""

from PySide6.QtWidgets import QWidget

from app.ui.model_page_view import ModelPageView
from app.ui.theme.look import LookSource
from app.ui.views.applied_rows import applied_rows
from app.ui.views.applied_table import AppliedTable
from app.ui.widgets.labels import Chip, TextLabel
from app.ui.widgets.layouts import card, column, row


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
        self._view = view
        self._show()

    def _show(self) -> None:
        look, view = self._looks.look, self._view
        rows = applied_rows(view.as_model_view())
        self.setVisible(bool(rows) and not view.is_checking)
        self.table.show_rows(rows)
        self._title.setText(
            look.text("ui.plan.table.title" if not view.last_load else "ui.models.truth.title")
        )
        has_load = view.last_load is not None
        key = "ui.models.truth.loaded_at" if has_load else "ui.models.truth.not_loaded"
        self._chip.setText(look.text(key, time=view.loaded_at))
        self._note.setText(look.text("ui.models.truth.note"))
        self._note.setVisible(not has_load)
