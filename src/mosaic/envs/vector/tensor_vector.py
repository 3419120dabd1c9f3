"""The tensor backend: an environment as functions of tensors (`mosaic.envs.tensor`), any number of copies at once.

The same rules as Gymnasium's, step for step; resets and chance draw from a generator of its own. Its state is tensors,
so a snapshot is a copy and a restore is exact. An algorithm that lives on the same device takes `episodes` and
`draws` and advances them itself; all others see numpy arrays, as of every other backend.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from mosaic.envs.tensor.tensor_task import Episodes, TensorTask, advance, first_episodes
from mosaic.envs.vector.batch import Batch
from mosaic.envs.vector.slot_history import FORMAT
from mosaic.envs.vector.twin import Freezer, Twin
from mosaic.errors import CheckpointError, ConfigError, Problem

if TYPE_CHECKING:
    from gymnasium import Env

AnyArray = NDArray[Any]


class TensorVec:
    """`vector_environment.VecEnv` says what it promises."""

    backend = "tensor"

    def __init__(
        self,
        env_id: str,
        task: TensorTask,
        batch: Batch,
        num_envs: int,
        *,
        device: torch.device,
        twin: Twin | None = None,
        settings: Mapping[str, Any] | None = None,
        make: "Callable[[], Env[Any, Any]]",
    ) -> None:
        """`make` makes the usual form of the environment, which draws pictures and knows its metadata."""
        self.num_envs = num_envs
        self.single_observation_space = batch.space
        self.single_action_space = batch.action_space
        self.task = task
        self.device = device
        self._batch = batch
        self._env_id, self._settings, self._twin, self._make = env_id, settings or {}, twin, make
        self._usual: Any = None
        task.to(device)
        self._generator = torch.Generator(device)
        self.episodes: Episodes = first_episodes(task, self.draws(1)[0])
        """In the same memory all the time; `put` writes into it."""

    def draws(self, steps: int) -> torch.Tensor:
        """The random numbers of so many steps: (steps, environments, numbers)."""
        numbers = self.task.begin_draws + self.task.step_draws
        return torch.rand(steps, self.num_envs, numbers, generator=self._generator, device=self.device)

    def put(self, episodes: Episodes) -> None:
        """Go on from these."""
        for name, value in episodes.state.items():
            self.episodes.state[name].copy_(value)
        self.episodes.lengths.copy_(episodes.lengths)
        self.episodes.totals.copy_(episodes.totals)

    @property
    def current_obs(self) -> AnyArray:
        """The observations that the next actions answer to."""
        return self._seen(self.task.observe(self.episodes.state))

    def _seen(self, obs: torch.Tensor) -> AnyArray:
        return obs.cpu().numpy().reshape(self.num_envs, *(self.single_observation_space.shape or ()))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[AnyArray, dict[str, Any]]:
        """Begin an episode in every slot; one generator serves them all."""
        if options:
            raise ConfigError([Problem("options", "the tensor backend takes no reset options")])
        if seed is not None:
            self._generator.manual_seed(seed)
        self.put(first_episodes(self.task, self.draws(1)[0]))
        return self.current_obs, {}

    def seed_episodes(self, seeds: Sequence[Sequence[int]]) -> bool:
        """One generator serves all slots: no episode can have a seed of its own."""
        del seeds
        return False

    def step(
        self, actions: AnyArray
    ) -> tuple[AnyArray, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """One step in every slot; a slot whose episode ended is already in its next one."""
        moves = torch.as_tensor(np.asarray(self._batch.shifted(actions)), device=self.device)
        episodes, outcome = advance(self.task, self.episodes, moves, self.draws(1)[0])
        self.put(episodes)
        terminations, truncations = outcome.terminations.cpu().numpy(), outcome.truncations.cpu().numpy()
        over = terminations | truncations
        infos: dict[str, Any] = {}
        if over.any():
            infos = {
                "final_obs": self._seen(outcome.last_obs),
                "_final_obs": over,
                "final_info": [{} for _ in range(self.num_envs)],
                "episode_return": outcome.totals.cpu().numpy(),
                "episode_length": outcome.lengths.cpu().numpy().astype(np.int64),
            }
        rewards = outcome.rewards.cpu().numpy().astype(np.float64)
        return self.current_obs, rewards, terminations, truncations, infos

    def episode_so_far(self, slot: int) -> tuple[float, int]:
        """Return and length of a slot's running episode."""
        return float(self.episodes.totals[slot]), int(self.episodes.lengths[slot])

    def frozen(self, slot: int) -> NDArray[np.float64]:
        """What the family's twin puts into an environment that is drawn; one copy from the device."""
        state = self.episodes.state
        parts = [value[slot].reshape(-1).double() for value in state.values()]
        numbers = torch.cat(parts).cpu().numpy()
        row: dict[str, Any] = {}
        for (name, value), part in zip(state.items(), parts, strict=True):
            row[name], numbers = numbers[: len(part)].reshape(value.shape[1:])[()], numbers[len(part) :]
        return np.asarray(self.task.picture_state(row), np.float64)

    def freezer(self) -> Freezer | None:
        """The slots' states, of which the painter draws pictures."""
        return None if self._twin is None else _Rows(self._env_id, self, self._settings)

    def render_slot(self, slot: int) -> NDArray[np.uint8] | None:
        """The frame of one slot, drawn by the usual form of the environment."""
        twin, usual = self._twin, self._drawing
        if twin is None or usual.render_mode is None:
            return None
        twin.thaw(usual.unwrapped, self.frozen(slot))
        twin.follow(usual.unwrapped)
        return np.asarray(usual.render(), dtype=np.uint8)

    @property
    def _drawing(self) -> Any:
        if self._usual is None:
            self._usual = self._make()
            self._usual.reset(seed=0)
        return self._usual

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method, or read an attribute, of the usual form of the environment."""
        found = self._drawing.get_wrapper_attr(name)
        return (found(*args, **kwargs) if callable(found) else found,) * self.num_envs

    def normalisers(self) -> list[dict[str, Any]]:
        """None: this backend takes no wrappers."""
        return []

    def close(self) -> None:
        if self._usual is not None:
            self._usual.close()

    def snapshot(self) -> dict[str, Any]:
        """A copy of all that a step reads and writes."""
        episodes = self.episodes
        return {
            "format": FORMAT,
            "backend": self.backend,
            "num_envs": self.num_envs,
            "slots": [],
            "state": {name: value.cpu().numpy().copy() for name, value in episodes.state.items()},
            "lengths": episodes.lengths.cpu().numpy().copy(),
            "totals": episodes.totals.cpu().numpy().copy(),
            "generator": {"device": self.device.type, "state": self._generator.get_state().numpy().copy()},
        }

    def restore(self, snapshot: Mapping[str, Any]) -> bool:
        """Go on from a snapshot; exact, but for the random numbers where it was taken on another kind of device."""
        state = snapshot.get("state")
        if state is None or snapshot["num_envs"] != self.num_envs or state.keys() != self.episodes.state.keys():
            raise CheckpointError(
                f"the environment snapshot holds {snapshot.get('num_envs')} environments of the"
                f" {snapshot.get('backend')} backend, not {self.num_envs} of the tensor backend;"
                " resume with the settings that it was saved with"
            )
        self.put(
            Episodes(
                {name: torch.as_tensor(np.asarray(value)) for name, value in state.items()},
                torch.as_tensor(np.asarray(snapshot["lengths"])),
                torch.as_tensor(np.asarray(snapshot["totals"])),
            )
        )
        generator = snapshot["generator"]
        if generator["device"] != self.device.type:
            return False
        self._generator.set_state(torch.as_tensor(np.asarray(generator["state"])))
        return True


class _Rows(Freezer):
    """Takes the states out of the tensors."""

    def __init__(self, env_id: str, vec: TensorVec, settings: Mapping[str, Any]) -> None:
        super().__init__(env_id, (), None, settings=settings)
        self._vec = vec

    def freeze(self, slot: int) -> NDArray[np.float64]:
        """The state of one slot."""
        return self._vec.frozen(slot)
