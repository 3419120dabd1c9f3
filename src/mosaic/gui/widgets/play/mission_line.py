"""What is to be done in this episode, as MiniGrid, BabyAI and others say it; hidden where nothing is said."""

from collections.abc import Mapping
from typing import Any

from mosaic.gui.models.shown_text import tip
from mosaic.gui.widgets.labels_and_buttons import ElidedLabel
from mosaic.plain_text import plain_line


class MissionLine(ElidedLabel):
    """The whole of a long one is its tool tip."""

    def __init__(self) -> None:
        super().__init__("heading")
        self.setAccessibleName("Mission")
        self.hide()

    def show_state(self, state: Mapping[str, Any]) -> None:
        mission = plain_line(str(state.get("mission", "")))
        self.setText(f"Mission: {mission}" if mission else "")
        self.setToolTip(tip(mission))
        self.setVisible(bool(mission))
