"""Chips above the live view: its state and its numbers."""

from typing import Literal, TypeAlias

from PySide6.QtWidgets import QLabel, QWidget

from mosaic.gui.models.shown_text import tip
from mosaic.gui.widgets.labels_and_buttons import label, row

Tone: TypeAlias = Literal["", "ok", "warn", "bad"]

HEIGHT = 24


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
        if chip.property("tone") != tone:
            _retone(chip, tone)


def _retone(chip: QLabel, tone: Tone) -> None:
    chip.setProperty("tone", tone)
    chip.style().unpolish(chip)
    chip.style().polish(chip)
