"""What a viewer is told of an agent and its observation fits into the picture's head, whatever there is to tell."""

import json
from typing import Any

import numpy as np
import pytest

from cleanrl_worker.sdk.live.explained_slot import ExplainedSlot
from mosaic import envs
from mosaic.fastlane.ring_layout import ABOUT_BYTES


@pytest.mark.parametrize("actions", [2, 300, 5000])
def test_with_thousands_of_actions_the_rest_is_told(actions: int) -> None:
    vector = envs.make_vec("CartPole-v1", 1)
    vector.reset(seed=1)

    def explain(row: np.ndarray[Any, Any]) -> dict[str, Any]:
        return {"probabilities": [0.1234] * actions, "value": float(row.shape[1])}

    complaints: list[str] = []
    slot = ExplainedSlot(vector, "CartPole-v1", complaints.append)
    slot.explain = explain
    text = slot.text(0)
    vector.close()
    assert len(text.encode()) < ABOUT_BYTES
    told = json.loads(text)
    assert (told["env"], told["t"], told["last"]["value"]) == (0, 0, 4.0)
    assert len(told["last"].get("probabilities", ())) == (actions if actions < 1000 else 0)
    assert (told["observation"] is None) == (actions >= 1000)
    assert not complaints
