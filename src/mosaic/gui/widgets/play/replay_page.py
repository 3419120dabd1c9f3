"""Recorded episodes: the list, two of them side by side, and films of them."""

import json
from collections.abc import Callable, Sequence
from datetime import datetime

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QStackedWidget, QTreeWidget, QTreeWidgetItem

from mosaic.gui.models.play.film_export import FilmExport
from mosaic.gui.models.play.paired_replay import PairedReplay
from mosaic.gui.models.play.play_model import SPEEDS, Play
from mosaic.gui.models.shown_text import tip
from mosaic.gui.models.studio import Studio
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.column_lists import fit, list_of, to_the_right
from mosaic.gui.widgets.dialogs import choose_file
from mosaic.gui.widgets.labels_and_buttons import ElidedLabel, Panel, column, icon_button, row
from mosaic.gui.widgets.play.paired_replay_view import PairedReplayView
from mosaic.gui.widgets.tool_button import IconTool
from mosaic.plain_text import plain_line
from mosaic.rpc.trainer_pb2 import RecordedEpisode
from mosaic.spec.environment_settings import spoken


class ReplayPage(QStackedWidget):
    def __init__(self, studio: Studio, play: Play, theme: Theme) -> None:
        super().__init__()
        self._play = play
        self.paired_replay, self.film = PairedReplay(studio), FilmExport(studio)
        self.episodes, self.both = (
            EpisodeList(theme, play.name_of),
            PairedReplayView(self.paired_replay, theme, play.name_of),
        )
        self.addWidget(self.episodes)
        self.addWidget(self.both)
        self.episodes.asked.connect(play.list_episodes)
        self.episodes.both_chosen.connect(self.paired_replay.open)
        self.episodes.film_asked.connect(self._ask_film)
        self.both.left.connect(self.paired_replay.close)
        self.both.export_asked.connect(self._ask_film_of_both)
        self.paired_replay.changed.connect(self._show)
        self.film.changed.connect(self._show_film)
        play.listed.connect(self._list)

    def close_all(self) -> None:
        self.paired_replay.close()
        self.film.close()

    def _list(self, found: Sequence[RecordedEpisode]) -> None:
        self.episodes.show_episodes(self._play.env_id, found)

    def _show(self) -> None:
        self.setCurrentWidget(self.both if self.paired_replay.is_open else self.episodes)

    def _show_film(self) -> None:
        self.episodes.show_film(self.film.progress or "filming …" if self.film.runs else "")

    def _ask_film(self, episodes: Sequence[RecordedEpisode]) -> None:
        names = [f"{episode.run_id}/{episode.episode}" for episode in episodes]
        self._save_film(names, SPEEDS[self._play.speed])

    def _ask_film_of_both(self) -> None:
        self._save_film([each.name for each in self.paired_replay.recorded], self.paired_replay.speed)

    def _save_film(self, names: Sequence[str], speed: float) -> None:
        def save(out: str) -> None:
            # The ending that is missing is that of the kind that was chosen.
            gif = dialog.selectedNameFilter().startswith("GIF") and "." not in out.rpartition("/")[2]
            self.film.save(names, f"{out}.gif" if gif else out, speed=speed)

        dialog = choose_file(self, "Save as a film", save, files="Film (*.mp4);;GIF (*.gif)", save_as="")


COLUMNS = ("when", "episode", "actor", "steps", "return", "seed", "end", "settings")
NUMBERS = (1, 3, 4, 5)
SETTINGS = len(COLUMNS) - 1


class EpisodeList(Panel):
    """Recorded episodes to choose from: a double click replays one, two that are chosen stand side by side."""

    chosen = Signal(object)
    """Replay this RecordedEpisode."""
    both_chosen = Signal(object)
    """Replay these two side by side."""
    film_asked = Signal(object)
    """Save these, one or two, as a film."""
    asked = Signal()
    """Look again what there is."""

    def __init__(self, theme: Theme, name_of: Callable[[str], str]) -> None:
        """`name_of` gives an actor's name for the user."""
        super().__init__()
        self._name_of = name_of
        self._episodes: list[RecordedEpisode] = []
        self._what = ElidedLabel("muted")
        self._count = ""
        self.tree = list_of(COLUMNS, "Recorded episodes")
        self.tree.setAlternatingRowColors(True)
        self.tree.itemActivated.connect(self._choose)
        self.replay = icon_button(theme, "rotate-ccw", "Replay", lambda: self._choose(self.tree.currentItem()))
        self.replay.setToolTip("Replay the selected episode, step by step")
        self.beside = icon_button(theme, "copy", "Side by side", lambda: self.both_chosen.emit(self.marked))
        self.film = IconTool(theme, "film", "Save film", lambda: self.film_asked.emit(self.marked))
        self.tree.setSelectionMode(QTreeWidget.SelectionMode.ExtendedSelection)
        self.tree.itemSelectionChanged.connect(self._point)
        again = IconTool(theme, "refresh-cw", "Refresh the list", self.asked.emit)
        above = row((self._what, 1), again, self.film, self.beside, self.replay, spacing=4, margins=(12, 6, 12, 6))
        column(self, above, (self.tree, 1))
        self._point()

    @property
    def shown(self) -> Sequence[RecordedEpisode]:
        """As they stand in the list."""
        return self._episodes

    @property
    def marked(self) -> list[RecordedEpisode]:
        """Those that are selected, the older one first."""
        places = sorted((self.tree.indexOfTopLevelItem(item) for item in self.tree.selectedItems()), reverse=True)
        return [self._episodes[place] for place in places]

    def show_episodes(self, env_id: str, episodes: Sequence[RecordedEpisode]) -> None:
        self._episodes = list(episodes)
        self.tree.clear()
        for episode in self._episodes:
            when = datetime.fromtimestamp(episode.started_at).astimezone().strftime("%b %d %H:%M:%S")
            actors = plain_line(", ".join(self._name_of(actor) for actor in episode.seats.values()))
            returns = " ".join(f"{total:g}" for total in episode.returns.values())
            texts = [when, str(episode.episode), actors, str(episode.length), returns, str(episode.seed)]
            settings = spoken(json.loads(episode.env_settings_json)) if episode.env_settings_json else ""
            item = QTreeWidgetItem([*texts, episode.outcome or "cut short", plain_line(settings)])
            to_the_right(item, NUMBERS)
            item.setToolTip(2, tip(", ".join(episode.seats.values())))
            item.setToolTip(SETTINGS, tip(settings))
            self.tree.addTopLevelItem(item)
        fit(self.tree)
        count = len(self._episodes)
        self._point()
        self._count = f"{count or 'No'} recorded episode{'s' if count != 1 else ''} of {env_id}"
        self._what.setText(self._count)

    def show_film(self, progress: str) -> None:
        """How far a film is; empty once none is being made."""
        self._what.setText(progress or self._count)

    def _point(self) -> None:
        count = len(self.tree.selectedItems())
        self.replay.setEnabled(count == 1)
        self.beside.setEnabled(count == 2)
        self.beside.setToolTip(
            "Both at once, step by step" if count == 2 else "Choose two episodes: click one, Ctrl-click another"
        )
        self.film.setEnabled(count in (1, 2))
        self.film.rename("Save as a film, mp4 or GIF; two stand side by side")

    def _choose(self, item: QTreeWidgetItem | None) -> None:
        if item is not None:
            self.chosen.emit(self._episodes[self.tree.indexOfTopLevelItem(item)])
