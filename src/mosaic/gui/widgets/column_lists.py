"""Lists in columns: how they look, and numbers that stand at the right."""

from collections.abc import Iterable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QTreeWidget, QTreeWidgetItem

RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


def list_of(columns: Sequence[str], name: str) -> QTreeWidget:
    """`name` is for those who cannot see it."""
    made = QTreeWidget()
    made.setHeaderLabels(list(columns))
    made.setRootIsDecorated(False)
    made.setUniformRowHeights(True)
    made.setAccessibleName(name)
    return made


def to_the_right(item: QTreeWidgetItem, columns: Iterable[int]) -> None:
    for column in columns:
        item.setTextAlignment(column, RIGHT)


def fit(tree: QTreeWidget) -> None:
    """Every column as wide as what is in it."""
    for column in range(tree.columnCount()):
        tree.resizeColumnToContents(column)
