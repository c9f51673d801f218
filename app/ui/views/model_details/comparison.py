"""Two models side by side; what differs has a sign and an ink of its own."""

from collections.abc import Callable, Sequence

from PySide6.QtWidgets import QWidget

from app.texts import Texts
from app.ui.theme.look import LookSource
from app.ui.views.model_details.comparison_rows import Cell, Comparison, ComparisonRow
from app.ui.views.model_details.table_section import TableSection
from app.ui.views.words import Words, say
from app.ui.widgets.controls import Switch
from app.ui.widgets.data_table import Column
from app.ui.widgets.labels import TextLabel
from app.ui.widgets.layouts import card, column, row

DIFFERS = "≠"


class ModelComparison(QWidget):
    """Shows a `Comparison` (`comparison_rows.py: comparison_of`); empty without one."""

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._comparison: Comparison | None = None
        self._title = TextLabel("subtitle")
        self._names = TextLabel("caption", "soft", wrap=True)
        self.section = _ComparedRows(looks)
        self.only_differences = Switch(looks)
        self._switch_text = TextLabel("caption")
        self._switch_text.setBuddy(self.only_differences)
        head = row(column(self._title, self._names, gap=2), self._switch_text, self.only_differences)
        head.setStretch(0, 1)
        self.setLayout(column(card(column(head, self.section, gap=12))))
        self.only_differences.toggled.connect(self.section.show_only_differences)
        looks.changed.connect(self._show)
        self.show_comparison(None)

    def show_comparison(self, comparison: Comparison | None) -> None:
        """Show two models; None shows nothing."""
        self._comparison = comparison
        self.section.show_comparison(comparison)
        self._show()

    def _show(self) -> None:
        look, comparison = self._looks.look, self._comparison
        self.setVisible(comparison is not None)
        self._title.setText(look.text("ui.compare.title"))
        words = look.text("ui.compare.only_differences")
        self._switch_text.setText(words)
        self.only_differences.setAccessibleName(words)
        if comparison is not None:
            count = sum(line.differs for line in comparison.rows)
            names = {"left": comparison.left_name, "right": comparison.right_name}
            self._names.setText(look.text("ui.compare.summary", count=count, **names))


class _ComparedRows(TableSection):
    """The table of both models."""

    def __init__(self, looks: LookSource) -> None:
        super().__init__(looks, "ui.compare.title", "ui.compare.search", _COLUMNS)
        self._compared: Sequence[ComparisonRow] = ()
        self._only_differences = False
        self.rows_model.is_marked = _differs
        self.table.setSortingEnabled(False)
        self.table.horizontalHeader().setSectionsClickable(False)

    def show_comparison(self, comparison: Comparison | None) -> None:
        """Show other rows under the names of the two models."""
        self._compared = comparison.rows if comparison else ()
        if comparison is not None:
            self.rows_model.set_heads({"left": comparison.left_name, "right": comparison.right_name})
        self.show_row_objects(self._compared)

    def show_only_differences(self, is_on: bool) -> None:
        """Leave out what is the same."""
        self._only_differences = is_on
        self._search_again()

    def matcher(self, query: str) -> Callable[[int], bool] | None:
        words, rows, only = query.casefold().split(), self._compared, self._only_differences
        if not words and not only:
            return None
        texts = self._looks.look.texts

        def matches(index: int) -> bool:
            line = rows[index]
            if only and not line.differs:
                return False
            said = [_said(cell, texts).casefold() for cell in (line.name, line.left, line.right)]
            return all(any(word in cell for cell in said) for word in words)

        return matches

    def order_of(self, key: str, *, is_falling: bool) -> Sequence[int]:  # noqa: ARG002 never sorted
        return range(len(self._compared))


def _said(cell: Cell, texts: Texts) -> str:
    return say(texts, cell) if isinstance(cell, Words) else cell


def _differs(line: ComparisonRow) -> bool:
    return line.differs


def _sign(line: ComparisonRow, texts: Texts) -> str:  # noqa: ARG001 every column is asked alike
    return DIFFERS if line.differs else "="


def _fact(line: ComparisonRow, texts: Texts) -> str:
    return _said(line.name, texts)


def _left(line: ComparisonRow, texts: Texts) -> str:
    return _said(line.left, texts)


def _right(line: ComparisonRow, texts: Texts) -> str:
    return _said(line.right, texts)


_COLUMNS = (
    Column("sign", "ui.compare.column.sign", _sign, DIFFERS),
    Column("fact", "ui.compare.column.fact", _fact, "Quantization, dense feed-forward"),
    Column("left", "ui.compare.column.left", _left),
    Column("right", "ui.compare.column.right", _right),
)
