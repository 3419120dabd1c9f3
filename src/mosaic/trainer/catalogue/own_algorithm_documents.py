"""What algorithms of users say of themselves, for the catalogue."""

from mosaic.errors import ConfigError, Problem
from mosaic.scripts import own_algorithms
from mosaic.scripts.allowed_folders import Allowed
from mosaic.scripts.own_algorithms import OwnAlgorithm
from mosaic.spec.catalogue.shipped_catalogue import Document
from mosaic.spec.run_dir import Home
from mosaic.trainer.catalogue.own_descriptions import OwnDescriptions, Warm


class OwnAlgorithmDocuments:
    """Of one home."""

    def __init__(self, home: Home, *, warm_output_of: Warm) -> None:
        self._allowed = Allowed(home)
        self._described = OwnDescriptions(
            home, warm_output_of=warm_output_of, cache="own-algorithms.json", flag="--algo"
        )

    def document(self) -> Document:
        """What is known without waiting, of those that can be trained with, with the place of each."""
        entries = [
            found["algorithm"] | {"place": one.place}
            for one in own_algorithms.known(self._allowed)
            if not one.problem and (found := self._described.known_of(one)) and not found["problem"]
        ]
        return {"algorithms": entries}

    def refresh(self) -> None:
        """Describe what is new or has changed; this waits for a worker."""
        for one in own_algorithms.known(self._allowed):
            if not one.problem:
                self._described.of(one)

    def broken(self) -> list[tuple[OwnAlgorithm, str]]:
        """Those that cannot be trained with, and why."""
        known = own_algorithms.known(self._allowed)
        found = ((one, one.problem or self._described.of(one)["problem"]) for one in known)
        return [(one, problem) for one, problem in found if problem]

    def schema_of(self, name: str) -> Document | None:
        """None if no algorithm of a user's has this name; ConfigError with what is wrong with the one that has it."""
        one = None if name in own_algorithms.built_in() else own_algorithms.find(name, self._allowed)
        if one is None:
            return None
        if one.problem:
            raise one.error
        found = self._described.of(one)
        if found["problem"]:
            raise ConfigError([Problem(one.name, found["problem"])], what=one.place)
        return found["algorithm"]["schema"]
