"""The table of actors. A new one is a file with `DESCRIPTOR` and `make(argument, context)`, and a line here.

Another package adds more through the entry point group `mosaic.actors`: each names such a module, and is loaded as ours
are.
"""

from importlib.metadata import EntryPoint
from typing import Any

from mosaic.errors import ActorFailed, IncompatibleSpaces, MissingExtra, MosaicError
from mosaic.play.actor import Actor, Context
from mosaic.spec.actors import ActorDescriptor, no_such, split
from mosaic.spec.catalogue.importable_packages import entry_points

ACTORS = {
    "human": "mosaic.play.actors.human",
    "random": "mosaic.play.actors.uniform",
    "policy": "mosaic.play.actors.policy",
    "scripted": "mosaic.play.actors.scripted",
    "bdi": "mosaic.play.actors.bdi",
    "bdi_q": "mosaic.play.actors.bdi_q",
    "bdi_spade": "mosaic.play.actors.bdi_spade",
    "llm": "mosaic.play.actors.llm",
    "replay": "mosaic.play.actors.replayed",
}
"""Each id and its module; the first is the default."""
ENTRY_POINTS = "mosaic.actors"


def descriptors() -> list[ActorDescriptor]:
    """All that there are; a plugin that cannot be imported is one that cannot be chosen, with its reason."""
    found: list[ActorDescriptor] = []
    for name in names():
        try:
            found.append(module_of(name).DESCRIPTOR)
        except ActorFailed as error:
            found.append(ActorDescriptor(id=name, label=name, description=str(error), installed=False))
    return found


def names() -> list[str]:
    return list(entry_points(ENTRY_POINTS, ACTORS))


def module_of(name: str) -> Any:
    """The module of an actor, or ActorFailed with what there is."""
    points = entry_points(ENTRY_POINTS, ACTORS)
    if name not in points:
        raise ActorFailed(no_such(name, list(points)))
    return _loaded(points[name])


def make(word: str, context: Context) -> Actor:
    """The actor that a config names; the error says why it cannot act here."""
    name, argument = split(word)
    module = module_of(name)
    descriptor: ActorDescriptor = module.DESCRIPTOR
    if not descriptor.installed:
        raise MissingExtra(f"the actor '{name}'", descriptor.extra)
    if reason := descriptor.misfit(**context.arena.kinds):
        raise IncompatibleSpaces(f"'{word}' cannot act in {context.arena.env_id}: {reason}")
    if problem := descriptor.argument_problem(argument):
        raise ActorFailed(problem)
    try:
        return module.make(argument, context)
    except MosaicError:
        raise
    except Exception as error:  # A border: a user's file or a plugin may raise anything.
        raise ActorFailed(f"'{word}' could not be made: {error!r}") from error


def _loaded(point: EntryPoint) -> Any:
    try:
        module: Any = point.load()
        descriptor: Any = module.DESCRIPTOR
    except Exception as error:  # A border: the import of a plugin may raise anything.
        raise ActorFailed(f"the actor '{point.name}' ({point.value}) cannot be used: {error!r}") from error
    if not isinstance(descriptor, ActorDescriptor) or descriptor.id != point.name or not callable(module.make):
        raise ActorFailed(f"the actor '{point.name}' ({point.value}) has no DESCRIPTOR of that id and no make()")
    return module
