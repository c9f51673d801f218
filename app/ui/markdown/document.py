"""Blocks -> `QTextDocument`: text with formats, no HTML, nothing loaded."""

from collections.abc import Iterable
from typing import Any, Final

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import (
    QFont,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextLength,
    QTextOption,
    QTextTableFormat,
)

from app.ui.markdown.blocks import Alignment, Paragraph, Prose, Span, Table
from app.ui.markdown.parser import spans
from app.ui.markdown.safe_text import LINE_BREAK, harmless
from app.ui.theme.look import Look
from app.ui.theme.tokens import TYPE

QUOTE_DEPTH: Final = QTextFormat.Property.UserProperty.value + 1
"""Block property: depth of quotes round a paragraph, whose bars the view paints."""
QUOTE_STEP: Final = 16
LIST_STEP: Final = 24
_HANGING: Final = 20
_HEADING_STYLE: Final = {1: ("title", 18), 2: ("title", 17), 3: ("subtitle", 16)}
_CHINESE_LINE: Final = 1.667
_CODE_LINE: Final = 1.54

_ONLY_FONT: Final = QTextCharFormat.FontPropertiesInheritanceBehavior.FontPropertiesSpecifiedOnly
_SIDES: Final = {
    Alignment.LEFT: Qt.AlignmentFlag.AlignLeft,
    Alignment.CENTER: Qt.AlignmentFlag.AlignHCenter,
    Alignment.RIGHT: Qt.AlignmentFlag.AlignRight,
}


class SafeDocument(QTextDocument):
    """A document that loads nothing, whatever its text names."""

    def __init__(self, font: QFont) -> None:
        super().__init__()
        self.setUndoRedoEnabled(False)
        self.setDocumentMargin(0)
        self.setDefaultFont(font)
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setDefaultTextOption(option)

    def loadResource(self, kind: int, name: QUrl | str) -> Any:  # noqa: ARG002 Qt's signature
        return None


def text_font(look: Look, style: str) -> QFont:
    """Return the font of a type style; code without ligatures, as every character of it counts."""
    font = look.font(style)
    if style == "code":
        font.setFeature(QFont.Tag("calt"), 0)
    return font


def line_height(look: Look, style: str) -> int:
    """Return the height of a line of running text in pixels; Chinese needs more of it."""
    spec = TYPE[style]
    ratio = max(spec.line / spec.size, _CHINESE_LINE) if look.is_chinese else spec.line / spec.size
    return round(spec.size * look.zoom * (_CODE_LINE if style == "code" else ratio))


def prose_document(prose: Prose, look: Look, ink: str = "text") -> SafeDocument:
    """Return paragraphs, headings, lists and quotes as one document, in palette colour `ink`."""
    document = SafeDocument(look.font("prose"))
    cursor = QTextCursor(document)
    cursor.beginEditBlock()
    following = (*prose.paragraphs[1:], None)
    for number, (paragraph, below) in enumerate(zip(prose.paragraphs, following, strict=True)):
        block_format = _block_format(paragraph, below, look)
        if number == 0:
            block_format.setTopMargin(0)
        if number:
            cursor.insertBlock(block_format)
        else:
            cursor.setBlockFormat(block_format)
        _insert_paragraph(cursor, paragraph, look, ink)
    cursor.endEditBlock()
    return document


def plain_document(look: Look, style: str = "prose", ink: str = "text") -> SafeDocument:
    """Return an empty document whose lines have the height of `style`."""
    document = SafeDocument(text_font(look, style))
    cursor = QTextCursor(document)
    cursor.setBlockFormat(fixed_lines(line_height(look, style)))
    cursor.setBlockCharFormat(char_format(look, style, ink))
    return document


def append_plain(document: QTextDocument, text: str) -> None:
    """Add text at the end as it stands."""
    cursor = QTextCursor(document)
    cursor.movePosition(QTextCursor.MoveOperation.End)
    cursor.insertText(harmless(text), cursor.blockCharFormat())


def table_document(table: Table, look: Look, padding: tuple[int, int]) -> SafeDocument:
    """Return a table as a document; lines between rows are the view's business."""
    document = SafeDocument(look.font("body"))
    cursor = QTextCursor(document)
    grid = QTextTableFormat()
    grid.setBorder(0)
    grid.setCellSpacing(0)
    grid.setCellPadding(0)
    grid.setWidth(QTextLength(QTextLength.Type.PercentageLength, 100))
    cursor.beginEditBlock()
    made = cursor.insertTable(len(table.rows) + 1, max(1, len(table.heads)), grid)
    height = line_height(look, "body")
    inks = (_cell_format(look, is_head=True), _cell_format(look, is_head=False))
    for row, cells in enumerate((table.heads, *table.rows)):
        for column, inline in enumerate(cells):
            cell = made.cellAt(row, column)
            cell_format = cell.format().toTableCellFormat()
            cell_format.setLeftPadding(padding[0])
            cell_format.setRightPadding(padding[0])
            cell_format.setTopPadding(padding[1])
            cell_format.setBottomPadding(padding[1])
            cell.setFormat(cell_format)
            place = cell.firstCursorPosition()
            block_format = fixed_lines(height)
            block_format.setAlignment(_SIDES[table.alignments[column]])
            place.setBlockFormat(block_format)
            _insert_spans(place, spans(inline), inks[min(row, 1)], look)
    cursor.endEditBlock()
    return document


def fixed_lines(height: int) -> QTextBlockFormat:
    """Return a format whose lines are `height` pixels, whatever fonts they mix."""
    block_format = QTextBlockFormat()
    block_format.setLineHeight(height, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
    return block_format


def char_format(look: Look, style: str, ink: str = "text") -> QTextCharFormat:
    """Return a type style in a palette colour."""
    result = QTextCharFormat()
    result.setFont(text_font(look, style), _ONLY_FONT)
    result.setForeground(look.color(ink))
    return result


def _cell_format(look: Look, *, is_head: bool) -> QTextCharFormat:
    result = char_format(look, "body", "text_soft" if is_head else "text")
    if is_head:
        result.setFontWeight(QFont.Weight.DemiBold)
    return result


def _block_format(paragraph: Paragraph, below: Paragraph | None, look: Look) -> QTextBlockFormat:
    height = line_height(look, "prose")
    if paragraph.level:
        size = _HEADING_STYLE.get(paragraph.level, ("subtitle", 15))[1]
        height = round(size * look.zoom * 1.5)
    block_format = fixed_lines(height)
    hanging = _hanging(paragraph.marker) * look.zoom
    indent = paragraph.indent * LIST_STEP * look.zoom + max(0.0, hanging - _HANGING * look.zoom)
    block_format.setLeftMargin(indent + paragraph.quote_depth * QUOTE_STEP)
    if paragraph.marker:
        block_format.setTextIndent(-hanging)
        block_format.setTabPositions([QTextOption.Tab(hanging, QTextOption.TabType.LeftTab)])
    if paragraph.quote_depth:
        block_format.setProperty(QUOTE_DEPTH, paragraph.quote_depth)
    block_format.setTopMargin((8 if paragraph.level else 0) * look.zoom)
    block_format.setBottomMargin(_gap_below(paragraph, below) * look.zoom)
    return block_format


def _gap_below(paragraph: Paragraph, below: Paragraph | None) -> int:
    if below is None:
        return 0
    if paragraph.level:
        return 4
    belongs = paragraph.indent == 0 or below.indent > 0  # the last item of a list stands off what follows
    return 4 if paragraph.is_tight and belongs else 12


def _hanging(marker: str) -> int:
    """Return the room for a list mark before its text, at 100 %."""
    return max(_HANGING, 9 * len(marker) + 4) if marker else 0


def _insert_paragraph(cursor: QTextCursor, paragraph: Paragraph, look: Look, ink: str) -> None:
    base = char_format(look, "prose", "text_soft" if paragraph.quote_depth else ink)
    if paragraph.level:
        style, size = _HEADING_STYLE.get(paragraph.level, ("subtitle", 15))
        base = char_format(look, style)
        base.setProperty(QTextFormat.Property.FontPixelSize, round(size * look.zoom))
    if paragraph.marker:
        mark = char_format(look, "prose", "accent_text")
        cursor.insertText(f"{paragraph.marker}\t", mark)
    _insert_spans(cursor, spans(paragraph.inline), base, look)


def _insert_spans(cursor: QTextCursor, texts: Iterable[Span], base: QTextCharFormat, look: Look) -> None:
    for span in texts:
        cursor.insertText(span.text.replace("\n", LINE_BREAK), _span_format(span, base, look))


def _span_format(span: Span, base: QTextCharFormat, look: Look) -> QTextCharFormat:
    result = QTextCharFormat(base)
    if span.is_code:
        result.setFont(text_font(look, "code"), _ONLY_FONT)
        result.setBackground(look.color("hover"))
    if span.is_bold:
        result.setFontWeight(QFont.Weight.DemiBold)
    if span.is_italic:
        result.setFontItalic(True)
    if span.is_struck:
        result.setFontStrikeOut(True)
    if span.href is not None:
        result.setAnchor(True)
        result.setAnchorHref(span.href)
        result.setForeground(look.color("accent_text"))
        result.setFontUnderline(True)
    return result
