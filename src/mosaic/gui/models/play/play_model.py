"""Who plays what: the choices of the Play tab, remembered for each environment, and the session that they start."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, cast

from PySide6.QtCore import QObject, QSettings, QTimer, Signal

from mosaic.config import JsonValue
from mosaic.errors import MosaicError
from mosaic.gui.models.form.environment_choice import EnvironmentChoice
from mosaic.gui.models.play.llm_endpoint import LlmEndpoint
from mosaic.gui.models.play.play_options import Choice, Known, PlayOptions, Seat, ask, look
from mosaic.gui.models.play.play_session import PlaySession, opened
from mosaic.gui.models.play.recorded_episodes import fetch
from mosaic.gui.models.play.seating import POLICY, Seating
from mosaic.gui.models.studio import Studio
from mosaic.gui.models.wording import name_of
from mosaic.rpc.client import Client
from mosaic.rpc.trainer_pb2 import RecordedEpisode
from mosaic.spec.actors import split
from mosaic.spec.play_config import document_of
from mosaic.spec.processes.language_model import LANGUAGE_MODEL, plays
from mosaic.spec.run_record import RunRecord
from mosaic.spec.seat_names import SEAT, has_several

SPEEDS = {"¼×": 0.25, "½×": 0.5, "1×": 1.0, "2×": 2.0, "4×": 4.0, "max": 0.0}
FIRST = "CartPole-v1"
TYPED_MS = 600
"""So long after the last change of a setting it is looked at what the game is like with it."""
Place: TypeAlias = tuple[str, str]
"""An environment, and its settings as JSON; empty where they change no seats."""


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
        self._looked: dict[Place, Known] = {}
        """What a dry run told of environments that are on no list, and of games for several with other settings."""
        self._looking: Place = ("", "")
        self._typed = QTimer(self, singleShot=True, interval=TYPED_MS)
        self._typed.timeout.connect(self._settle)
        self.environment.field_changed.connect(self._type)
        self._trained_in: tuple[str, str] = ("", "")
        """The environment and the policy that chosen settings begin from."""
        self._trained_with: dict[str, JsonValue] = {}
        self.seed = 1
        self.speed = "1×"
        self.session: PlaySession | None = None
        self.starting = False
        self.problem = ""
        """Why nothing could be started, as text for the user."""
        self._keys_sent = False
        self.seating.use(self.env_id, ())
        studio.link.state_changed.connect(self._hear)
        self._policies: Mapping[str, str] = {}
        """Environment of each run that has saved a policy, by id."""
        self._seen_states: dict[str, str] = {}
        """States of the trainings when the policies were asked for."""
        studio.records_came.connect(self._hear_of_runs)
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
        return self._looking == self._place

    def choices(self, seat: Seat) -> list[Choice]:
        """Every actor, and every run that has saved a policy of this environment."""
        here = [run for run in self._studio.runs.records() if self._policies.get(run.run_id) == self.env_id]
        policies = [self._policy(run) for run in here]
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
            self._settle(keeps=True)

    def choose_actor(self, word: str, seat: str = SEAT) -> None:
        """At once, where a session runs."""
        self.seating.choose(seat, word)
        if self._plays(seat):
            if word == "human":
                self.tell("control", control="human", seat=seat)
            else:
                self.tell("actor", actor=word, seat=seat)
        self._look_at_policy()
        self.seated.emit()

    def add_copy(self) -> None:
        self.seating.add_copy()
        self._look_at_policy()
        self.seated.emit()

    def remove_copy(self, seat: str) -> None:
        self.seating.remove_copy(seat)
        self._look_at_policy()
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
        self._studio.link.call(submit, self._begin, self._fail, brings_back=True)
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
            self._ask_for_policies()

    def _hear_of_runs(self, came: Sequence[RunRecord], _: object) -> None:
        """A run that begins, goes on or ends may have a policy then; one that is offered may have another name."""
        other = [run for run in came if run.kind == "train" and self._seen_states.get(run.run_id) != run.state]
        if other:
            self._seen_states |= {run.run_id: run.state for run in other}
            self._ask_for_policies()
        if any(run.run_id in self._policies for run in came):
            self.seated.emit()

    def _ask_for_policies(self) -> None:
        if self._studio.link.state == "connected":
            self._studio.link.call(_saved_policies, self._take_policies)

    def _take_policies(self, found: Mapping[str, str]) -> None:
        if found != self._policies:
            self._policies = found
            self.seated.emit()

    def _take_offer(self, offer: PlayOptions) -> None:
        if offer != self.offer:
            self.offer = offer
            self._settle()

    @property
    def _place(self) -> Place:
        """The environment, with the settings on which its seats may depend: those of games for several."""
        several = has_several(self.env_id) and self.environment.env_id == self.env_id
        settings = self.environment.values if several and not self.environment.problem else {}
        return self.env_id, json.dumps(settings) if settings else ""

    def _known(self) -> Known | None:
        known = self.offer.families.get(self.family, {}).get(self.env_id) or self._looked.get((self.env_id, ""))
        found = self._looked.get(self._place, known)
        # What cannot be made has the seats that it had, beside the reason.
        return replace(found, seats=known.seats) if found is not None and found.problem and known is not None else found

    def _type(self) -> None:
        if has_several(self.env_id):
            self._typed.start()

    def _settle(self, *, keeps: bool = False) -> None:
        """The seats of the environment that is chosen; one that is on no list, or has other settings, is looked at."""
        self._take_seats(keeps=keeps)
        self._look_at_policy()
        self._show_settings()
        self._take_seats()
        place = env_id, settings = self._place
        is_new = place not in self._looked and bool(settings or self._known() is None)
        if is_new and self.offer.actors and self._looking != place:
            self._looking = place
            self._studio.link.call(
                lambda client: look(client, env_id, json.loads(settings or "{}")),
                lambda found: self._take_look(place, found),
                lambda error: self._take_look(place, Known(problem=str(error))),
            )
        self.offered.emit()

    def _take_seats(self, *, keeps: bool = False) -> None:
        known = self._known()
        self.seating.use(self.env_id, known.seats if known is not None else (), keeps=keeps)

    def _look_at_policy(self) -> None:
        """What the first policy was trained with is what the environment has, as long as nothing else is typed."""
        word = next((word for word in self.seating.actors.values() if split(word)[0] == POLICY and split(word)[1]), "")
        about = (self.env_id, word)
        if about == self._trained_in:
            return
        self._trained_in, self._trained_with = about, {}
        self._show_settings()
        if word:
            self._studio.link.call(
                lambda client: _trained_with(client, split(word)[1], about[0]),
                lambda found: self._take_trained(about, found),
                # The session says what is wrong with a policy.
                lambda _: None,
            )

    def _take_trained(self, about: tuple[str, str], found: dict[str, JsonValue]) -> None:
        if about == self._trained_in:
            self._trained_with = found
            self._show_settings()

    def _show_settings(self) -> None:
        self.environment.use(self.env_id, self.offer.settings.get(self.env_id), self._trained_with)

    def _take_look(self, place: Place, known: Known) -> None:
        self._looked[place] = known
        if self._looking == place:
            self._looking = ("", "")
        if place[0] == self.env_id:
            self._settle()


def _trained_with(client: Client, argument: str, env_id: str) -> dict[str, JsonValue]:
    """Settings of a policy of a run or of a file, of this environment; in another thread."""
    found = next((one for one in client.policies() if one.run_id == argument), None) or client.describe_policy(argument)
    return dict(found.env_settings) if found.env_id == env_id else {}


def _saved_policies(client: Client) -> dict[str, str]:
    return {policy.run_id: policy.env_id for policy in client.policies() if policy.run_id}


def _key(env_id: str) -> str:
    """A slash would make a folder of it."""
    return env_id.replace("/", "_")
