"""A table of an answer: tinted head, hairlines between rows."""

from typing import Final

from PySide6.QtCore import QRectF, Signal
from PySide6.QtGui import QPainter, QPainterPath, QPaintEvent, QPen, QTextTable

from app.ui.markdown.blocks import Table
from app.ui.markdown.document import table_document
from app.ui.markdown.part import Part
from app.ui.markdown.selection import Selection
from app.ui.markdown.text_view import TextView
from app.ui.theme.look import LookSource

_PADDING: Final = (14, 6)
_RADIUS: Final = 10


class TableView(Part):
    """Shows a `Table`; cells wrap, so that it is never wider than the answer.

    Signals:
        link_clicked: the address.
    """

    link_clicked = Signal(str)

    def __init__(self, looks: LookSource, table: Table, selection: Selection) -> None:
        super().__init__()
        self._looks = looks
        self._tops: list[float] = []  # of the rows, as they were laid out last
        self._document = table_document(table, looks.look, _PADDING)
        self._text = TextView(looks, self._document, selection)
        self._text.setParent(self)
        self._text.setAccessibleName(self._document.toPlainText()[:1000])
        self._text.link_clicked.connect(self.link_clicked)

    def fit(self, width: int) -> int:
        # the document ends with an empty line below the table, which is cut off
        self._text.fit(width)
        height = round(self._table_bottom())
        self._tops = self._row_tops()
        self._text.resize(width, height)
        self.resize(width, height)
        return height

    def paintEvent(self, event: QPaintEvent) -> None:
        look = self._looks.look
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        outline = QPainterPath()
        outline.addRoundedRect(box, _RADIUS, _RADIUS)
        tops = self._tops
        painter.save()
        painter.setClipPath(outline)
        painter.fillRect(
            QRectF(0, 0, self.width(), tops[1] if len(tops) > 1 else self.height()), look.color("surface")
        )
        painter.restore()
        painter.setPen(QPen(look.color("border"), 1))
        above, below = event.rect().top() - 1, event.rect().bottom() + 1
        for top in (top for top in tops[1:] if above <= top <= below):
            painter.drawLine(1, round(top), self.width() - 2, round(top))
        painter.drawPath(outline)

    def _table(self) -> QTextTable:
        table = self._document.rootFrame().childFrames()[0]
        assert isinstance(table, QTextTable)
        return table

    def _table_bottom(self) -> float:
        return self._document.documentLayout().frameBoundingRect(self._table()).bottom()

    def _row_tops(self) -> list[float]:
        layout, table = self._document.documentLayout(), self._table()
        firsts = (table.cellAt(row, 0).firstCursorPosition().block() for row in range(table.rows()))
        return [layout.blockBoundingRect(first).top() - _PADDING[1] for first in firsts]
