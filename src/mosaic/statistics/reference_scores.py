"""Score normalisation: 0 is what a random policy returns in an environment, 1 a reference, both from one table.

`reference_scores.json` says for each environment where both numbers come from (tools/reference_scores.py makes it).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from mosaic.statistics.intervals import Column

FILE = "reference_scores.json"


@dataclass(frozen=True)
class Reference:
    random: float
    """Return of a random policy."""
    reference: float
    """Return that counts as 1."""
    random_from: str = "given by hand"
    reference_from: str = "given by hand"

    def __post_init__(self) -> None:
        if self.random == self.reference:
            raise ValueError("the random and the reference return are the same")

    def normalised(self, returns: Column) -> Column:
        return (returns - self.random) / (self.reference - self.random)


@cache
def reference_scores() -> Mapping[str, Reference]:
    """By environment."""
    text = resources.files("mosaic.statistics").joinpath(FILE).read_text()
    return {env_id: Reference(**found) for env_id, found in json.loads(text).items()}
