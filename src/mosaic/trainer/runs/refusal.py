"""What can be known to fail of a run before it is made: by the catalogue alone, with no import and no worker.

Where the catalogue knows nothing (an environment of a module of the user's own, a family that must be described first)
nothing is refused: the worker tells.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mosaic import config
from mosaic.errors import MissingExtra, Problem
from mosaic.scripts.script import is_script
from mosaic.spec import actors, environment_settings
from mosaic.spec.actors import ActorDescriptor
from mosaic.spec.catalogue import environment_kinds, fitting, known_environments
from mosaic.spec.catalogue.known_environments import Found
from mosaic.spec.catalogue.shipped_catalogue import Holding
from mosaic.spec.run_config import PlayExtras, TrainExtras, TrainRunConfig, WorkerConfig
from mosaic.spec.seat_names import EVERY_SEAT

ENVIRONMENT = "--env-id"
ACTOR = "--actor"
SHOWING = ("policy", "replay")
"""Actors that decide what all of a session see: what they were trained on, or recorded with."""


class _Needs(NamedTuple):
    """What an algorithm needs, as the catalogue says it."""

    name: str
    actions: str
    observations: str
    schema: Mapping[str, Any]


def problems_of(
    parsed: TrainRunConfig, known: Holding, *, own_wrappers: Mapping[str, Mapping[str, Any]] | None = None
) -> list[Problem]:
    """Everything that speaks against this run; MissingExtra if something must be installed first.

    `own_wrappers` are the schemas of those wrappers of it that are of users.
    """
    worker = parsed.metadata.worker.config
    settings = parsed.environment.settings
    if isinstance(worker.extras, TrainExtras) and is_script(worker.algo):
        # A script decides by itself what it makes of an environment's name.
        return [environment_settings.not_for_scripts()] if settings else []
    families = known.document.get("families", ())
    kinds = [*known.document.get("wrappers", ()), *(own_wrappers or {}).values()]
    found = known_environments.look(worker.env_id, families, stale=known.stale, wrappers=kinds)
    if found.status == "not installed":
        raise MissingExtra(f"'{worker.env_id}'", found.extra)
    if found.status == "no such":
        return [Problem(ENVIRONMENT, str(known_environments.no_such(worker.env_id, found.near)))]
    if found.settings is not None:
        problems = environment_settings.problems_of(settings, found.settings, env_id=worker.env_id)
        if not _has_settings_of_others(worker.extras):
            problems += environment_settings.missing(settings, found.settings, env_id=worker.env_id)
        if problems:
            return problems
    if isinstance(worker.extras, TrainExtras):
        algorithms = known.document.get("algorithms", ())
        # What cannot be put around it says nothing of what would be there then.
        return list(_of_settings(worker.algo, found, settings, algorithms)) or list(
            _of_training(worker, found.with_settings(settings), algorithms)
        )
    if problems := found.misfits(settings):
        return problems
    found = found.with_settings(settings)
    if isinstance(worker.extras, PlayExtras):
        descriptors = () if "actors" in known.stale else known.document.get("actors", ())
        return list(_of_playing(worker.extras, found, [config.from_json(ActorDescriptor, one) for one in descriptors]))
    return []


def _has_settings_of_others(options: object) -> bool:
    """Of an evaluation, and a session that begins from a policy or an episode: the worker knows the rest of them."""
    if isinstance(options, PlayExtras):
        return any(actors.split(word)[0] in SHOWING for word in options.actors.values())
    return not isinstance(options, TrainExtras)


def _of_settings(
    algo: str, found: Found, settings: Mapping[str, Any], algorithms: Sequence[Mapping[str, Any]]
) -> Iterator[Problem]:
    """Checked ones, which this algorithm or this environment cannot have."""
    for needs in _needs_of(algorithms):
        if needs.name == algo:
            yield from fitting.wrappers_around_tensors(needs, settings)
    sees_pictures = any(one["name"] == algo and one["observations"] == fitting.PIXELS for one in algorithms)
    if found.settings is not None and sees_pictures:
        yield from environment_kinds.not_for_pictures(settings, found.settings)
    yield from found.misfits(settings)


def _of_training(worker: WorkerConfig, found: Found, algorithms: Sequence[Mapping[str, Any]]) -> Iterator[Problem]:
    if found.actions == actors.BY_SEAT:
        yield Problem(ENVIRONMENT, fitting.for_several(worker.env_id))
        return
    known = {one.name: one for one in _needs_of(algorithms)}
    if worker.algo in known and (reason := fitting.misfit(known[worker.algo], found, known.values())):
        yield Problem(ENVIRONMENT, reason)


def _needs_of(algorithms: Sequence[Mapping[str, Any]]) -> list[_Needs]:
    return [_Needs(one["name"], one["actions"], one["observations"], one["schema"]) for one in algorithms]


def _of_playing(options: PlayExtras, found: Found, descriptors: Sequence[ActorDescriptor]) -> Iterator[Problem]:
    if found.problem:
        yield Problem(ENVIRONMENT, found.problem)
    known = {one.id: one for one in descriptors}
    if not known:
        return
    for seat, word in options.actors.items():
        name, argument = actors.split(word)
        if name not in known:
            yield Problem(ACTOR, actors.no_such(name, list(known)))
            continue
        if not known[name].installed and known[name].extra:
            raise MissingExtra(f"the actor '{name}'", known[name].extra)
        reasons = [known[name].argument_problem(argument), *_misfits(known[name], word, seat, options, found)]
        yield from (Problem(ACTOR, reason) for reason in reasons if reason)


def _misfits(actor: ActorDescriptor, word: str, seat: str, options: PlayExtras, found: Found) -> Iterator[str]:
    """Why an actor cannot act on its seat, or on one of those that it has."""
    names = {actors.split(other)[0] for other in options.actors.values()}
    is_raw = options.observations != "pixels" and names.isdisjoint(SHOWING)
    for place in _places(seat, found):
        reason = actor.misfit(
            action=place["actions"], observation=place["observations"] if is_raw else "", family=found.family
        )
        if reason:
            yield f"'{word}' cannot act in {found.env_id}: {reason}"
            return


def _places(seat: str, found: Found) -> Sequence[Mapping[str, str]]:
    """What each of the seats that a word means asks of an actor."""
    if not found.seats:
        return [{"actions": found.actions, "observations": found.observations}]
    if seat == EVERY_SEAT:
        return found.seats
    number = int(seat) - 1 if seat.isdecimal() else -1
    return [place for at, place in enumerate(found.seats) if place["name"] == seat or at == number]
