"""Policies of Stable-Baselines3: zips whose parts are pickled, so opening one runs what its maker put in it.

They are opened only with `--trust`. Statistics of VecNormalize are not in the zip: a file of them that lies beside it
is named, not guessed at.
"""

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from cleanrl_worker.sdk.policy import Policy, PolicyFile
from mosaic.errors import MissingExtra, PolicyError

Array = np.ndarray[Any, Any]

CLASSES = {
    "stable_baselines3.common.policies": "PPO",
    "stable_baselines3.dqn.policies": "DQN",
    "stable_baselines3.sac.policies": "SAC",
    "stable_baselines3.td3.policies": "TD3",
}
"""Module of the policy class in the zip, and the model that it belongs to, or one of two (see `_of_data`)."""
KINDS = (*CLASSES.values(), "A2C", "DDPG")
STATISTICS = ("vecnormalize.pkl", "vec_normalize.pkl")


class Sb3Policy:
    """Acts through the library itself, whose sampling draws from torch's own generator."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def act(self, observations: Array, generator: np.random.Generator, *, deterministic: bool) -> Array:
        torch.manual_seed(int(generator.integers(2**31)))
        return self.model.predict(observations, deterministic=deterministic)[0]


def load(path: Path, *, env_id: str, trust: bool) -> tuple[PolicyFile, Policy]:
    if not trust:
        raise PolicyError(
            f"{path} is a Stable-Baselines3 zip; opening it runs the pickled code in it:"
            " add --trust if you trust who made it"
        )
    for name in STATISTICS:
        if (path.parent / name).exists():
            raise PolicyError(
                f"{path} was trained on normalised observations ({name} lies beside it), which cannot be applied here;"
                " evaluate it with Stable-Baselines3, or move that file away if it is not this policy's"
            )
    try:
        import stable_baselines3
    except ImportError as error:
        raise MissingExtra("a Stable-Baselines3 zip", "sb3") from error
    kind = _kind_of(path)
    try:
        model: Any = getattr(stable_baselines3, kind).load(path, device="cpu")
    except Exception as error:  # A border: the library, and what it unpickles, may raise anything.
        raise PolicyError(f"{path} cannot be loaded by Stable-Baselines3's {kind}: {error}") from error
    file = PolicyFile(
        algo=f"sb3_{kind.lower()}",
        env_id=env_id,
        args={},
        observation_space=model.observation_space,
        action_space=model.action_space,
        global_step=int(model.num_timesteps),
        arrays={},
    )
    return file, Sb3Policy(model)


def _kind_of(path: Path) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            data: Any = json.loads(archive.read("data"))
        module = str(data["policy_class"]["__module__"])
    except (KeyError, TypeError, ValueError, zipfile.BadZipFile, OSError) as error:
        raise PolicyError(f"{path} is a damaged Stable-Baselines3 zip: {error!r}") from error
    if module not in CLASSES:
        raise PolicyError(f"{path} has a policy of '{module}'; there are only {', '.join(KINDS)}")
    return _of_data(CLASSES[module], data)


def _of_data(kind: str, data: dict[str, Any]) -> str:
    """The zip does not name its algorithm: A2C's policies are PPO's and DDPG's are TD3's, but their settings differ."""
    if kind == "PPO" and "clip_range" not in data:
        return "A2C"
    # What Stable-Baselines3 itself calls DDPG: TD3 that updates its actor each time and does not smooth its target.
    if kind == "TD3" and data.get("policy_delay") == 1 and data.get("target_noise_clip") == 0:
        return "DDPG"
    return kind
