"""To which tracker past runs are exported: a list of those that there are, with what one that is missing needs."""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QRadioButton, QWidget

from mosaic.errors import MosaicError
from mosaic.gui.widgets.labels_and_buttons import column, label, push, row
from mosaic.installation import install_line
from mosaic.spec.catalogue.extras import TRACKERS
from mosaic.track.export_state import WANDB
from mosaic.track.trackers import everywhere, title_of

WIDTH = 460
ABOUT_WANDB = "to the server where it answers and a key is known, else into the run's folder: the tab W&B uploads it"


class TrackerDialog(QDialog):
    """`then` with the name of the tracker. Escape closes it."""

    def __init__(self, parent: QWidget, what: str, left_out: str, then: Callable[[str], object]) -> None:
        """`what` is to be exported; `left_out` says which of the selected runs are not, and why."""
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle("Export to a tracker")
        self.setMinimumWidth(WIDTH)
        self._then = then
        self.choices = {name: _choice(name) for name in everywhere()}
        first = next((choice for choice in self.choices.values() if choice.isEnabled()), None)
        if first is not None:
            first.setChecked(True)
        self.export = push(f"Export {what}", self._accept, default=True)
        self.export.setEnabled(first is not None)
        about = label(f"Export {what}, with all that was logged, to", "heading", wraps=True)
        rest = label(left_out, "muted", wraps=True)
        rest.setVisible(bool(left_out))
        wandb = label(f"Weights & Biases: {ABOUT_WANDB}.", "muted", wraps=True)
        below = row(1, push("Close", self.close), self.export)
        column(self, about, *self.choices.values(), wandb, rest, below, margins=(16, 16, 16, 14), spacing=10)

    @property
    def chosen(self) -> str:
        return next((name for name, choice in self.choices.items() if choice.isChecked()), "")

    def _accept(self) -> None:
        self._then(self.chosen)
        self.close()


def _choice(name: str) -> QRadioButton:
    extra = TRACKERS.get(name)
    try:
        title = "Weights && Biases" if name == WANDB else title_of(name).replace("&", "&&")
        problem = "" if extra is None or extra.is_there else f"not installed: {install_line(extra.name)}"
    except MosaicError as error:  # A tracker of another package, which cannot be loaded: the others can be used.
        title, problem = name, str(error)
    made = QRadioButton(f"{title} ({problem})" if problem else title)
    made.setEnabled(not problem)
    return made
