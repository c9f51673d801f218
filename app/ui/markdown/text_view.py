"""A document on the screen: selectable, with links that only tell when they are clicked."""

import math
from typing import Any, Final

from PySide6.QtCore import QPoint, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QAbstractTextDocumentLayout,
    QColor,
    QContextMenuEvent,
    QFocusEvent,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QTextBlock,
    QTextCursor,
    QTextDocument,
)
from PySide6.QtWidgets import QMenu

from app.ui.markdown.document import QUOTE_DEPTH, QUOTE_STEP
from app.ui.markdown.links import links_of
from app.ui.markdown.part import Part
from app.ui.markdown.selection import Selection
from app.ui.theme.look import LookSource

_CARET: Final = (7, 17)


class TextView(Part):
    """Paints one `QTextDocument`.

    Signals:
        link_clicked: the address, as the text gives it.
    """

    link_clicked = Signal(str)

    def __init__(
        self, looks: LookSource, document: QTextDocument, selection: Selection, *, wraps: bool = True
    ) -> None:
        super().__init__()
        self._looks = looks
        self._document = document
        self._selection = selection
        self._wraps = wraps
        self._range = (0, 0)
        self._fitted: tuple[int, int] | None = None
        self._pressed_link = ""
        self._has_caret = False
        self._links = links_of(document)
        self._has_quotes = _has_quotes(document)  # text that is added later is plain
        self._link: int | None = None  # the link that has the keyboard
        selection.add(self)
        self.setCursor(Qt.CursorShape.IBeamCursor)
        self.setMouseTracking(True)
        policy = Qt.FocusPolicy.StrongFocus if self._links else Qt.FocusPolicy.ClickFocus
        self.setFocusPolicy(policy)

    @property
    def document(self) -> QTextDocument:
        """What is painted."""
        return self._document

    def set_caret(self, *, is_shown: bool) -> None:
        """Show the mark of text still to come after the last character."""
        self._has_caret = is_shown
        self.update()

    def text_changed(self) -> None:
        """Measure again at the next `fit`, since the document was changed."""
        self._fitted = None
        self.update()

    def fit(self, width: int) -> int:
        if self._fitted is None or self._fitted[0] != width:
            wanted = width if self._wraps else -1
            if self._document.textWidth() != wanted:  # setting it lays the whole text out again
                self._document.setTextWidth(wanted)
            height = math.ceil(self._document.size().height())
            self._fitted = (width, height)
            self.resize(width if self._wraps else max(width, self.natural_width()), height)
        return self._fitted[1]

    def natural_width(self) -> int:
        """Return how wide the text is without wrapping."""
        return math.ceil(self._document.idealWidth())

    def position_at(self, point: QPoint) -> int:
        """Return the place in the text nearest to `point`."""
        layout = self._document.documentLayout()
        return max(0, layout.hitTest(QPointF(point), Qt.HitTestAccuracy.FuzzyHit))

    def length(self) -> int:
        """Return the last place in the text."""
        return self._document.characterCount() - 1

    def select(self, start: int, stop: int) -> None:
        """Show the text between two places as selected."""
        if self._range != (start, stop):
            self._range = (start, stop)
            self.update()

    def selected_text(self) -> str:
        """Return the selected text with plain line ends."""
        text = self._cursor(*self._range).selectedText()
        return text.replace("\u2029", "\n").replace("\u2028", "\n").replace("\u00a0", " ")

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        look = self._looks.look
        context: Any = QAbstractTextDocumentLayout.PaintContext()  # its fields are missing in Qt's stubs
        context.clip = QRectF(event.rect())
        context.palette.setColor(QPalette.ColorRole.Text, look.color("text"))
        for start, stop in self._marked():
            marked: Any = QAbstractTextDocumentLayout.Selection()
            marked.cursor = self._cursor(start, stop)
            marked.format.setBackground(look.color("accent"))
            marked.format.setForeground(look.color("on_accent"))
            context.selections = [marked]
        painter.setClipRect(event.rect())
        self._document.documentLayout().draw(painter, context)
        if self._has_quotes:
            self._paint_quote_bars(painter, QRectF(event.rect()), look.color("border_strong"))
        if self._has_caret:
            self._paint_caret(painter, look.color("accent"))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton:
            event.ignore()
            return
        point = event.position().toPoint()
        self._pressed_link = self._link_at(point)
        self._selection.press(self, self.position_at(point))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._selection.drag(event.globalPosition().toPoint())
            return
        link = self._link_at(event.position().toPoint())
        self.setCursor(Qt.CursorShape.PointingHandCursor if link else Qt.CursorShape.IBeamCursor)
        self.setToolTip(link)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        link = self._link_at(event.position().toPoint())
        if link and link == self._pressed_link and not self._selection.text():
            self.link_clicked.emit(link)
        self._pressed_link = ""

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        cursor = QTextCursor(self._document)
        cursor.setPosition(min(self.position_at(event.position().toPoint()), self.length()))
        cursor.select(QTextCursor.SelectionType.WordUnderCursor)
        self._selection.select_range(self, cursor.selectionStart(), cursor.selectionEnd())

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        first_or_last = {
            Qt.FocusReason.TabFocusReason: 0,
            Qt.FocusReason.BacktabFocusReason: len(self._links) - 1,
        }
        self._choose_link(first_or_last.get(event.reason()) if self._links else None)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._choose_link(None)

    def focusNextPrevChild(self, next: bool) -> bool:
        following = None if self._link is None else self._link + (1 if next else -1)
        if following is not None and 0 <= following < len(self._links):
            self._choose_link(following)
            return True
        return super().focusNextPrevChild(next)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self._link is not None:
            self.link_clicked.emit(self._links[self._link].address)
            return
        if event.matches(QKeySequence.StandardKey.Copy) and self._selection.copy():
            return
        if event.matches(QKeySequence.StandardKey.SelectAll):
            self._selection.select_all()
            return
        event.ignore()  # arrows and pages scroll the conversation

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        look = self._looks.look
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        copy = menu.addAction(look.text("ui.chat.copy"), self._selection.copy)
        copy.setEnabled(bool(self._selection.text()))
        menu.addAction(look.text("ui.chat.select_all"), self._selection.select_all)
        menu.popup(event.globalPos())

    def _cursor(self, start: int, stop: int) -> QTextCursor:
        cursor = QTextCursor(self._document)
        cursor.setPosition(min(start, self.length()))
        cursor.setPosition(min(stop, self.length()), QTextCursor.MoveMode.KeepAnchor)
        return cursor

    def _choose_link(self, number: int | None) -> None:
        self._link = number
        address = "" if number is None else self._links[number].address
        self.setAccessibleDescription(address)
        self.update()

    def _marked(self) -> list[tuple[int, int]]:
        """Return the places painted as selected: the selection, or else the link that has the keyboard."""
        if self._range[0] != self._range[1]:
            return [self._range]
        return [] if self._link is None else [(self._links[self._link].start, self._links[self._link].stop)]

    def _link_at(self, point: QPoint) -> str:
        return self._document.documentLayout().anchorAt(QPointF(point))

    def _paint_quote_bars(self, painter: QPainter, clip: QRectF, color: QColor) -> None:
        layout = self._document.documentLayout()
        block = self._document.firstBlock()
        while block.isValid():
            below = block.next()
            depth = _quote_depth(block)
            box = layout.blockBoundingRect(block) if depth else QRectF()
            if depth and box.bottom() >= clip.top() and box.top() <= clip.bottom():
                shared = min(depth, _quote_depth(below))
                top, bottom = box.top(), self._bottom(block)
                for number in range(depth):
                    end = layout.blockBoundingRect(below).top() if number < shared else bottom
                    painter.fillRect(QRectF(number * QUOTE_STEP, top, 3, end - top), color)
            block = below

    def _bottom(self, block: QTextBlock) -> float:
        """Return where a paragraph ends: its box leaves out the lower part of a line of fixed height."""
        below = block.next()
        if not below.isValid():
            return self._document.size().height()
        gap = max(block.blockFormat().bottomMargin(), below.blockFormat().topMargin())
        return self._document.documentLayout().blockBoundingRect(below).top() - gap

    def _paint_caret(self, painter: QPainter, color: QColor) -> None:
        block = self._document.lastBlock()
        box = self._document.documentLayout().blockBoundingRect(block)
        layout = block.layout()
        line = layout.lineAt(layout.lineCount() - 1)
        if not line.isValid():
            return
        place: Any = line.cursorToX(line.textStart() + line.textLength())
        left = min(box.left() + place[0] + 2, self.width() - _CARET[0])
        top = box.top() + line.y() + (line.height() - _CARET[1]) / 2
        painter.fillRect(QRectF(left, top, *_CARET), color)


def _quote_depth(block: QTextBlock) -> int:
    return block.blockFormat().intProperty(QUOTE_DEPTH) if block.isValid() else 0


def _has_quotes(document: QTextDocument) -> bool:
    block = document.firstBlock()
    while block.isValid():
        if _quote_depth(block):
            return True
        block = block.next()
    return False
