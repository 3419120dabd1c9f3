"""What a catalogue tells of an environment by its id: what it is like, that there is none, or that it is not known."""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from mosaic.errors import Problem, UnknownEnvironment
from mosaic.spec import own_code
from mosaic.spec.catalogue import environment_kinds
from mosaic.spec.seat_names import has_several
from mosaic.spec.wrappers import SETTING

NEAR = 3
CUTOFF = 0.75
_KINDS = ("actions", "observations", "action_space", "observation_space")
_FACTS = (*_KINDS, "problem")
_VERSION = re.compile(r"-v\d+$")
_MODULE_SPELLING = re.compile(r"_(v\d+)$")

_MINATAR = re.compile(r"minatar(?:[-/]([a-z_]+))?", re.IGNORECASE)
LIKE_MINATARS = {
    "Asterix": "mosaic/Hunt-v0",
    "Breakout": "mosaic/Bricks-v0",
    "Freeway": "mosaic/Lanes-v0",
    "Seaquest": "mosaic/Divers-v0",
    "SpaceInvaders": "mosaic/Fleet-v0",
}
"""MinAtar's games, and the small game of MOSAIC that is in the manner of each."""
OWN_FAMILY = "own"
"""Name of the family of environments of users' own files."""

Status = Literal["listed", "unlisted", "not installed", "unknown", "no such"]


@dataclass(frozen=True, kw_only=True)
class Found:
    """What is known of one id."""

    env_id: str
    status: Status
    """unlisted: it can be made, and nothing more is known; unknown: only a worker can tell."""
    actions: str = ""
    observations: str = ""
    action_space: str = ""
    observation_space: str = ""
    seats: tuple[Mapping[str, str], ...] = ()
    problem: str = ""
    """Why it cannot be made."""
    family: str = ""
    extra: str = ""
    near: tuple[str, ...] = ()
    """Ids that are spelt alike, of one that does not exist."""
    settings: Mapping[str, Any] | None = None
    """JSON Schema of its settings; None if only a worker can tell."""

    def with_settings(self, settings: Mapping[str, Any]) -> "Found":
        """What it is like with these settings: of those for several, seats and their kinds may change in any way."""
        if not settings or self.settings is None:
            return replace(self, **dict.fromkeys(_KINDS, ""), seats=()) if settings else self
        if self.seats:
            return replace(self, actions="", seats=())
        return replace(self, **environment_kinds.kinds_with(settings, self.settings, self._kinds))

    def misfits(self, settings: Mapping[str, Any]) -> list[Problem]:
        """Of checked settings: the wrapper that is known not to fit this environment."""
        if self.settings is None or self.seats:
            return []
        return list(environment_kinds.misfits(settings, self.settings, self._kinds, env_id=self.env_id))

    @property
    def _kinds(self) -> dict[str, str]:
        return {name: getattr(self, name) for name in _KINDS}


def look(
    env_id: str,
    families: Sequence[Mapping[str, Any]],
    *,
    stale: Iterable[str] = (),
    wrappers: Iterable[Mapping[str, Any]] = (),
) -> Found:
    """Find an id in the families of a catalogue; `stale` are those parts and families that it knows nothing of.

    `wrappers` are those of Gymnasium that it knows.
    """
    found = _look(env_id, families, stale)
    return found if found.settings is None else replace(found, settings=with_wrappers(found.settings, wrappers))


def with_wrappers(schema: Mapping[str, Any], known: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The schema of an environment names the setting; what it may hold is the same for all."""
    properties: Mapping[str, Any] = schema["properties"]
    if SETTING not in properties:
        return dict(schema)
    about = {**properties[SETTING], "known": {one["name"]: one for one in known}}
    return {**schema, "properties": {**properties, SETTING: about}}


def _look(env_id: str, families: Sequence[Mapping[str, Any]], stale: Iterable[str]) -> Found:
    if own_code.is_reference(env_id):
        own = (one for one in families if one["name"] == OWN_FAMILY)
        found = (
            _found(env_id, entry, one) for one in own for entry in one["environments"] if entry["env_id"] == env_id
        )
        return next(found, Found(env_id=env_id, status="unknown"))
    module, _, name = env_id.rpartition(":")
    if module:
        return Found(env_id=env_id, status="unknown")
    wanted = _as_listed(name)
    for family in families:
        about = {"family": family["name"], "extra": family["extra"]}
        for entry in family["environments"]:
            if _is_named(wanted, entry["env_id"]):
                return _found(env_id, entry, family)
        if any(_is_named(wanted, other) for other in family.get("unlisted", ())):
            return Found(env_id=env_id, status="unlisted", **about)
        if any(_is_named(wanted, other) for other in family.get("missing", ())):
            return Found(env_id=env_id, status="not installed", **about)
    if set(stale) - {"algorithms", "wrappers", "actors"} or not families:
        return Found(env_id=env_id, status="unknown")
    ids = [entry["env_id"] for family in families for entry in family["environments"]]
    missing = [other for family in families for other in family.get("missing", ())]
    return Found(env_id=env_id, status="no such", near=tuple(near(env_id, [*ids, *missing])))


def listed(families: Iterable[Mapping[str, Any]], wrappers: Iterable[Mapping[str, Any]] = ()) -> dict[str, Found]:
    """What is known of every environment that is listed."""
    kinds = list(wrappers)
    found = (_found(entry["env_id"], entry, family) for family in families for entry in family["environments"])
    return {
        one.env_id: one if one.settings is None else replace(one, settings=with_wrappers(one.settings, kinds))
        for one in found
    }


def _found(env_id: str, entry: Mapping[str, Any], family: Mapping[str, Any]) -> Found:
    kinds = {key: entry.get(key, "") for key in _FACTS}
    seats = tuple(entry.get("seats", ()))
    return Found(
        env_id=env_id,
        status="listed",
        seats=seats,
        family=family["name"],
        extra=family["extra"],
        settings=settings_of(entry, family),
        **kinds,
    )


def settings_of(entry: Mapping[str, Any], family: Mapping[str, Any]) -> dict[str, Any] | None:
    """The schema of an environment's settings: that of its constructor, with what is different for this id."""
    known: Mapping[str, Any] = family.get("settings", {})
    about = entry.get("settings")
    if about is None or about["of"] not in known:
        return None
    schema = known[about["of"]]
    properties = {name: {**one, **about["changed"].get(name, {})} for name, one in schema["properties"].items()}
    return {**schema, "properties": properties}


def no_such(env_id: str, near: Sequence[str]) -> UnknownEnvironment:
    """The error for an id that nothing answers to."""
    ours = instead_of_minatar(env_id)
    return UnknownEnvironment(env_id, hint=ours) if ours else UnknownEnvironment(env_id, near)


def instead_of_minatar(text: str) -> str:
    """Which games of MOSAIC there are for one of MinAtar's, and what to type; empty for any other text."""
    if (named := _MINATAR.match(text)) is None:
        return ""
    wanted = (named[1] or "").replace("_", "").lower()
    chosen = next((ours for game, ours in LIKE_MINATARS.items() if game.lower() == wanted), LIKE_MINATARS["Breakout"])
    games = ", ".join(f"{ours} ({game})" for game, ours in LIKE_MINATARS.items())
    return (
        "MinAtar's games are not part of MOSAIC, which has five of its own in their manner, with rules of their own:"
        f" {games}; type --env-id {chosen}, for ppo and dqn with --network parts"
    )


def near(env_id: str, ids: Iterable[str]) -> list[str]:
    """Ids that are spelt alike, by the name without its version, so that CartPole-v9 means CartPole."""
    # Reversed: of several versions the current one comes first, and wins.
    names = {_unversioned(each): each for each in reversed(list(ids))}
    wanted = _unversioned(env_id)
    alike = [wanted] if wanted in names else difflib.get_close_matches(wanted, names, n=NEAR, cutoff=CUTOFF)
    return [names[each] for each in alike]


def _unversioned(env_id: str) -> str:
    return _VERSION.sub("", env_id.rpartition(":")[2]).lower()


def _as_listed(name: str) -> str:
    """PettingZoo's environments also go by their modules: `pettingzoo/classic/tictactoe_v3`, `tictactoe_v3`."""
    return _MODULE_SPELLING.sub(r"-\1", name.removeprefix("pettingzoo/")) if has_several(name) else name


def _is_named(wanted: str, env_id: str) -> bool:
    return wanted == env_id or (has_several(env_id) and wanted == env_id.partition("/")[2])
