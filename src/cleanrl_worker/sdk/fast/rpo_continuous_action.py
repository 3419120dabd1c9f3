"""The fast path of rpo_continuous_action.py on a CPU: PPO's, on means that each row of a batch shifts."""

from typing import Any

import numpy as np

from cleanrl_worker.sdk.fast import ppo_continuous_action


class FastLearner(ppo_continuous_action.FastLearner):
    """The methods of rpo_continuous_action.py's `Learner`."""

    def means(self, batch: Any) -> np.ndarray[Any, Any]:
        return super().means(batch) + batch.shifts
