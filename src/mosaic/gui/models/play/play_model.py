"""Who plays what: the choices of the Play tab, remembered for each environment, and the session that they start."""

import json
from collections.abc import Callable
from typing import Any, cast

from PySide6.QtCore import QObject, QSettings, Signal

from mosaic.config import JsonValue
from mosaic.errors import MosaicError
from mosaic.gui.models.form.environment_choice import EnvironmentChoice
from mosaic.gui.models.play.llm_endpoint import LlmEndpoint
from mosaic.gui.models.play.play_options import Choice, Known, PlayOptions, Seat, ask, look
from mosaic.gui.models.play.play_session import PlaySession, opened
from mosaic.gui.models.play.recorded_episodes import fetch
from mosaic.gui.models.play.seating import Seating
from mosaic.gui.models.studio import Studio
from mosaic.gui.models.wording import name_of
from mosaic.rpc.client import Client
from mosaic.rpc.trainer_pb2 import RecordedEpisode
from mosaic.spec.play_config import document_of
from mosaic.spec.processes.language_model import LANGUAGE_MODEL, plays
from mosaic.spec.run_record import RunRecord
from mosaic.spec.seat_names import SEAT
from mosaic.spec.states import RunState

SPEEDS = {"¼×": 0.25, "½×": 0.5, "1×": 1.0, "2×": 2.0, "4×": 4.0, "max": 0.0}
FIRST = "CartPole-v1"


class Play(QObject):
    """Holds one session at a time; the one before is stopped when the next is started."""

    offered = Signal()
    """There is something else to choose from."""
    seated = Signal()
    """A seat has another actor, or there are more or fewer seats."""
    changed = Signal()
    """The session, or its state, is another one."""
    came = Signal()
    """There is a new picture."""
    listed = Signal(object)
    """Recorded episodes, newest first."""

    def __init__(self, studio: Studio) -> None:
        super().__init__()
        self._studio = studio
        self._settings = QSettings(str(studio.home.root / "gui.ini"), QSettings.Format.IniFormat)
        self.offer = PlayOptions()
        self.env_id = str(self._settings.value("play/env_id") or FIRST)
        self.environment = EnvironmentChoice()
        """Settings of the environment."""
        self.seating = Seating(self._settings)
        self.endpoint = LlmEndpoint(self._settings, self)
        self._looked: dict[str, Known] = {}
        """Environments that are on no list, by what a dry run told of them."""
        self._looking = ""
        self.seed = 1
        self.speed = "1×"
        self.session: PlaySession | None = None
        self.starting = False
        self.problem = ""
        """Why nothing could be started, as text for the user."""
        self._keys_sent = False
        self.seating.use(self.env_id, ())
        studio.link.state_changed.connect(self._hear)
        # A run that ends may be an actor; the environments are the same.
        studio.runs_changed.connect(self.seated)
        self._hear()

    # What there is.

    @property
    def family(self) -> str:
        return next((name for name, ids in self.offer.families.items() if self.env_id in ids), "")

    @property
    def has_language_model(self) -> bool:
        """Whether one is to play."""
        return plays(self.seating.actors.values())

    @property
    def environment_problem(self) -> str:
        """Why nothing can be played in the environment that is chosen; empty as far as is known."""
        known = self._known()
        return (known.problem if known is not None else "") or self.environment.problem

    @property
    def looking(self) -> bool:
        """A dry run is finding out what the environment is like."""
        return self._looking == self.env_id

    def choices(self, seat: Seat) -> list[Choice]:
        """Every actor, and every run whose policy was trained here."""
        policies = [self._policy(run) for run in self._studio.runs.records() if _has_policy(run, self.env_id)]
        return self.offer.choices(seat, self.family) + policies

    def name_of(self, word: str) -> str:
        """The name of an actor for the user: a policy by the run that it is of, a file by its name."""
        run_id = word.partition(":")[2]
        run = self._studio.runs.get(run_id) if run_id else None
        return name_of(run) if run is not None else word.rpartition("/")[2]

    def _policy(self, run: RunRecord) -> Choice:
        score = f", return {run.last_return:.0f}" if run.last_return is not None else ""
        return Choice(f"policy:{run.run_id}", f"{name_of(run)} ({run.algo})", f"the policy of this run{score}", "")

    @property
    def key_map(self) -> dict[str, JsonValue] | None:
        """The keys that were edited for this environment."""
        text = self._settings.value(f"play/keys/{_key(self.env_id)}")
        try:
            found: Any = json.loads(str(text)) if text else None
        except ValueError:
            return None
        return cast("dict[str, JsonValue]", found) if isinstance(found, dict) else None

    # What is chosen.

    def choose_environment(self, env_id: str) -> None:
        if env_id and env_id != self.env_id:
            self.env_id = env_id
            self._settings.setValue("play/env_id", env_id)
            self._settle()

    def choose_actor(self, word: str, seat: str = SEAT) -> None:
        """At once, where a session runs."""
        self.seating.choose(seat, word)
        if self._plays(seat):
            if word == "human":
                self.tell("control", control="human", seat=seat)
            else:
                self.tell("actor", actor=word, seat=seat)
        self.seated.emit()

    def add_copy(self) -> None:
        self.seating.add_copy()
        self.seated.emit()

    def remove_copy(self, seat: str) -> None:
        self.seating.remove_copy(seat)
        self.seated.emit()

    def _plays(self, seat: str) -> bool:
        session = self.session
        return (
            session is not None
            and not session.over
            and session.record.env_id == self.env_id
            and list(session.state.get("seats", {})) == [each.name for each in self.seating.seats]
            and seat in session.state["seats"]
        )

    def choose_speed(self, name: str) -> None:
        self.speed = name
        self.tell("speed", speed=SPEEDS[name])

    def choose_keys(self, key_map: dict[str, JsonValue]) -> None:
        self._settings.setValue(f"play/keys/{_key(self.env_id)}", json.dumps(key_map))
        self.tell("keymap", map=key_map)

    # The session.

    def start(self) -> None:
        """A session of what is chosen."""
        actors = self.seating.actors
        options: dict[str, JsonValue] = {"speed": SPEEDS[self.speed], "video_mode": "single"}
        if self.seating.is_lockstep:
            options |= {"lockstep": True, "video_mode": "grid"}
        if told := self.endpoint.told(actors.values()):
            options["actor_params"] = {LANGUAGE_MODEL: dict(told)}
        options |= {"interactive": True, **self.endpoint.secrets(actors.values())}
        if self.environment.problem:
            self.problem = self.environment.problem
            self.changed.emit()
            return
        document = document_of(self.env_id, actors, options, seed=self.seed, settings=self.environment.values)
        self._begin_with(lambda client: client.submit(document)[0])

    def replay(self, episode: RecordedEpisode) -> None:
        options: dict[str, JsonValue] = {"paused": True, "speed": SPEEDS[self.speed]}
        self._begin_with(lambda client: client.submit(fetch(client, episode).document(options))[0])

    def tell(self, do: str, **values: JsonValue) -> None:
        if self.session is not None:
            self.session.send(do, **values)

    def stop(self) -> None:
        """End the session; one that hangs is ended by the daemon."""
        session = self.session
        if session is None or session.over:
            return
        session.send("stop")
        if session.status in ("stalled", "starting"):
            self._studio.link.call(lambda client: client.cancel(session.record.run_id))

    def list_episodes(self) -> None:
        env_id = self.env_id
        self._studio.link.call(lambda client: client.episodes(env_id=env_id, limit=200), self.listed.emit)

    def close(self) -> None:
        """The window closes: a session that only it controls ends too."""
        self.stop()
        if self.session is not None:
            self.session.close()

    def _begin_with(self, submit: Callable[[Client], RunRecord]) -> None:
        if self.starting:
            return
        self.stop()
        self.starting, self.problem = True, ""
        self._studio.link.call(submit, self._begin, self._fail)
        self.changed.emit()

    def _begin(self, record: RunRecord) -> None:
        self.starting = False
        if self.session is not None:
            self.session.close()
        self.session = session = opened(self._studio, record)
        session.changed.connect(self._take)
        session.came.connect(self.came)
        self._keys_sent = False
        self.changed.emit()

    def _take(self) -> None:
        session = self.session
        if session is not None and not self._keys_sent and session.state.get("keys"):
            self._keys_sent = True
            if (edited := self.key_map) is not None:
                session.send("keymap", map=edited)
        self.changed.emit()

    def _fail(self, error: MosaicError) -> None:
        self.starting, self.problem = False, str(error)
        self._studio.warn(self.problem)
        self.changed.emit()

    def _hear(self) -> None:
        if self._studio.link.state == "connected":
            self._studio.link.call(ask, self._take_offer)

    def _take_offer(self, offer: PlayOptions) -> None:
        if offer != self.offer:
            self.offer = offer
            self._settle()

    def _known(self) -> Known | None:
        return self.offer.families.get(self.family, {}).get(self.env_id) or self._looked.get(self.env_id)

    def _settle(self) -> None:
        """The seats of the environment that is chosen; one that is on no list is looked at."""
        known = self._known()
        self.environment.use(self.env_id, self.offer.settings.get(self.env_id))
        self.seating.use(self.env_id, known.seats if known is not None else ())
        if known is None and self.offer.actors and self._looking != self.env_id:
            self._looking = env_id = self.env_id
            self._studio.link.call(
                lambda client: look(client, env_id),
                lambda found: self._take_look(env_id, found),
                lambda error: self._take_look(env_id, Known(problem=str(error))),
            )
        self.offered.emit()

    def _take_look(self, env_id: str, known: Known) -> None:
        self._looked[env_id] = known
        if self._looking == env_id:
            self._looking = ""
        if env_id == self.env_id:
            self._settle()


def _has_policy(run: RunRecord, env_id: str) -> bool:
    return run.kind == "train" and run.env_id == env_id and run.state in (RunState.FINISHED, RunState.CANCELLED)


def _key(env_id: str) -> str:
    """A slash would make a folder of it."""
    return env_id.replace("/", "_")
