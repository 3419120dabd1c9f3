"""Recorded episodes to choose from: a double click replays one."""

from collections.abc import Sequence
from datetime import datetime

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QTreeWidget, QTreeWidgetItem, QVBoxLayout, QWidget

from mosaic.gui.theme import Theme
from mosaic.gui.widgets.parts import icon_button, label, row
from mosaic.rpc.trainer_pb2 import RecordedEpisode

COLUMNS = ("when", "episode", "actor", "steps", "return", "seed", "end")
RIGHT = (1, 3, 4, 5)


class EpisodeList(QWidget):
    chosen = Signal(object)
    """Replay this RecordedEpisode."""
    asked = Signal()
    """Look again what there is."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setProperty("panel", True)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._episodes: list[RecordedEpisode] = []
        self._what = label("", "muted")
        self.tree = QTreeWidget()
        self.tree.setHeaderLabels(list(COLUMNS))
        self.tree.setRootIsDecorated(False)
        self.tree.setAlternatingRowColors(True)
        self.tree.setUniformRowHeights(True)
        self.tree.setAccessibleName("Recorded episodes")
        self.tree.itemActivated.connect(self._choose)
        self.replay = icon_button(theme, "rotate-ccw", "Replay")
        self.replay.setToolTip("Make the chosen episode again, step by step")
        self.replay.clicked.connect(lambda: self._choose(self.tree.currentItem()))
        again = icon_button(theme, "refresh-cw", "Look again")
        again.clicked.connect(self.asked)
        self.tree.currentItemChanged.connect(self._point)
        self.replay.setEnabled(False)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(row(self._what, 1, again, self.replay, margins=(12, 6, 12, 6)))
        layout.addWidget(self.tree, 1)

    def show_episodes(self, env_id: str, episodes: Sequence[RecordedEpisode]) -> None:
        self._episodes = list(episodes)
        self.tree.clear()
        for episode in self._episodes:
            when = datetime.fromtimestamp(episode.started_at).astimezone().strftime("%b %d %H:%M:%S")
            actors = ", ".join(actor.rpartition("/")[2] for actor in episode.seats.values())
            returns = " ".join(f"{total:g}" for total in episode.returns.values())
            texts = [when, str(episode.episode), actors, str(episode.length), returns, str(episode.seed)]
            item = QTreeWidgetItem([*texts, episode.outcome or "cut short"])
            for column in RIGHT:
                item.setTextAlignment(column, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            item.setToolTip(2, ", ".join(episode.seats.values()))
            self.tree.addTopLevelItem(item)
        for column in range(len(COLUMNS)):
            self.tree.resizeColumnToContents(column)
        count = len(self._episodes)
        self._what.setText(f"{count or 'No'} recorded episode{'s' if count != 1 else ''} of {env_id}")

    def _point(self, item: QTreeWidgetItem | None) -> None:
        self.replay.setEnabled(item is not None)

    def _choose(self, item: QTreeWidgetItem | None) -> None:
        if item is not None:
            self.chosen.emit(self._episodes[self.tree.indexOfTopLevelItem(item)])
