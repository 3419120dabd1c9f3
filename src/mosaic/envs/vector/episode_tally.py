"""Return and length of the running episodes, for the backends that step all slots at once."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mosaic.envs.vector.batch import Batch, Ended


class Tally:
    def __init__(self, num_envs: int) -> None:
        self.totals = np.zeros(num_envs, dtype=np.float64)
        self.lengths = np.zeros(num_envs, dtype=np.int64)

    def clear(self) -> None:
        self.totals[:] = 0.0
        self.lengths[:] = 0

    def add(self, rewards: NDArray[Any]) -> None:
        self.totals += rewards
        self.lengths += 1

    def end(self, batch: Batch, rows: Sequence[Any], ended: Ended) -> dict[str, Any]:
        """The infos for these ended episodes; their tally begins anew."""
        infos = batch.final_infos(rows, ended, self.totals, self.lengths)
        slots = list(ended)
        self.totals[slots] = 0.0
        self.lengths[slots] = 0
        return infos
