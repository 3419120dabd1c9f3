"""Recorded episodes: the list, two of them side by side, and films of them."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QStackedWidget

from mosaic.gui.models.duo import Duo
from mosaic.gui.models.film_export import FilmExport
from mosaic.gui.models.play import SPEEDS, Play
from mosaic.gui.models.studio import Studio
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.duo_view import DuoView
from mosaic.gui.widgets.episode_list import EpisodeList
from mosaic.rpc.trainer_pb2 import RecordedEpisode


class ReplayPage(QStackedWidget):
    def __init__(self, studio: Studio, play: Play, theme: Theme) -> None:
        super().__init__()
        self._play = play
        self.duo, self.film = Duo(studio), FilmExport(studio)
        self.episodes, self.both = EpisodeList(theme, play.name_of), DuoView(self.duo, theme, play.name_of)
        self.addWidget(self.episodes)
        self.addWidget(self.both)
        self.episodes.asked.connect(play.list_episodes)
        self.episodes.both_chosen.connect(self.duo.open)
        self.episodes.film_asked.connect(self._ask_film)
        self.both.left.connect(self.duo.close)
        self.both.export_asked.connect(self._ask_film_of_both)
        self.duo.changed.connect(self._show)
        play.listed.connect(self._list)

    def close_all(self) -> None:
        self.duo.close()
        self.film.close()

    def _list(self, found: Sequence[RecordedEpisode]) -> None:
        self.episodes.show_episodes(self._play.env_id, found)

    def _show(self) -> None:
        self.setCurrentWidget(self.both if self.duo.is_open else self.episodes)

    def _ask_film(self, episodes: Sequence[RecordedEpisode]) -> None:
        names = [f"{episode.run_id}/{episode.episode}" for episode in episodes]
        self._save_film(names, SPEEDS[self._play.speed])

    def _ask_film_of_both(self) -> None:
        self._save_film([each.name for each in self.duo.recorded], self.duo.speed)

    def _save_film(self, names: Sequence[str], speed: float) -> None:
        dialog = QFileDialog(self, "Save as a film", filter="Film (*.mp4);;GIF (*.gif)")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)

        def save(out: str) -> None:
            # The ending that is missing is that of the kind that was chosen.
            gif = dialog.selectedNameFilter().startswith("GIF") and "." not in out.rpartition("/")[2]
            self.film.save(names, f"{out}.gif" if gif else out, speed=speed)

        dialog.fileSelected.connect(save)
        dialog.open()
