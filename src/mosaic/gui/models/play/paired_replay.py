"""Two recorded episodes made again side by side, conducted together: no replay makes a step before both are there."""

from collections.abc import Sequence

from PySide6.QtCore import QElapsedTimer, QObject, QTimer, Signal

from mosaic.errors import MosaicError
from mosaic.gui.models.play.play_session import PlaySession, opened
from mosaic.gui.models.play.recorded_episodes import Difference, Recorded, fetch, first_difference
from mosaic.gui.models.studio import Studio
from mosaic.rpc.client import Client
from mosaic.rpc.trainer_pb2 import RecordedEpisode
from mosaic.spec.run_record import RunRecord

USUAL_STEPS_PER_S = 30.0
FASTEST_MS = 1


class PairedReplay(QObject):
    """Each replay is a session of its own, always paused; `go_to` and `play` tell both where to be."""

    changed = Signal()
    came = Signal()
    """There is a new picture of one of them."""

    def __init__(self, studio: Studio) -> None:
        super().__init__()
        self._studio = studio
        self.recorded: Sequence[Recorded] = ()
        self.sessions: Sequence[PlaySession] = ()
        self.difference: Difference | None = None
        self.starting = self.playing = False
        self.problem = ""
        self.target = 0
        """The step at which both should be, or at their end."""
        self.speed = 1.0
        """Multiple of real time; 0 is as fast as both can."""
        self._told = [0, 0]
        """Where each was last told to be."""
        self._wanted: tuple[RecordedEpisode, ...] = ()
        self._clock = QElapsedTimer()
        self._tick = QTimer(self, singleShot=True)
        self._tick.timeout.connect(self._advance)

    @property
    def length(self) -> int:
        """Steps of the longer one."""
        return max((len(each.steps) for each in self.recorded), default=0)

    @property
    def is_open(self) -> bool:
        return bool(self.sessions) or self.starting

    def open(self, episodes: Sequence[RecordedEpisode]) -> None:
        self.close()
        self._wanted = wanted = tuple(episodes)
        self.starting, self.problem = True, ""

        def ask(client: Client) -> list[tuple[Recorded, RunRecord]]:
            both = [fetch(client, episode) for episode in wanted]
            return [(each, client.submit(each.document({"paused": True}))[0]) for each in both]

        self._studio.link.call(ask, lambda found: self._begin(wanted, found), self._fail, brings_back=True)
        self.changed.emit()

    def close(self) -> None:
        """The replays end too: no other view shows them."""
        self._tick.stop()
        for session in self.sessions:
            session.send("stop")
            session.close()
        self.sessions, self.recorded, self.difference = (), (), None
        self.starting = self.playing = False
        self.target, self._told, self._wanted = 0, [0, 0], ()
        self.changed.emit()

    def play(self, on: bool) -> None:
        if on and self.target >= self.length:
            self.go_to(0)
        self.playing = on
        self._clock.start()
        self._advance()
        self.changed.emit()

    def go_to(self, step: int) -> None:
        self.target = min(max(step, 0), self.length)
        self._tell()
        self.changed.emit()

    def step(self, by: int) -> None:
        self.playing = False
        self.go_to(self.target + by)

    def _tell(self) -> None:
        """One that does not listen yet is told when it does."""
        for at, place in enumerate(self._places()):
            session = self.sessions[at]
            if session.state and self._told[at] != place:
                self._told[at] = place
                session.send("seek", step=place)

    def _places(self) -> list[int]:
        """Where each should be; the shorter one waits at its end."""
        return [min(self.target, len(each.steps)) for each in self.recorded]

    @property
    def arrived(self) -> bool:
        """Both are where they should be."""
        return all(
            session.state.get("t") == place for session, place in zip(self.sessions, self._places(), strict=True)
        )

    def _advance(self) -> None:
        """The next step once it is due and both have made the last one."""
        if not self.playing or not self.arrived or self._tick.isActive():
            return
        if self.target >= self.length:
            self.playing = False
            self.changed.emit()
            return
        usual = self.sessions[0].state.get("steps_per_s", USUAL_STEPS_PER_S) if self.sessions else USUAL_STEPS_PER_S
        rate = float(usual) * self.speed
        wait_ms = round(1000 / rate) - self._clock.elapsed() if rate else 0
        if wait_ms > FASTEST_MS:
            self._tick.start(wait_ms)
            return
        self._clock.restart()
        self.go_to(self.target + 1)

    def _begin(self, wanted: tuple[RecordedEpisode, ...], found: list[tuple[Recorded, RunRecord]]) -> None:
        if wanted is not self._wanted:
            # The user chose something else meanwhile; these are not shown and end by themselves.
            return
        self.starting = False
        self.recorded = [recorded for recorded, _ in found]
        self.difference = first_difference(*self.recorded)
        self.sessions = [opened(self._studio, run) for _, run in found]
        for session in self.sessions:
            session.changed.connect(self._take)
            session.came.connect(self.came)
        self.changed.emit()

    def _take(self) -> None:
        self._tell()
        self._advance()
        self.changed.emit()

    def _fail(self, error: MosaicError) -> None:
        self.starting, self.problem = False, str(error)
        self._studio.warn(self.problem)
        self.changed.emit()
