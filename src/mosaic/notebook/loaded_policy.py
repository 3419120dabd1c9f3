"""A policy of a run, loaded into this process: it acts on observations as its environment gives them."""

from pathlib import Path
from typing import Any

import numpy as np

from cleanrl_worker.sdk import policy as policy_file
from cleanrl_worker.sdk.exported import write_export
from cleanrl_worker.sdk.policies.fitting_environment import make_fitting
from cleanrl_worker.sdk.policies.open_policy import open_policy
from mosaic import envs


class LoadedPolicy:
    """`policy.predict(observation)` for one observation or a batch; `policy.make_env()` gives observations that fit."""

    def __init__(self, file: policy_file.PolicyFile, actor: policy_file.Policy) -> None:
        self.file = file
        self.env_id, self.algo = file.env_id, file.algo
        self.observation_space, self.action_space = file.observation_space, file.action_space
        self._actor = actor
        self._generator = np.random.default_rng(0)

    def predict(self, observation: Any, *, deterministic: bool = True) -> Any:
        """An action, or one for each row of a batch.

        A policy with memory goes on from the observation before; `forget` begins an episode.
        """
        seen = np.asarray(observation, self.observation_space.dtype)
        shape = self.observation_space.shape or ()
        is_one = seen.shape == shape
        if not is_one and seen.shape[1:] != shape:
            raise ValueError(
                f"{self.algo} was trained on observations of shape {shape}; got {seen.shape}."
                " policy.make_env() makes environments that fit"
            )
        actions = self._actor.act(seen[None] if is_one else seen, self._generator, deterministic=deterministic)
        return actions[0] if is_one else actions

    __call__ = predict

    def seed(self, seed: int) -> None:
        """Of the actions that are drawn without `deterministic`."""
        self._generator = np.random.default_rng(seed)

    def forget(self, ended: Any = (True,)) -> None:
        """The next observation, of each row that is True, is the first of an episode."""
        if isinstance(self._actor, policy_file.RecurrentPolicy):
            self._actor.forget(np.asarray(ended, bool))

    def make_env(self, num_envs: int = 1) -> envs.VecEnv:
        """A vector of environments as in the training: with its settings, and pictures as the policy sees them."""
        return make_fitting(self.file, num_envs)

    def to_onnx(self, path: str | Path) -> Path:
        """As ONNX, with normalisers and bounds, once it was seen to take the same actions (extra `onnx`)."""
        return self._exported(Path(path), ".onnx")

    def to_torch(self, path: str | Path) -> Path:
        """As a Python file that needs torch and numpy alone, and its weights beside it; checked likewise."""
        return self._exported(Path(path), ".py")

    def _exported(self, path: Path, suffix: str) -> Path:
        path = path if path.suffix == suffix else path.with_name(path.name + suffix)
        return write_export.written(self.file, self._actor, path).files[0]

    def __repr__(self) -> str:
        return f"<policy of {self.algo} for {self.env_id}, after {self.file.global_step:,} steps>"


def load(path: Path) -> LoadedPolicy:
    return LoadedPolicy(*open_policy(path))
