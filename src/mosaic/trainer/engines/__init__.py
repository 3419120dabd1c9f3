"""The table of engines, the ways to start a worker. A run names one (`mosaic train … --engine NAME`), or has the
daemon's: `--engine` of the daemon, or `MOSAIC_ENGINE`.

A new one is a file with a class that has the methods of `engine.Engine`, and a line here. One whose workers run on
other machines can be an `AgentEngine` with nodes of its own.
"""

from collections.abc import Callable, Mapping

from mosaic.errors import UnknownName
from mosaic.near_names import near_names
from mosaic.trainer.engines import ssh_engine
from mosaic.trainer.engines.engine import Engine, Surroundings
from mosaic.trainer.engines.local_engine import LocalEngine

ENGINES: Mapping[str, Callable[[Surroundings], Engine]] = {
    "local": LocalEngine,
    "ssh": ssh_engine.make,
}
"""Each name and what makes the engine; the first is the default."""
DEFAULT = next(iter(ENGINES))


class UnknownEngine(UnknownName):
    kind = "engine"


def engine_named(name: str) -> Callable[[Surroundings], Engine]:
    """What makes the engine of this name; UnknownEngine says which there are."""
    if name not in ENGINES:
        raise UnknownEngine(name, near_names(name, ENGINES), hint=f"'--engine' takes {', '.join(ENGINES)}")
    return ENGINES[name]
