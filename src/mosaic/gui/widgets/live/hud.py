"""Chips above the live view: its state and its numbers."""

from typing import Literal, TypeAlias

from PySide6.QtWidgets import QLabel, QWidget

from mosaic.gui.models.shown_text import tip
from mosaic.gui.widgets.labels_and_buttons import label, row

Tone: TypeAlias = Literal["", "ok", "warn", "bad"]

HEIGHT = 24
MOST_SPARE = 24
"""Pixels that a chip keeps of a longer number, so that what is behind it does not tremble."""


class Hud(QWidget):
    """Chips by name, in the order given; one without text is not shown."""

    def __init__(self, *names: str) -> None:
        super().__init__()
        self._chips = {name: label("", "chip") for name in names}
        for chip in self._chips.values():
            chip.setFixedHeight(HEIGHT)
            chip.hide()
        row(*self._chips.values(), of=self, spacing=6)

    def text(self, name: str) -> str:
        return self._chips[name].text()

    def explain(self, name: str, text: str) -> None:
        """What the chip says when the mouse rests on it."""
        self._chips[name].setToolTip(tip(text))

    def show_chip(self, name: str, text: str, tone: Tone = "") -> None:
        chip = self._chips[name]
        if chip.text() != text:
            chip.setText(text)
            chip.setVisible(bool(text))
            self._make_room(chip)
        if chip.property("tone") != tone:
            _retone(chip, tone)

    def _make_room(self, chip: QLabel) -> None:
        """At once: what is painted before the layout would cut a longer number."""
        wanted = chip.sizeHint().width() if chip.text() else 0
        if not chip.minimumWidth() - MOST_SPARE <= wanted <= chip.minimumWidth():
            chip.setMinimumWidth(wanted)
            outer = self.parentWidget()
            for layout in (outer.layout() if outer is not None else None, self.layout()):
                if layout is not None:
                    layout.activate()


def _retone(chip: QLabel, tone: Tone) -> None:
    chip.setProperty("tone", tone)
    chip.style().unpolish(chip)
    chip.style().polish(chip)
