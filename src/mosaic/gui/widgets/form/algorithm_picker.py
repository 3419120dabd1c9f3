"""A field for the algorithm: grouped by what it acts on, with a line of explanation each; type to narrow the list."""

from PySide6.QtCore import Qt

from mosaic.gui.models.form.algorithm_list import entries, entry_of
from mosaic.gui.models.form.catalogue_model import CatalogueModel
from mosaic.gui.models.form.train_form import TrainForm
from mosaic.gui.models.shown_text import tip
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.grouped_picker import GroupedPicker, Offer
from mosaic.gui.widgets.labels_and_buttons import label


class AlgorithmPicker(GroupedPicker):
    """Only one of the list can be chosen."""

    def __init__(self, catalogue: CatalogueModel, form: TrainForm, theme: Theme) -> None:
        self._catalogue, self._form = catalogue, form
        super().__init__(theme, self._offers, "Search algorithms…", free=False)
        self.setAccessibleName("Algorithm")
        self.setCursor(Qt.CursorShape.IBeamCursor)
        self.chosen.connect(form.use)
        self.explanation = label("", "faint")
        """Of the one that is chosen, to stand below."""
        self.explanation.setWordWrap(True)

    def show_chosen(self) -> None:
        algorithm = self._form.algorithm
        if algorithm is not None:
            entry = entry_of(algorithm)
            self.show_value(entry.name, entry.title)
            self.explanation.setText(entry.explanation)
            self.setToolTip(tip(entry.tip))

    def _offers(self, text: str) -> list[Offer]:
        found: list[Offer] = []
        for group, listed in entries(self._catalogue.algorithms.values(), text).items():
            found.append(Offer(group, "heading"))
            found += [
                Offer(entry.title, value=entry.name, explanation=entry.explanation, tip=entry.tip) for entry in listed
            ]
        return found or [Offer("No algorithm has all these words", "advice")]
