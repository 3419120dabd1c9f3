"""Pages in Markdown as the window shows them: Qt reads them without space between lines, in fonts of its own."""

from PySide6.QtGui import (
    QBrush,
    QFont,
    QTextBlock,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFrameFormat,
    QTextLength,
    QTextTable,
)

from mosaic.gui.assets import mono_font
from mosaic.gui.theme import Theme

HEADINGS = {1: 19, 2: 15, 3: 13}
"""Pixels of the font, by level."""
LINE_PERCENT = 125.0


def dress(document: QTextDocument, theme: Theme) -> None:
    """Space, fonts and colours, block by block."""
    document.setDocumentMargin(6)
    cursor = QTextCursor(document)
    cursor.beginEditBlock()
    block = document.begin()
    while block.isValid():
        cursor.setPosition(block.position())
        level = block.blockFormat().headingLevel()
        shape = block.blockFormat()
        shape.setTopMargin(16 if level > 1 else 0 if cursor.currentTable() else 4)
        shape.setBottomMargin(0 if cursor.currentTable() else 6)
        shape.setLineHeight(LINE_PERCENT, 1)
        cursor.setBlockFormat(shape)
        cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
        if shape.hasProperty(QTextFormat.Property.BlockCodeFence.value):
            cursor.mergeCharFormat(_code(theme))
        elif level:
            look = QTextCharFormat()
            font = QFont(document.defaultFont())
            font.setPixelSize(HEADINGS.get(level, 13))
            font.setWeight(QFont.Weight.DemiBold)
            look.setFont(font)
            # Not merged: Qt's reader makes headings larger by steps, which would come on top.
            cursor.setCharFormat(look)
        else:
            _dress_code(block, theme)
        block = block.next()
    for frame in document.rootFrame().childFrames():
        if isinstance(frame, QTextTable):
            _dress_table(frame, theme)
    cursor.endEditBlock()


def _dress_code(block: QTextBlock, theme: Theme) -> None:
    """What is set in a fixed font, in ours."""
    # All places first: a changed format makes other fragments.
    places: list[tuple[int, int]] = []
    pieces = block.begin()
    while not pieces.atEnd():
        piece = pieces.fragment()
        if piece.charFormat().fontFixedPitch():
            places.append((piece.position(), piece.position() + piece.length()))
        pieces += 1
    for start, end in places:
        cursor = QTextCursor(block)
        cursor.setPosition(start)
        cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
        cursor.mergeCharFormat(_code(theme))


def _code(theme: Theme) -> QTextCharFormat:
    look = QTextCharFormat()
    look.setFont(mono_font())
    look.setForeground(QBrush(theme.colour("accent")))
    return look


def _dress_table(table: QTextTable, theme: Theme) -> None:
    shape = table.format().toTableFormat()
    shape.setBorderBrush(QBrush(theme.colour("line")))
    shape.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
    shape.setBorder(1)
    shape.setBorderCollapse(True)
    shape.setCellPadding(5)
    shape.setWidth(QTextLength(QTextLength.Type.PercentageLength, 100))
    shape.setTopMargin(6)
    shape.setBottomMargin(10)
    table.setFormat(shape)
