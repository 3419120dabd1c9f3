"""What is done with a form as a whole: presets, JSON files, the command line, help."""

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QInputDialog, QMenu, QToolButton, QWidget

from mosaic.gui.models.form.form_documents import FormDocuments
from mosaic.gui.models.shown_text import tip
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.labels_and_buttons import row
from mosaic.gui.widgets.tool_button import IconTool
from mosaic.plain_text import plain, plain_line
from mosaic.spec.presets.preset_files import Listed

JSON_FILES = "Run config (*.json)"


class FormTools(QWidget):
    """Small buttons in a line. Its dialogs are windows of their own, which nothing waits for."""

    copied = Signal(str)

    def __init__(self, form_documents: FormDocuments, theme: Theme, show_help: Callable[[], None]) -> None:
        super().__init__()
        self.form_documents = form_documents
        presets = IconTool(theme, "bookmark", "Presets")
        presets.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.presets = QMenu(presets)
        self.presets.setToolTipsVisible(True)
        presets.setMenu(self.presets)
        self.presets.aboutToShow.connect(self._list_presets)
        row(
            presets,
            IconTool(theme, "folder-open", "Allow a folder of scripts…", self.allow_scripts),
            IconTool(theme, "upload", "Import JSON…", self.import_json),
            IconTool(theme, "save", "Export JSON…", self.export_json),
            IconTool(theme, "terminal", "Copy command line", self.copy_command),
            IconTool(theme, "circle-question-mark", "Help on the algorithm (F1)", show_help),
            of=self,
            spacing=2,
        )

    def copy_command(self) -> None:
        """The same run as a command, on the clipboard."""
        if text := self.form_documents.command_line():
            QGuiApplication.clipboard().setText(plain(text))
            self.copied.emit(text)

    def allow_scripts(self) -> None:
        """Scripts of this folder become algorithms of the form."""
        dialog = QFileDialog(self, "Folder whose scripts may be trained", str(Path.home()))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.fileSelected.connect(self.form_documents.allow_scripts)
        dialog.open()

    def import_json(self) -> None:
        dialog = self._dialog("Import a run config", QFileDialog.AcceptMode.AcceptOpen)
        dialog.fileSelected.connect(self.form_documents.import_file)
        dialog.open()

    def export_json(self) -> None:
        dialog = self._dialog("Export the run config", QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("json")
        dialog.selectFile("run.json")
        dialog.fileSelected.connect(self.form_documents.export_file)
        dialog.open()

    def save_preset(self) -> None:
        dialog = QInputDialog(self)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setWindowTitle("Save as preset")
        dialog.setLabelText("Name of the preset")
        dialog.textValueSelected.connect(self.form_documents.save)
        dialog.open()

    def _list_presets(self) -> None:
        self.presets.clear()
        fitting, others = self.form_documents.presets()
        own = [one for one in others if not one.is_shipped]
        self._add_presets(self.presets, fitting, _result)
        if not fitting:
            self.presets.addAction("No preset for this algorithm and environment").setEnabled(False)
        self._add_presets(self.presets, own, _purpose)
        if shipped := [one for one in others if one.is_shipped]:
            self._add_presets(self.presets.addMenu("Presets for others"), shipped, _purpose)
        self.presets.addSeparator()
        self.presets.addAction("Save as preset…", self.save_preset)
        if mine := [one for one in (*fitting, *own) if not one.is_shipped]:
            delete = self.presets.addMenu("Delete preset")
            for one in mine:
                delete.addAction(_titled(one, _purpose(one)), lambda one=one: self.form_documents.delete(one))
        self.presets.addSeparator()
        self.presets.addAction("Reset every field", self.form_documents.reset)

    def _add_presets(self, menu: QMenu, listed: Sequence[Listed], about: Callable[[Listed], str]) -> None:
        for one in listed:
            action = menu.addAction(_titled(one, about(one)), lambda one=one: self.form_documents.load(one))
            action.setToolTip(tip(one.preset.about or one.preset.reference))

    def _dialog(self, title: str, mode: QFileDialog.AcceptMode) -> QFileDialog:
        dialog = QFileDialog(self, title, str(Path.home()), JSON_FILES)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(mode)
        return dialog


def _titled(one: Listed, about: str) -> str:
    return _escaped(plain_line(f"{one.preset.name}   {about}" if about else one.preset.name))


def _result(one: Listed) -> str:
    """What it scored, of a preset for what the form trains."""
    measured = one.preset.measured
    return f"return {measured.short(measured.iqm)} after {measured.total_timesteps:,} steps" if measured else ""


def _purpose(one: Listed) -> str:
    return f"{one.preset.algo} · {one.preset.env_id}"


def _escaped(name: str) -> str:
    """A menu would take a & for the mark of a key."""
    return name.replace("&", "&&")
