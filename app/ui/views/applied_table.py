"""Planned, asked, applied, measured: one row per setting, amber where one is not what it should be."""

from collections.abc import Iterator
from typing import Final

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QFontMetrics, QResizeEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QWidget

from app.texts import NO_VALUE
from app.ui.theme.look import Look, LookSource
from app.ui.theme.style_sheet import polish, restyle
from app.ui.views.applied_rows import AppliedRow, Column
from app.ui.views.words import say
from app.ui.widgets.labels import IconLabel, TextLabel
from app.ui.widgets.layouts import FlowLayout, column, holder, row

_COLUMN_GAP: Final = 6
_PADDING: Final = 4
_LEAST_WIDTH: Final = 160


class AppliedTable(QWidget):
    """Four columns where they fit; otherwise each row says its values in a line below its name."""

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._shown: tuple[AppliedRow, ...] = ()
        self._header = _RowView(looks)
        self._rows: list[_RowView] = []
        self._layout = column(self._header, gap=0)
        self.setLayout(self._layout)
        looks.changed.connect(self._show_all)
        self._show_header()

    def show_rows(self, rows: tuple[AppliedRow, ...]) -> None:
        """Show the rows."""
        for _ in self.show_in_steps(rows):
            pass

    def show_in_steps(self, rows: tuple[AppliedRow, ...]) -> Iterator[None]:
        """Show the rows, one at a step; whoever begins must go on to the end."""
        if rows == self._shown:
            return
        yield from self.prepare(len(rows))
        before, self._shown = self._shown, rows
        for index, line in enumerate(self._rows):
            if line.isHidden() == (index < len(rows)):
                line.setVisible(index < len(rows))
                yield
        for index, facts in enumerate(rows):
            if index >= len(before) or facts != before[index]:
                self._show_row(self._rows[index], facts)
                yield
        self._arrange()

    def prepare(self, count: int) -> Iterator[None]:
        """Make the widgets of this many rows, one at a step."""
        while len(self._rows) < count:
            line = _RowView(self._looks)
            line.hide()
            self._rows.append(line)
            self._layout.addWidget(line)
            yield
            yield from polish(line)

    def row_texts(self) -> tuple[str, ...]:
        """Return what readers of the screen are told, row by row."""
        return tuple(line.accessibleName() for line in self._rows[: len(self._shown)])

    @property
    def is_narrow(self) -> bool:
        """There is no room for the columns."""
        return self._header.isHidden()

    def minimumSizeHint(self) -> QSize:
        return QSize(_LEAST_WIDTH, super().minimumSizeHint().height())  # columns give way, they do not push

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._arrange()

    def _show_all(self) -> None:
        self._show_header()
        for line, facts in zip(self._rows, self._shown, strict=False):
            self._show_row(line, facts)
        self._arrange()

    def _show_header(self) -> None:
        self._header.show_texts("", _column_names(self._looks.look), None, None)

    def _show_row(self, line: "_RowView", facts: AppliedRow) -> None:
        texts = self._looks.look.texts
        cells = {column: say(texts, words) for column, words in facts.cells.items()}
        reason = say(texts, facts.reason) if facts.reason else None
        line.show_texts(say(texts, facts.name), cells, facts.marked, reason)

    def _arrange(self) -> None:
        """Give all rows the same columns, or none."""
        lines = [self._header, *self._rows[: len(self._shown)]]
        widths = {which: max(line.cell_widths[which] for line in lines) + 2 for which in Column}
        name_width = max(line.name_width for line in lines)
        needed = name_width + sum(widths.values()) + len(widths) * _COLUMN_GAP + 2 * _PADDING
        has_room = needed <= self.width()
        self._header.setVisible(has_room)
        for line in lines:
            line.set_columns(widths if has_room else None)


class _RowView(QFrame):
    """One row, or the header: its cells in columns, or as one line that wraps.

    Attributes:
        name_width: Of the longest word of the name, in pixels.
        cell_widths: What each cell needs, in pixels.
    """

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self.name_width = 0
        self.cell_widths = dict.fromkeys(Column, 0)
        self._name = TextLabel("caption", wrap=True)
        self._cells = {column: TextLabel("caption") for column in Column}
        self._pairs = {column: TextLabel("caption", "soft") for column in Column}
        self._line = holder(FlowLayout(*self._pairs.values(), gap=10))
        self._sign = IconLabel(looks, "warning", "warning_text", 16)
        self._note_sign = IconLabel(looks, "info", "text_faint", 16)
        self._reason = TextLabel("caption", wrap=True)
        self._why = QWidget()
        why = row(column(self._sign, self._note_sign, None), self._reason, gap=6)
        why.setStretch(1, 1)
        self._why.setLayout(why)
        self._grid = grid = QGridLayout()
        grid.setHorizontalSpacing(_COLUMN_GAP)
        grid.setVerticalSpacing(2)
        grid.setColumnStretch(0, 1)
        grid.addWidget(self._name, 0, 0)
        for index, label in enumerate(self._cells.values(), 1):
            label.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            grid.addWidget(label, 0, index)
        grid.addWidget(self._line, 1, 0, 1, 5)
        grid.addWidget(self._why, 2, 0, 1, 5)
        self.setLayout(grid)

    def show_texts(
        self, name: str, cells: dict[Column, str], marked: Column | None, reason: str | None
    ) -> None:
        """Show a row; without a name it is the header."""
        look = self._looks.look
        self._name.setText(name)
        for which, label in self._cells.items():
            label.setText(cells.get(which, NO_VALUE))
            label.set_ink("warning" if which is marked else None if name else "faint")
        self._measure(name)
        self._reason.setText(reason or "")
        self._why.setVisible(reason is not None)
        self._sign.setVisible(marked is not None)
        self._note_sign.setVisible(marked is None)
        self._set_tone("warning" if marked else None)
        named = _column_names(look)
        for which, label in self._pairs.items():
            value = self._cells[which].text()
            label.setText(look.text("ui.plan.table.cell", column=named[which], value=value))
            label.setVisible(which in cells)  # a dash only holds a place between columns
            label.set_ink("warning" if which is marked else "soft")
        values = ", ".join(label.text() for label in self._pairs.values())
        spoken = look.text("ui.plan.table.spoken", name=name, values=values)
        self.setAccessibleName(f"{spoken} {reason}" if reason else spoken)

    def set_columns(self, widths: dict[Column, int] | None) -> None:
        """Give the cells their widths; None shows them as a line below the name."""
        # not the labels' own widths: Qt keeps a label's hint from before its least width changed
        for place, (which, label) in enumerate(self._cells.items(), 1):
            label.setVisible(widths is not None)
            self._grid.setColumnMinimumWidth(place, 0 if widths is None else widths[which])
        self._line.setVisible(widths is None)
        above = _PADDING if widths is None else 2
        self._grid.setContentsMargins(_PADDING, above, _PADDING, above)

    def _measure(self, name: str) -> None:
        advance = QFontMetrics(self._looks.look.font("caption", 600)).horizontalAdvance
        self.name_width = max(map(advance, name.split()), default=0)
        self.cell_widths = {which: advance(label.text()) for which, label in self._cells.items()}

    def _set_tone(self, tone: str | None) -> None:
        if tone != self.property("tone"):
            self.setProperty("tone", tone)
            restyle(self)


def _column_names(look: Look) -> dict[Column, str]:
    return {column: look.text(f"ui.plan.column.{column.value}") for column in Column}
