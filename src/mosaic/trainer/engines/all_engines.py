"""The engines of one daemon: each is made when its first run asks for it, and answers for its own runs only."""

import threading
from collections.abc import Callable, Mapping

from mosaic.trainer.engines.engine import Engine, Surroundings, Workshop


class AllEngines:
    """Gives the engine of a name."""

    def __init__(
        self,
        workshop: Workshop,
        makers: Mapping[str, Callable[[Surroundings], Engine]],
        surroundings: Surroundings,
        *,
        default: str,
    ) -> None:
        self.workshop = workshop
        """The engine of this machine, `local`."""
        self.default = default
        """Of runs that name none."""
        self._makers = makers
        self._surroundings = surroundings
        self._made: dict[str, Engine] = {"local": workshop}
        self._lock = threading.Lock()

    @property
    def names(self) -> list[str]:
        return list(self._makers)

    def of(self, name: str) -> Engine:
        """An empty name is that of the default."""
        name = name or self.default
        with self._lock:
            if name not in self._made:
                self._made[name] = self._makers[name](self._surroundings)
            return self._made[name]

    def close(self) -> None:
        for engine in self._made.values():
            engine.close()
