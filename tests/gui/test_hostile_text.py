"""No text of a run is taken for HTML by the window, and none of its control characters is shown."""

import re
from collections.abc import Iterator
from pathlib import Path

from hostile_text import FAKE, harmful, plant_hostile
from PySide6.QtCore import QAbstractItemModel, QAbstractListModel, QModelIndex, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtGui import Qt as GuiQt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QComboBox,
    QInputDialog,
    QLabel,
    QLineEdit,
    QMessageBox,
    QPlainTextEdit,
    QWidget,
)

from mosaic.gui.widgets.labels_and_buttons import PlainLabel
from mosaic.spec.run_dir import Home

OUR_TAGS = re.compile(r"</?(?:span|a|table|tr|td|br|p|b)(?: [^<>]*)?>")
MOST_ROWS = 50
NAMING = ("Overview", "Artifacts", "Log", "Dry runs")
"""Tabs that show a text of the run itself."""
LINE = Qt.ItemDataRole.DisplayRole


def test_the_window_shows_text_as_text(home: Home, start_daemon, show) -> None:
    run_dir = plant_hostile(home)
    start_daemon(home)
    shown = show(home)
    shown.until(lambda: shown.studio.runs.get(run_dir.run_id) is not None, "the run")
    shown.window.runs.select([run_dir.run_id])
    shown.until(lambda: shown.studio.current == run_dir.run_id)
    seen = 0
    for name in [name for name in shown.window.tabs if name in shown.window.bench.docks]:
        shown.window.bench.bring_up(name)
        if name in NAMING:
            shown.until(lambda: any("evil.example" in text for _, text in texts_of_all()), name)
        settle(shown)
        seen += check_all()
    # The texts of the run were among what was looked at.
    assert "evil.example" in "".join(text for _, text in texts_of_all())
    assert seen > 100
    ask_everything(shown, run_dir.run_id)


def settle(shown) -> None:
    """Some turns of the event loop: answers of the daemon come in, and are shown."""
    turns = iter(range(25))
    shown.until(lambda: next(turns, None) is None)


def ask_everything(shown, run_id: str) -> None:
    """The questions that name a run: a box and a dialog, with its label in them."""
    from mosaic.gui.widgets.dialogs import ask_text, confirm

    label = shown.studio.runs.get(run_id).label
    assert FAKE in label
    box = confirm(shown.window, label, f"Delete {label}?\n\n{label}", ("Delete", "Keep"), lambda: None)
    dialog = ask_text(shown.window, "Label", f"Label of {label}", label, lambda _: None)
    settle(shown)
    assert isinstance(box, QMessageBox)
    assert isinstance(dialog, QInputDialog)
    check_all()
    for opened in (box, dialog):
        opened.close()


def check_all() -> int:
    """Every text that a widget shows now; how many there are."""
    found = list(texts_of_all())
    assert [(where, text) for where, text in found if harmful(text)] == []
    for widget in QApplication.allWidgets():
        if isinstance(widget, QLabel) and widget.text():
            check_label(widget)
        check_tip(widget.toolTip(), widget)
    return len(found)


def check_label(label: QLabel) -> None:
    """One of ours has its format; one that Qt or pyqtgraph made (a dialog's) guesses it of the text."""
    text, form = label.text(), label.textFormat()
    assert form != Qt.TextFormat.AutoText or not isinstance(label, PlainLabel), text
    if form == Qt.TextFormat.RichText or (form == Qt.TextFormat.AutoText and GuiQt.mightBeRichText(text)):
        assert "<" not in OUR_TAGS.sub("", text), text


def check_tip(text: str, where: object) -> None:
    if GuiQt.mightBeRichText(text):
        assert "<" not in OUR_TAGS.sub("", text), (where, text)


def texts_of_all() -> Iterator[tuple[str, str]]:
    for widget in QApplication.allWidgets():
        for text in texts_of(widget):
            yield f"{type(widget).__name__} {widget.objectName()}", text
    yield "clipboard", QGuiApplication.clipboard().text()


def texts_of(widget: QWidget) -> Iterator[str]:
    yield widget.toolTip()
    yield widget.windowTitle()
    if isinstance(widget, QPlainTextEdit):
        yield widget.toPlainText()
    elif isinstance(widget, QLabel | QAbstractButton | QLineEdit):
        yield widget.text()
    elif isinstance(widget, QComboBox):
        yield from (widget.itemText(place) for place in range(widget.count()))
    if isinstance(widget, QAbstractItemView) and (model := widget.model()) is not None:
        yield from texts_of_model(model, QModelIndex())


def texts_of_model(model: QAbstractItemModel, parent: QModelIndex) -> Iterator[str]:
    for row in range(min(model.rowCount(parent), MOST_ROWS)):
        columns = 1 if isinstance(model, QAbstractListModel) else model.columnCount(parent)
        for column in range(columns):
            index = model.index(row, column, parent)
            display, tool_tip = index.data(LINE), index.data(Qt.ItemDataRole.ToolTipRole)
            if isinstance(display, str):
                yield display
            if isinstance(tool_tip, str):
                check_tip(tool_tip, model)
                yield tool_tip
        yield from texts_of_model(model, model.index(row, 0, parent))


def test_every_label_of_the_window_is_a_plain_one() -> None:
    """A QLabel that is made elsewhere would take a text that looks like HTML for HTML."""
    import mosaic.gui

    sources = list(Path(mosaic.gui.__path__[0]).rglob("*.py"))
    made = [
        (path.name, found[0])
        for path in sources
        for found in re.finditer(r".*(\bQLabel\(|\(QLabel\)).*", path.read_text())
    ]
    assert made == [("labels_and_buttons.py", "class PlainLabel(QLabel):")]
    tips = [
        (path.name, found[1])
        for path in sources
        for found in re.finditer(r"\.setToolTip\((?!(?:[\w +]+, )?tip\(|\s*\")(.*)", path.read_text())
    ]
    assert tips == []
