"""Questions that do not stop the window: each opens, and answers by a call."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QFileDialog, QInputDialog, QMessageBox, QWidget

from mosaic.gui.models.runs.run_actions import Action, RunActions
from mosaic.gui.models.shown_text import tip
from mosaic.plain_text import plain, plain_line

NOTES_SIZE = QSize(460, 260)


def confirm(
    parent: QWidget, title: str, question: str, answers: tuple[str, str], then: Callable[[], object]
) -> QMessageBox:
    """`then` if the first of the answers is chosen; Escape and closing choose the second. Each says what it does."""
    yes, no = answers
    headline, _, rest = question.partition("\n\n")
    box = QMessageBox(parent)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    # A label or a path in the question is not HTML.
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setWindowTitle(plain_line(title))
    box.setText(plain(headline))
    box.setInformativeText(plain(rest))
    agreed = box.addButton(yes, QMessageBox.ButtonRole.DestructiveRole)
    refused = box.addButton(no, QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(refused)
    box.setEscapeButton(refused)
    agreed.clicked.connect(lambda _=False: then())
    box.open()
    return box


def ask_and_do(parent: QWidget, does: RunActions, action: Action, *, selected: int = 0) -> None:
    """Do it to the selected runs that it fits, after its question, which names how many of those it leaves out."""
    runs = does.fitting(action)
    if not runs:
        return
    if action.question is None:
        does.do(action, runs)
        return
    left = selected - len(runs)
    rest = f"\n\n{left:,} of the selected runs stay as they are: their state does not allow it." if left > 0 else ""
    title, question = action.title.removesuffix("…"), action.question(runs) + rest
    confirm(parent, title, question, action.answers_for(runs), lambda: does.do(action, runs))


def ask_text(
    parent: QWidget,
    title: str,
    label: str,
    text: str,
    then: Callable[[str], object],
    answers: tuple[str, str] = ("Rename", "Keep the name"),
) -> QInputDialog:
    """`then` with the text if the first of the answers is chosen."""
    dialog = QInputDialog(parent)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.setWindowTitle(plain_line(title))
    # An input dialog has no format of its text: what would be taken for HTML is escaped.
    dialog.setLabelText(tip(label))
    dialog.setTextValue(text)
    dialog.setOkButtonText(answers[0])
    dialog.setCancelButtonText(answers[1])
    dialog.textValueSelected.connect(then)
    dialog.open()
    return dialog


def ask_long_text(parent: QWidget, title: str, label: str, text: str, then: Callable[[str], object]) -> QInputDialog:
    """The same for several lines."""
    dialog = ask_text(parent, title, label, text, then, ("Save notes", "Do not save"))
    dialog.setOption(QInputDialog.InputDialogOption.UsePlainTextEditForTextInput)
    dialog.resize(NOTES_SIZE)
    return dialog


def choose_file(
    parent: QWidget,
    title: str,
    then: Callable[[str], object],
    *,
    files: str = "",
    folder: Path | None = None,
    save_as: str | None = None,
) -> QFileDialog:
    """`then` with the path of a file that is there, or of the one to write where `save_as` proposes a name or ""."""
    dialog = QFileDialog(parent, title, str(folder or ""), files)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    if save_as is not None:
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.selectFile(save_as)
    dialog.fileSelected.connect(then)
    dialog.open()
    return dialog
