"""What there is to train and where, as the daemon serves it: algorithms with their schemas, environments by family."""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal

from mosaic import config
from mosaic.config import JsonObject
from mosaic.errors import MosaicError
from mosaic.gui.models.link import Link
from mosaic.rpc.client import Algorithm, Client
from mosaic.spec.run_config import TrainRunConfig

NEAR = 3
_VERSION = re.compile(r"-v\d+$")


@dataclass(frozen=True)
class Family:
    """Environments that come together, with the kind of actions of each; empty where nobody knows."""

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
    observations: dict[str, str]
    """The kind of what each environment shows; empty where nobody knows."""


class Catalogue(QObject):
    """Loaded when the daemon is first reached, and again whenever it comes back: another one may know more."""

    changed = Signal()
    problem_changed = Signal()

    def __init__(self, link: Link) -> None:
        super().__init__()
        self.algorithms: dict[str, Algorithm] = {}
        self.families: Sequence[Family] = ()
        self.run_schema: JsonObject = {}
        self.problem = ""
        """Why there is none, for people."""
        self._actions: dict[str, str] = {}
        self._observations: dict[str, str] = {}
        self._link = link
        link.state_changed.connect(self._hear)
        self._hear()

    def load(self) -> None:
        self._link.call(ask, self.take, self._fail)

    def look_again(self) -> None:
        """Algorithms of users change while the studio is open."""
        if self._link.state == "connected" and self.algorithms:
            self.load()

    def actions_of(self, env_id: str) -> str | None:
        """The kind of its actions; empty if not known, None for an environment that is not listed."""
        return self._actions.get(env_id)

    def fits(self, env_id: str, algo: str) -> bool:
        """Whether nothing is known that speaks against it."""
        return not self.misfit(env_id, algo)

    def misfit(self, env_id: str, algo: str) -> str:
        """What speaks against it, in words; empty if nothing that is known does."""
        if algo not in self.algorithms:
            return ""
        actions, wanted = self._actions.get(env_id, ""), self.algorithms[algo].actions
        if actions and wanted and actions != wanted:
            return f"Has {actions} actions; {algo} is for {wanted} ones."
        shown, seen = self._observations.get(env_id, ""), self.algorithms[algo].observations
        on_pictures = seen == "pixels"
        if shown and seen and on_pictures != (shown == "pixels"):
            is_shown = "pictures" if shown == "pixels" else "no pictures"
            return f"Shows {is_shown}; {algo} is for {'pictures' if on_pictures else 'vectors'}."
        return ""

    def search(self, text: str, algo: str) -> list[Family]:
        """The families with those environments that contain the text and fit the algorithm; all for an empty text."""
        wanted = text.strip().lower()
        found: list[Family] = []
        for family in self.families:
            whole = wanted == family.name.lower()
            ids = tuple(
                (env_id, actions)
                for env_id, actions in family.environments
                if (whole or wanted in env_id.lower()) and self.fits(env_id, algo)
            )
            if ids or (family.advice and (not wanted or wanted in family.name.lower())):
                found.append(Family(family.name, family.advice, ids))
        return found

    def near(self, env_id: str, algo: str) -> list[str]:
        """Listed environments that are spelt alike: CartPole-v9 means CartPole-v1."""
        names: dict[str, str] = {}
        for known in self._actions:
            if self.fits(known, algo):
                # The first of several versions is the current one.
                names.setdefault(_unversioned(known), known)
        wanted = _unversioned(env_id)
        alike = [wanted] if wanted in names else difflib.get_close_matches(wanted, names, n=NEAR, cutoff=0.7)
        return [names[name] for name in alike]

    def _hear(self) -> None:
        if self._link.state == "connected":
            self.load()

    def take(self, content: Content) -> None:
        """What a look found."""
        self.problem = ""
        self.problem_changed.emit()
        before = (self.algorithms, self.families, self.run_schema)
        self.algorithms, self.families, self.run_schema = content.algorithms, content.families, content.run_schema
        self._actions = {env_id: actions for family in content.families for env_id, actions in family.environments}
        self._observations = content.observations
        if before != (self.algorithms, self.families, self.run_schema):
            self.changed.emit()

    def _fail(self, error: MosaicError) -> None:
        self.problem = str(error)
        self.problem_changed.emit()


def ask(client: Client) -> Content:
    """Look; not in the GUI thread."""
    listed = client.environments()
    families = tuple(
        Family(
            family.name,
            "" if family.installed else family.advice,
            tuple((info.env_id, info.actions) for info in family.environments),
        )
        for family in listed
    )
    observations = {info.env_id: info.observations for family in listed for info in family.environments}
    # Made here, beside the event loop: the first schema of a class takes tens of milliseconds.
    return Content(client.algorithms(), families, config.json_schema(TrainRunConfig), observations)


def _unversioned(env_id: str) -> str:
    return _VERSION.sub("", env_id.rpartition(":")[2]).lower()
