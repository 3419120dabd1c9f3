"""Who plays what: the choices of the Play tab, remembered for each environment, and the session that they start."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from PySide6.QtCore import QObject, QSettings, Signal

from mosaic.config import JsonValue
from mosaic.errors import MosaicError
from mosaic.gui.models.batch import Notice
from mosaic.gui.models.play_session import PlaySession
from mosaic.gui.models.studio import Studio
from mosaic.gui.models.wording import name_of
from mosaic.rpc.client import Client
from mosaic.rpc.trainer_pb2 import RecordedEpisode
from mosaic.spec.actors import ActorDescriptor
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import RunState

SEAT = "agent_0"
SPEEDS = {"¼×": 0.25, "½×": 0.5, "1×": 1.0, "2×": 2.0, "4×": 4.0, "max": 0.0}
FIRST = "CartPole-v1"
HIDDEN = ("replay", "policy")
"""Chosen elsewhere: from the list of episodes, and by the run that trained it."""


@dataclass(frozen=True)
class Choice:
    """An actor that may be chosen."""

    word: str
    label: str
    description: str
    misfit: str
    """Why it cannot act in the environment that is chosen; empty if it can."""
    argument: str = ""
    """What must follow the colon; empty if nothing."""


@dataclass(frozen=True)
class Offer:
    """All that there is to choose from, from one look."""

    families: Mapping[str, Mapping[str, str]]
    """Environments of each installed family, with the kind of their actions."""
    actors: Sequence[ActorDescriptor]


class Play(QObject):
    """Holds one session at a time; the one before is stopped when the next is started."""

    offered = Signal()
    """There is something else to choose from."""
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
        self.offer = Offer({}, ())
        self.env_id = str(self._settings.value("play/env_id") or FIRST)
        self.seed = 1
        self.speed = "1×"
        self.session: PlaySession | None = None
        self.starting = False
        self.problem = ""
        """Why nothing could be started, for people."""
        self._keys_sent = False
        studio.link.state_changed.connect(self._hear)
        studio.runs_changed.connect(self.offered)
        self._hear()

    # What there is.

    @property
    def family(self) -> str:
        return next((name for name, ids in self.offer.families.items() if self.env_id in ids), "")

    def choices(self) -> list[Choice]:
        """Every actor, and every run whose policy was trained here."""
        action, family = self.offer.families.get(self.family, {}).get(self.env_id, ""), self.family
        found: list[Choice] = []
        for actor in self.offer.actors:
            if actor.id not in HIDDEN:
                misfit = actor.misfit(action=action, family=family)
                found.append(Choice(actor.id, actor.label, actor.description, misfit, actor.argument))
        return found + [self._policy(run) for run in self._studio.runs.records() if _has_policy(run, self.env_id)]

    def name_of(self, word: str) -> str:
        """What people call an actor: a policy by the run that it is of, a file by its name."""
        run_id = word.partition(":")[2]
        run = self._studio.runs.get(run_id) if run_id else None
        return name_of(run) if run is not None else word.rpartition("/")[2]

    def _policy(self, run: RunRecord) -> Choice:
        score = f", return {run.last_return:.0f}" if run.last_return is not None else ""
        return Choice(f"policy:{run.run_id}", f"{name_of(run)} ({run.algo})", f"the policy of this run{score}", "")

    @property
    def actor(self) -> str:
        """The word that was chosen for this environment the last time; a person at first."""
        return str(self._settings.value(f"play/actor/{_key(self.env_id)}") or "human")

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
            self.offered.emit()

    def choose_actor(self, word: str) -> None:
        """At once, where a session runs."""
        self._settings.setValue(f"play/actor/{_key(self.env_id)}", word)
        if self.session is not None and not self.session.over and self.session.record.env_id == self.env_id:
            if word == "human":
                self.session.send("control", control="human")
            else:
                self.session.send("actor", actor=word)

    def choose_speed(self, name: str) -> None:
        self.speed = name
        self.tell("speed", speed=SPEEDS[name])

    def choose_keys(self, key_map: dict[str, JsonValue]) -> None:
        self._settings.setValue(f"play/keys/{_key(self.env_id)}", json.dumps(key_map))
        self.tell("keymap", map=key_map)

    # The session.

    def start(self) -> None:
        """A session of what is chosen."""
        self._submit(self.env_id, self.actor, {"speed": SPEEDS[self.speed]}, seed=self.seed)

    def replay(self, episode: RecordedEpisode) -> None:
        options: dict[str, JsonValue] = {"paused": True, "speed": SPEEDS[self.speed]}
        self._submit(episode.env_id, f"replay:{episode.run_id}/{episode.episode}", options, seed=0)

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

    def _submit(self, env_id: str, actor: str, options: dict[str, JsonValue], *, seed: int) -> None:
        if self.starting:
            return
        self.stop()
        self.starting, self.problem = True, ""
        document = _document(env_id, actor, options, seed)
        self._studio.link.call(lambda client: client.submit(document)[0], self._begin, self._fail)
        self.changed.emit()

    def _begin(self, record: RunRecord) -> None:
        self.starting = False
        if self.session is not None:
            self.session.close()
        link = self._studio.link
        self.session = session = PlaySession(record, lambda: link.client, is_remote=link.is_remote)
        session.changed.connect(self._take)
        session.came.connect(self.came)
        session.refused.connect(self._complain)
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
        self._complain(self.problem)
        self.changed.emit()

    def _complain(self, message: str) -> None:
        self._studio.noticed.emit(Notice(message))

    def _hear(self) -> None:
        if self._studio.link.state == "connected":
            self._studio.link.call(_ask, self._take_offer)

    def _take_offer(self, offer: Offer) -> None:
        if offer != self.offer:
            self.offer = offer
            self.offered.emit()


def _ask(client: Client) -> Offer:
    """Not in the GUI thread."""
    families = {
        family.name: {info.env_id: info.actions for info in family.environments}
        for family in client.environments()
        if family.environments
    }
    return Offer(families, list(client.actors()))


def _has_policy(run: RunRecord, env_id: str) -> bool:
    return run.kind == "train" and run.env_id == env_id and run.state in (RunState.FINISHED, RunState.CANCELLED)


def _key(env_id: str) -> str:
    """A slash would make a folder of it."""
    return env_id.replace("/", "_")


def _document(env_id: str, actor: str, options: Mapping[str, JsonValue], seed: int) -> dict[str, Any]:
    extras = {"mode": "play", "actors": {SEAT: actor}, "interactive": True, "video_mode": "single", **options}
    worker = {"module": "mosaic.play", "config": {"env_id": env_id, "seed": seed, "extras": extras}}
    return {"environment": {"env_id": env_id}, "artifacts": {}, "metadata": {"worker": worker}}
