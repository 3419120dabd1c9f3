"""Chips above the live view: its state and its numbers."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from PySide6.QtCore import QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLabel, QWidget

from mosaic.gui.models.shown_text import tip
from mosaic.gui.widgets.labels_and_buttons import label

Tone: TypeAlias = Literal["", "ok", "warn", "bad"]

HEIGHT, BETWEEN = 24, 6


class Hud(QWidget):
    """Chips by name, in the order given; one without text is not shown.

    They are placed here rather than by a layout: a longer number has its room before it is painted, and where there is
    none for all of them some give way, and not the buttons beside them.
    """

    def __init__(self, *names: str, give_way: Sequence[str] = ()) -> None:
        """Those of `give_way` go first, then the others from the last on; the very first stays."""
        super().__init__()
        self._chips = {name: label("", "chip") for name in names}
        self._give_way = [*give_way, *(name for name in names[:0:-1] if name not in give_way)]
        for chip in self._chips.values():
            chip.setParent(self)
            chip.hide()

    def text(self, name: str) -> str:
        return self._chips[name].text()

    def shown(self) -> list[str]:
        """Names of the chips for which there is room."""
        return [name for name, chip in self._chips.items() if not chip.isHidden()]

    def explain(self, name: str, text: str) -> None:
        """What the chip says when the mouse rests on it."""
        self._chips[name].setToolTip(tip(text))

    def show_chip(self, name: str, text: str, tone: Tone = "") -> None:
        chip = self._chips[name]
        if chip.text() == text and chip.property("tone") == tone:
            return
        chip.setText(text)
        if chip.property("tone") != tone:
            _retone(chip, tone)
        self.updateGeometry()
        self._place()

    def sizeHint(self) -> QSize:
        return QSize(self._width(self._told()), HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(self._width(self._told()[:1]), HEIGHT)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def _told(self) -> list[str]:
        return [name for name, chip in self._chips.items() if chip.text()]

    def _width(self, names: Sequence[str]) -> int:
        return sum(self._chips[name].sizeHint().width() + BETWEEN for name in names) - (BETWEEN if names else 0)

    def _place(self) -> None:
        shown = self._told()
        for name in self._give_way:
            if self._width(shown) <= self.width():
                break
            if name in shown:
                shown.remove(name)
        x = 0
        for name, chip in self._chips.items():
            chip.setVisible(name in shown)
            if name in shown:
                width = chip.sizeHint().width()
                chip.setGeometry(x, (self.height() - HEIGHT) // 2, width, HEIGHT)
                x += width + BETWEEN


def _retone(chip: QLabel, tone: Tone) -> None:
    chip.setProperty("tone", tone)
    chip.style().unpolish(chip)
    chip.style().polish(chip)
