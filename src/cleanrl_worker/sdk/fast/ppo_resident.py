"""The fast path of ppo_resident.py on a CPU: that of ppo.py, on the memory of its tensors."""

from typing import Any

import numpy as np
import torch

from cleanrl_worker.sdk.fast import ppo, ppo_gradient

ROWS = 2048
"""Of a minibatch at once: what lies between two layers then stays in a core's cache."""


class FastLearner(ppo.FastLearner):
    """The methods of ppo_resident.py's `Learner`."""

    def act(self, obs: torch.Tensor, noise: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:  # type: ignore[override]
        logits = self.actor.infer(obs.numpy())
        actions = ppo_gradient.sample_categorical(logits, noise.numpy())
        return torch.from_numpy(actions), torch.from_numpy(ppo_gradient.categorical_log_prob(logits, actions))

    def values(self, obs: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return torch.from_numpy(np.concatenate([super(FastLearner, self).values(part) for part in _pieces(obs)]))

    def update(self, batch: Any, coefficients: Any) -> dict[str, Any]:
        numbers = type(coefficients)(*(float(value) for value in coefficients))
        losses = super().update(type(batch)(*(field.numpy() for field in batch)), numbers)
        return {name: torch.tensor(value) for name, value in losses.items()}

    def gradient(self, batch: Any, coefficients: Any) -> dict[str, float]:
        """Piece by piece: a mean over the rows is the mean of the pieces' means, weighted by their rows."""
        rows = len(batch.obs)
        if rows <= ROWS:
            return super().gradient(batch, coefficients)
        whole = np.zeros_like(self.parameters.gradient)
        losses: dict[str, float] = {}
        for start in range(0, rows, ROWS):
            piece = type(batch)(*(field[start : start + ROWS] for field in batch))
            share = len(piece.obs) / rows
            for name, value in super().gradient(piece, coefficients).items():
                losses[name] = losses.get(name, 0.0) + share * value
            whole += np.float32(share) * self.parameters.gradient
        self.parameters.gradient[:] = whole
        return losses


def _pieces(rows: torch.Tensor) -> list[Any]:
    array = rows.numpy()
    return [array[start : start + ROWS] for start in range(0, len(array), ROWS)]
