"""The legend of all charts in one line: as many curves as fit, the rest as a number; all of them in the tool tip."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent

from mosaic.gui.models.shown_text import in_html, tip
from mosaic.gui.widgets.labels_and_buttons import PlainLabel

GAP = "   "


class Legend(PlainLabel):
    """Names with the colour of their curve."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: Sequence[tuple[str, str]] = ()
        """Name and colour."""
        self.setTextFormat(Qt.TextFormat.RichText)
        # It takes what room there is, and never widens the window.
        self.setMinimumWidth(60)

    def show_entries(self, entries: Sequence[tuple[str, str]]) -> None:
        if list(entries) != list(self.entries):
            self.entries = entries
            self.setToolTip(tip("\n".join(name for name, _ in entries)))
            self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        entries, shown = self.entries, self._room_for(self.entries)
        if not shown:
            # Without the remark behind it, such as why a group has no band: the tool tip has it.
            entries = [(name.partition(" (")[0], colour) for name, colour in self.entries]
            shown = self._room_for(entries)
        parts = [f'<span style="color:{colour}">━</span>&nbsp;{in_html(name)}' for name, colour in entries[:shown]]
        if (left := len(self.entries) - shown) > 0:
            parts.append(f"and {left} more" if shown else "1 curve" if left == 1 else f"{left} curves")
        self.setText(GAP.replace(" ", "&nbsp;").join(parts))

    def _room_for(self, entries: Sequence[tuple[str, str]]) -> int:
        """How many of them fit, from the first on."""
        metrics = self.fontMetrics()
        more = metrics.horizontalAdvance("and 99 more")
        shown, used = 0, 0
        for place, (name, _) in enumerate(entries, start=1):
            used += metrics.horizontalAdvance(f"━ {name}{GAP}")
            if used + (more if place < len(entries) else 0) > self.width():
                break
            shown = place
        return shown
