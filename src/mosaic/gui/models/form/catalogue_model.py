"""What there is to train and where, as the daemon serves it: algorithms with their schemas, environments by family."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QObject, Signal

from mosaic import config
from mosaic.config import JsonObject
from mosaic.errors import MosaicError
from mosaic.gui.models.daemon.daemon_link import DaemonLink
from mosaic.gui.models.word_search import holds_words
from mosaic.rpc.client import Algorithm, Client, settings_by_environment
from mosaic.spec.catalogue import fitting, known_environments, shipped_catalogue
from mosaic.spec.catalogue.known_environments import Found
from mosaic.spec.run_config import TrainRunConfig


@dataclass(frozen=True)
class Family:
    """Environments that come together, with the kind of actions of each; empty where that is not known."""

    name: str
    advice: str
    """What to do to install it; empty if it is."""
    environments: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Content:
    """All of it, from one look."""

    algorithms: dict[str, Algorithm]
    families: tuple[Family, ...]
    run_schema: JsonObject
    environments: dict[str, Found]
    """What is known of each that is listed."""


class CatalogueModel(QObject):
    """Loaded when the daemon is first reached, and again whenever it comes back: another one may know more."""

    changed = Signal()
    answered = Signal()
    """The daemon has said what there is, perhaps the same as before."""
    problem_changed = Signal()

    def __init__(self, link: DaemonLink) -> None:
        super().__init__()
        self.algorithms: dict[str, Algorithm] = {}
        self.families: Sequence[Family] = ()
        self.run_schema: JsonObject = {}
        self.problem = ""
        """Why there is none, as text for the user."""
        self.is_whole = False
        """The daemon has said what there is; before that, only what ships with the package is known."""
        self._environments: dict[str, Found] = {}
        self._link = link
        link.state_changed.connect(self._hear)
        self._hear()

    def load(self) -> None:
        self._link.call(ask, self._take_whole, self._fail)

    def show_shipped(self) -> None:
        """What ships with the package, until the daemon of this machine has said what there is."""
        if not self.algorithms and not self._link.is_remote and (content := shipped()):
            self.take(content)

    def look_again(self) -> None:
        """Algorithms of users change while the studio is open."""
        if self._link.state == "connected" and self.algorithms:
            self.load()

    def actions_of(self, env_id: str) -> str | None:
        """The kind of its actions; empty if not known, None for an environment that is not listed."""
        return self._environments[env_id].actions if env_id in self._environments else None

    def fits(self, env_id: str, algo: str) -> bool:
        """Whether nothing is known that speaks against it."""
        found, needs = self._environments.get(env_id), self.algorithms.get(algo)
        if found is None or needs is None:
            return True
        is_out = any(
            lacks(needs, found)
            for lacks in (
                fitting.is_elsewhere,
                fitting.has_wrong_actions,
                fitting.lacks_pictures,
                fitting.lacks_states,
            )
        )
        return not is_out and not _is_on_vectors(needs, found)

    def settings_of(self, env_id: str) -> Mapping[str, Any] | None:
        """JSON Schema of an environment's settings; None if only a worker can tell."""
        found = self._environments.get(env_id)
        return None if found is None else found.settings

    def misfit(self, env_id: str, algo: str, settings: Mapping[str, Any] | None = None) -> str:
        """What speaks against it, in words; empty if nothing that is known does."""
        found, needs = self._environments.get(env_id), self.algorithms.get(algo)
        if found is None or needs is None:
            return ""
        if problems := [*fitting.wrappers_around_tensors(needs, settings or {}), *found.misfits(settings or {})]:
            return problems[0].message
        found = found.with_settings(settings or {})
        if reason := fitting.misfit(needs, found, self.algorithms.values()):
            return reason
        return f"Shows pictures; {algo} is for vectors." if _is_on_vectors(needs, found) else ""

    def search(self, text: str, algo: str) -> list[Family]:
        """The families with those environments that hold every word and fit the algorithm; all for an empty text."""
        found: list[Family] = []
        for family in self.families:
            ids = tuple(
                (env_id, actions)
                for env_id, actions in family.environments
                if is_found(env_id, family.name, text) and self.fits(env_id, algo)
            )
            if ids or (family.advice and holds_words(family.name, text)):
                found.append(Family(family.name, family.advice, ids))
        return found

    def near(self, env_id: str, algo: str) -> list[str]:
        """Listed environments that are spelt alike: CartPole-v9 means CartPole-v1."""
        return known_environments.near(env_id, [known for known in self._environments if self.fits(known, algo)])

    def _hear(self) -> None:
        if self._link.state == "connected":
            self.load()

    def _take_whole(self, content: Content) -> None:
        self.is_whole = True
        self.take(content)
        self.answered.emit()

    def take(self, content: Content) -> None:
        """What a look found."""
        self.problem = ""
        self.problem_changed.emit()
        before = (self.algorithms, self.families, self.run_schema)
        self.algorithms, self.families, self.run_schema = content.algorithms, content.families, content.run_schema
        self._environments = content.environments
        if before != (self.algorithms, self.families, self.run_schema):
            self.changed.emit()

    def _fail(self, error: MosaicError) -> None:
        self.problem = str(error)
        self.problem_changed.emit()


def ask(client: Client) -> Content:
    """Look; not in the GUI thread."""
    reply = client.environment_list(with_settings=True)
    listed = reply.families
    families = tuple(
        Family(
            family.name,
            "" if family.installed else family.advice,
            tuple((info.env_id, info.actions) for info in family.environments),
        )
        for family in listed
    )
    settings = settings_by_environment(reply)
    environments = {
        info.env_id: _found(info, family.name, settings.get(info.env_id))
        for family in listed
        for info in family.environments
    }
    # Made here, beside the event loop: the first schema of a class takes tens of milliseconds.
    return Content(client.algorithms(), families, config.json_schema(TrainRunConfig), environments)


def shipped() -> Content | None:
    """The same of what ships with the package and holds here; None if a worker must describe the algorithms first."""
    document = shipped_catalogue.holding().document
    if "algorithms" not in document:
        return None
    listed = document.get("families", ())
    families = tuple(
        Family(one["name"], one["advice"], tuple((env["env_id"], env["actions"]) for env in one["environments"]))
        for one in listed
    )
    found = known_environments.listed(listed, document.get("wrappers", ()))
    algorithms = {one["name"]: Algorithm(**one) for one in document["algorithms"]}
    return Content(algorithms, families, config.json_schema(TrainRunConfig), found)


def is_found(env_id: str, family: str, typed: str) -> bool:
    """Whether its id and its family hold every word that was typed, in any order."""
    return holds_words(f"{family} {env_id}", typed)


def _found(info: Any, family: str, settings: Mapping[str, Any] | None) -> Found:
    return Found(
        settings=settings,
        env_id=info.env_id,
        status="listed",
        actions=info.actions,
        observations=info.observations,
        action_space=info.action_space,
        observation_space=info.observation_space,
        problem=info.problem,
        family=family,
    )


def _is_on_vectors(needs: Algorithm, found: Found) -> bool:
    """Whether it would take pictures for long vectors, which works badly and is not offered."""
    return needs.observations == "vector" and found.observations == fitting.PIXELS
