"""Our own vector environment: bare environment objects in one tight loop, equal bit for bit to Gymnasium's.

Equal to `SyncVectorEnv(..., autoreset_mode=AutoresetMode.SAME_STEP)` over fully wrapped environments. What the wrappers
do is done here: the time limit by comparing two integers, the episode's return and length in two lists.
Every array that `step` and `reset` return is new; the caller may keep it.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np

from mosaic.envs.family import Family
from mosaic.envs.vector.batch import Batch
from mosaic.envs.vector.slot_history import FORMAT, LONGEST, Beginning, slots_of
from mosaic.envs.vector.twin import Freezer
from mosaic.envs.wrapping import kept_state
from mosaic.spec import wrappers

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NEVER = 1 << 62
_TRIM_ABOVE = 4096


class BareVec:
    """Steps its environments one after the other; `vector_environment.VecEnv` says what it promises."""

    backend = "bare"

    def __init__(
        self,
        env_id: str,
        envs: "Sequence[gymnasium.Env[Any, Any]]",
        family: Family,
        batch: Batch,
        time_limit: int | None,
        *,
        settings: "Mapping[str, Any] | None" = None,
    ) -> None:
        self.envs = list(envs)
        self.num_envs = len(self.envs)
        self.single_observation_space = batch.space
        self.single_action_space = batch.action_space
        self._batch = batch
        # A twin is set to the state of the simulator and drawn: what is around ours does not matter to it.
        self._env_id, self._settings, self._twin = env_id, wrappers.without(settings or {}), family.twin
        self._replays_exactly = family.replays_exactly(env_id)
        self._time_limit = time_limit or _NEVER
        self._begins = [Beginning(env, family) for env in self.envs]
        quick = [None if isinstance(env, gymnasium.Wrapper) else family.quick_step(env) for env in self.envs]
        self._slots = range(self.num_envs)
        self._steps = [fast or env.step for fast, env in zip(quick, self.envs, strict=True)]
        self._log: list[Any] = []
        self._tick = 0
        self._deadlines = [_NEVER] * self.num_envs
        self._next_deadline = _NEVER
        self._totals = [0.0] * self.num_envs
        self._rows: list[Any] = [None] * self.num_envs

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode in every slot; slot i is seeded with seed + i."""
        self._log = []
        self._tick = 0
        for slot, begin in enumerate(self._begins):
            obs, _ = begin.reset(0, None if seed is None else seed + slot, options)
            self._rows[slot] = self._batch.row(obs)
        self._totals = [0.0] * self.num_envs
        self._set_deadlines([self._time_limit] * self.num_envs)
        return self.current_obs, {}

    def seed_episodes(self, seeds: Sequence[Sequence[int]]) -> bool:
        """The seeds of each slot's coming episodes, from the next reset on."""
        for begin, of_slot in zip(self._begins, seeds, strict=True):
            begin.plan(of_slot)
        return True

    @property
    def current_obs(self) -> Any:
        """The observations that the next actions answer to."""
        return self._batch.gather(self._rows)

    def step(
        self, actions: "NDArray[Any]"
    ) -> "tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]":
        """One step in every slot; a slot whose episode ended is already in its next one."""
        moves = self._batch.moves(actions)
        self._log.append(moves)
        self._tick = tick = self._tick + 1
        due = tick >= self._next_deadline
        encode = self._batch.encode
        totals, deadlines = self._totals, self._deadlines
        rows: list[Any] = []
        rewards: list[Any] = []
        # By place, here and below: numpy takes a keyword more slowly.
        terminations = np.zeros(self.num_envs, np.bool_)
        truncations = np.zeros(self.num_envs, np.bool_)
        ended: dict[int, tuple[Any, dict[str, Any]]] = {}
        for slot, step, move in zip(self._slots, self._steps, moves, strict=True):
            obs, reward, terminated, truncated, info = step(move)
            if due and tick >= deadlines[slot]:
                truncated = True
            if encode is not None:
                obs = encode(obs)
            if terminated or truncated:
                terminations[slot], truncations[slot] = terminated, truncated
                ended[slot] = (self._batch.keep(obs), self._begins[slot].told(info))
                obs = self._batch.row(self._begins[slot].reset(len(self._log))[0])
            rows.append(obs)
            rewards.append(reward)
            totals[slot] += float(reward)  # a float32 reward would make the sum float32
        self._rows = rows
        infos = self._end(ended, rows) if ended else {}
        if len(self._log) > LONGEST:
            self._forget()
        return self._batch.gather(rows), np.array(rewards, np.float64), terminations, truncations, infos

    def _end(self, ended: dict[int, tuple[Any, dict[str, Any]]], rows: list[Any]) -> dict[str, Any]:
        lengths = [self._length(slot) for slot in range(self.num_envs)]
        infos = self._batch.final_infos(rows, ended, self._totals, lengths)
        for slot in ended:
            self._totals[slot] = 0.0
            self._deadlines[slot] = self._tick + self._time_limit
        self._next_deadline = min(self._deadlines)
        if len(self._log) > _TRIM_ABOVE:
            self._trim()
        return infos

    def _length(self, slot: int) -> int:
        return self._tick - (self._deadlines[slot] - self._time_limit)

    def _set_deadlines(self, deadlines: list[int]) -> None:
        self._deadlines = deadlines
        self._next_deadline = min(deadlines)

    def _trim(self) -> None:
        starts = [begin.start for begin in self._begins if begin.start is not None]
        unused = min(starts, default=len(self._log))
        if unused:
            del self._log[:unused]
            for begin in self._begins:
                if begin.start is not None:
                    begin.start -= unused

    def _forget(self) -> None:
        self._log = []
        for begin in self._begins:
            begin.start = None

    def episode_so_far(self, slot: int) -> tuple[float, int]:
        """Return and length of a slot's running episode."""
        return float(self._totals[slot]), self._length(slot)

    def render_slot(self, slot: int) -> "NDArray[np.uint8] | None":
        """The frame of one slot, or None where nothing is rendered."""
        env = self.envs[slot]
        if env.render_mode is None:
            return None
        if self._twin is not None and self._twin.fits(env.unwrapped):
            self._twin.follow(env.unwrapped)
        return np.asarray(env.render(), dtype=np.uint8)

    def freezer(self) -> Freezer | None:
        """The slots' states, where pictures can be drawn of them elsewhere."""
        twin = self._twin
        if twin is None or not all(twin.fits(env.unwrapped) for env in self.envs):
            return None
        return Freezer(self._env_id, self.envs, twin, settings=self._settings)

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method, or read an attribute, of every slot's environment."""
        found = [env.get_wrapper_attr(name) for env in self.envs]
        return tuple(each(*args, **kwargs) if callable(each) else each for each in found)

    def normalisers(self) -> list[dict[str, Any]]:
        """The moments of wrappers that normalise observations, the innermost first, as the first slot has them."""
        return kept_state.normalisers(self.envs[0])

    def close(self) -> None:
        for env in self.envs:
            env.close()

    def snapshot(self) -> dict[str, Any]:
        """How to get every slot to where it is now; see `mosaic.envs.vector.slot_history` for the format."""
        slots: list[dict[str, Any]] = []
        for slot, begin in enumerate(self._begins):
            since = [] if begin.start is None else self._log[begin.start :]
            saved = begin.snapshot(self._batch.recorded(since, slot), self._batch.keep(self._rows[slot]))
            slots.append(saved | {"length": self._length(slot), "total": self._totals[slot]})
        return {"format": FORMAT, "backend": self.backend, "num_envs": self.num_envs, "slots": slots}

    def restore(self, snapshot: Mapping[str, Any]) -> bool:
        """Replay every slot's episode; True if each ended in the very observation that was saved.

        A slot that did not is in a fresh episode; `current_obs` holds what the next action answers to.
        """
        self._log = []
        self._tick = 0
        deadlines: list[int] = []
        all_exact = self._replays_exactly
        for slot, saved in enumerate(slots_of(snapshot, self.num_envs)):
            row, exact = self._begins[slot].restore(saved, self._steps[slot], self._batch)
            all_exact = all_exact and exact
            self._rows[slot] = row
            self._totals[slot] = saved["total"] if exact else 0.0
            deadlines.append(self._time_limit - (saved["length"] if exact else 0))
        self._set_deadlines(deadlines)
        return all_exact
