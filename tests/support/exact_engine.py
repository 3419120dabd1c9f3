"""`python -m exact_engine --engine exact`: a daemon whose engine has the members of the Protocol and no others."""

import inspect
import typing

from mosaic.trainer import engines, program
from mosaic.trainer.engines.engine import Engine
from mosaic.trainer.engines.local_engine import LocalEngine

MEMBERS = sorted(name for name in vars(Engine) if not name.startswith("_"))


class ExactEngine:
    """Hands what the Protocol names on to a local engine."""

    __slots__ = ("_real",)

    def __init__(self, _surroundings=None) -> None:
        self._real = LocalEngine()


def _add(name: str) -> None:
    if isinstance(vars(Engine)[name], property):
        setattr(ExactEngine, name, property(lambda self: getattr(self._real, name)))
        return
    signature = inspect.signature(vars(Engine)[name])

    def method(self, *words, **named):
        signature.bind(self, *words, **named)
        return getattr(self._real, name)(*words, **named)

    setattr(ExactEngine, name, method)


for member in MEMBERS:
    _add(member)

if __name__ == "__main__":
    typing.cast(dict, engines.ENGINES)["exact"] = ExactEngine
    raise SystemExit(program.main())
