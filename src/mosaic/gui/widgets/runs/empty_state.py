"""What an empty studio shows: what to do, and three examples that one click starts."""

from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton

from mosaic.errors import MosaicError
from mosaic.gui.models.form import example_runs
from mosaic.gui.models.form.example_runs import EXAMPLES, Example
from mosaic.gui.models.studio import Studio
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.labels_and_buttons import (
    Card,
    Panel,
    column,
    icon_button,
    icon_label,
    label,
    row,
    verdict_label,
)

CARD_WIDTH = 216
SENTENCE = "Start an example and watch it learn, or fill in the form of a new run."


class EmptyState(Panel):
    """Gives way to the first run."""

    def __init__(self, studio: Studio, theme: Theme) -> None:
        super().__init__()
        self._studio = studio
        self.cards = [ExampleCard(theme, example) for example in EXAMPLES]
        for card in self.cards:
            card.start.clicked.connect(partial(self._start, card))
        self.said = verdict_label("bad")
        self.said.setFixedWidth(3 * CARD_WIDTH)
        self.said.setAlignment(Qt.AlignmentFlag.AlignCenter)
        said = (icon_label(theme, "layers", "faint", 40), label("No runs yet", "title"), label(SENTENCE, "muted"))
        cards = row(1, *self.cards, 1, spacing=12, margins=(0, 10, 0, 0))
        lines = (row(1, part, 1) for part in said)
        column(self, 2, *lines, cards, row(1, self.said, 1), 3, spacing=10, margins=None)

    def _start(self, card: "ExampleCard") -> None:
        self.said.clear()
        card.show_busy(is_busy=True)
        example_runs.start(
            self._studio, card.example, lambda _: card.show_busy(is_busy=False), partial(self._failed, card)
        )

    def _failed(self, card: "ExampleCard", error: MosaicError) -> None:
        card.show_busy(is_busy=False)
        self.said.setText(f"{card.example.title} was not started: {error}")


class ExampleCard(Card):
    """Title, a line about it, a button."""

    def __init__(self, theme: Theme, example: Example) -> None:
        super().__init__()
        self.example = example
        self.setFixedWidth(CARD_WIDTH)
        line = label(example.line, "muted", wraps=True)
        line.setAlignment(Qt.AlignmentFlag.AlignTop)
        line.setMinimumHeight(52)
        self.start: QPushButton = icon_button(theme, "play", "Start")
        self.start.setAccessibleName(f"Start: {example.title}")
        column(
            self,
            row(icon_label(theme, example.icon, "accent"), label(example.title, "heading"), 1),
            line,
            self.start,
            margins=(14, 12, 14, 12),
            spacing=8,
        )

    def show_busy(self, *, is_busy: bool) -> None:
        self.start.setEnabled(not is_busy)
        self.start.setText(" Starting…" if is_busy else " Start")
