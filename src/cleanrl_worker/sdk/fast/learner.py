"""What the fast learners share: their parts by the names that checkpoints have for them. Each keeps its own maths."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Protocol

import torch

from cleanrl_worker.sdk.fast import ppo_gradient
from cleanrl_worker.sdk.fast.networks.flat_parameters import FlatParameters


class Optimiser(Protocol):
    """Adam and its kin on one flat vector."""

    @property
    def flat(self) -> FlatParameters: ...

    def step(self, learning_rate: float, *, max_norm: float | None = None) -> None: ...
    def moments(self) -> dict[str, dict[str, torch.Tensor]]: ...
    def state(self) -> dict[str, Any]: ...
    def load(self, state: Mapping[str, Any]) -> None: ...


Part = FlatParameters | Optimiser


class PartsLearner:
    """Flat parameters and optimisers, each under its name in a checkpoint; some are named in a group."""

    def __init__(self, **parts: Part | Mapping[str, Any]) -> None:
        self._parts = parts
        groups = [part if isinstance(part, Mapping) else {"": part} for part in parts.values()]
        every: list[Part] = [part for group in groups for part in group.values()]
        self.flats = [part for part in every if isinstance(part, FlatParameters)]
        self.optimisers = [part for part in every if not isinstance(part, FlatParameters)]

    def state(self) -> dict[str, Any]:
        return {
            name: {key: _state(each) for key, each in part.items()} if isinstance(part, Mapping) else _state(part)
            for name, part in self._parts.items()
        }

    def load(self, state: dict[str, Any]) -> None:
        for name, part in self._parts.items():
            if isinstance(part, Mapping):
                for key, each in part.items():
                    _load(each, state[name][key])
            else:
                _load(part, state[name])


def _state(part: Part) -> Any:
    return part.values if isinstance(part, FlatParameters) else part.state()


def _load(part: Part, state: Any) -> None:
    if isinstance(part, FlatParameters):
        part.values[:] = state
    else:
        part.load(state)


class PpoSettings(Protocol):
    """What a fast path of PPO reads of the algorithm's Args."""

    @property
    def clip_vloss(self) -> bool: ...

    @property
    def max_grad_norm(self) -> float: ...


class PpoLearner(PartsLearner, ABC):
    """One vector of parameters, one Adam, and a `gradient` that writes into the vector."""

    def __init__(self, parameters: FlatParameters, adam: Optimiser, args: PpoSettings) -> None:
        super().__init__(parameters=parameters, adam=adam)
        self.parameters, self.adam, self.args = parameters, adam, args

    def value_gradient(self, outputs: Any, returns: Any, values: Any, coefficients: Any) -> tuple[Any, float]:
        """Of the value loss by the critic's outputs, and the loss."""
        return ppo_gradient.value(
            outputs,
            returns,
            values,
            clip_coef=coefficients.clip_coef,
            clip_vloss=self.args.clip_vloss,
            vf_coef=coefficients.vf_coef,
        )

    @abstractmethod
    def gradient(self, batch: Any, coefficients: Any) -> dict[str, float]:
        """Write the gradient of the loss into the flat vector."""

    def update(self, batch: Any, coefficients: Any) -> dict[str, float]:
        losses = self.gradient(batch, coefficients)
        self.adam.step(coefficients.learning_rate, max_norm=self.args.max_grad_norm)
        return losses
