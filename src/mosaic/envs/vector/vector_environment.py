"""Many environments as one: the backends, the rule that chooses between them, and what all of them promise."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from mosaic.envs.families import find_spec
from mosaic.envs.family import Family
from mosaic.envs.single_environment import Wrap, bare_spec, find_with_settings, make_from
from mosaic.envs.wrapping import chosen_wrappers
from mosaic.errors import ConfigError, EnvironmentFailed, IncompatibleSpaces, Problem
from mosaic.operating_system import available_cores
from mosaic.spec.wrappers import FLAG, SETTING

if TYPE_CHECKING:
    import numpy as np
    from gymnasium import Env, Space
    from gymnasium.envs.registration import EnvSpec
    from numpy.typing import NDArray

    from mosaic.envs.observations.pixels import Pixels
    from mosaic.envs.vector.batch import Batch
    from mosaic.envs.vector.twin import Freezer

Backend = Literal["auto", "bare", "sync", "async", "native", "envpool", "tensor"]
Observations = Literal["vector", "parts", "raw", "pixels"]
Masks = Literal["never", "if given", "always"]

ASYNC_FROM_ENVS = 4
ASYNC_FROM_CORES = 4


class VecEnv(Protocol):
    """What every backend offers. `step` follows the SAME_STEP convention that `mosaic.envs.vector.batch` specifies."""

    backend: str
    num_envs: int
    single_observation_space: "Space[Any]"
    single_action_space: "Space[Any]"

    @property
    def current_obs(self) -> Any: ...
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]: ...
    def seed_episodes(self, seeds: Sequence[Sequence[int]]) -> bool:
        """Seed each slot's coming episodes, from the next reset on; False where slots cannot be seeded one by one."""
        ...

    def step(
        self, actions: "NDArray[Any]"
    ) -> "tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]": ...
    def episode_so_far(self, slot: int) -> tuple[float, int]: ...
    def render_slot(self, slot: int) -> "NDArray[np.uint8] | None": ...
    def freezer(self) -> "Freezer | None": ...
    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]: ...
    def normalisers(self) -> list[dict[str, Any]]:
        """The moments of wrappers that normalise observations, the innermost first, as the first slot has them."""
        ...

    def snapshot(self) -> dict[str, Any]: ...
    def restore(self, snapshot: Mapping[str, Any]) -> bool: ...
    def close(self) -> None: ...


class Choice(NamedTuple):
    """A backend and, in one line, why it."""

    backend: str
    reason: str


def choose_backend(
    env_id: str,
    num_envs: int,
    *,
    backend: Backend = "auto",
    cores: int | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Choice:
    """The backend that `make_vec` uses: the one asked for, or by this rule, which never looks at a clock.

    async, if a step of this environment is costly (the family says so) and there are at least 4 environments and 4
    cores; otherwise bare. Both give the same numbers, bit for bit, so the choice never changes a learning curve.
    native, envpool and tensor step aside for bare where they do not know one of the settings.
    """
    family, spec = find_spec(env_id)
    if backend in _CAVEATS and (lacking := _lacking(backend, family, spec, settings or {})):
        words = ", ".join(FLAG if name == SETTING else name for name in lacking)
        return Choice("bare", f"{backend} was asked for, and does not know the setting {words}")
    if backend in _CAVEATS:
        return Choice(backend, f"asked for; {_CAVEATS[backend]}")
    if backend != "auto":
        return Choice(backend, "asked for; equal to the others bit for bit")
    if spec.entry_point is None:
        return Choice("native", f"{spec.id} exists only as a vector environment")
    cores = available_cores() if cores is None else cores
    costly = bool(family.costly) and spec.id.startswith(family.costly)
    if costly and num_envs >= ASYNC_FROM_ENVS and cores >= ASYNC_FROM_CORES:
        return Choice("async", f"steps are costly, and {num_envs} environments can share {cores} cores")
    why = f"{num_envs} environments on {cores} cores do not pay for processes" if costly else "steps are cheap"
    return Choice("bare", f"{why}: one process without wrappers is the fastest")


_CAVEATS = {
    "native": "one generator for all slots: other random numbers than bare, and resuming begins fresh episodes",
    "envpool": "its own C++ physics and random numbers: not comparable bit for bit, and resuming begins fresh episodes",
    "tensor": "the same rules, as functions of tensors: other random numbers than bare, and resuming is exact",
}


def _lacking(backend: str, family: Family, spec: "EnvSpec", settings: Mapping[str, Any]) -> list[str]:
    """Settings that one of the backends with physics of their own knows nothing of."""
    if not settings:
        return []
    if backend == "envpool":
        # A range, as Atari's frame skip may be, is known to no pool.
        return [name for name, value in settings.items() if name not in family.pool_settings or isinstance(value, list)]
    if backend == "tensor":
        from mosaic.envs.tensor import tensor_tasks

        return tensor_tasks.unknown_settings(spec.id, settings) if tensor_tasks.is_known(spec.id) else []
    from mosaic.envs.vector.native_vector import settings_of

    known = settings_of(spec)
    return [name for name in settings if name not in known]


def make_vec(
    env_id: str,
    num_envs: int,
    *,
    backend: Backend = "auto",
    render_mode: str | None = None,
    observations: Observations = "vector",
    masks: Masks = "never",
    settings: Mapping[str, Any] | None = None,
    wrappers: Sequence[Wrap] = (),
    device: str = "cpu",
    **kwargs: Any,
) -> VecEnv:
    """`num_envs` environments behind one `step`.

    `observations="vector"` applies the observation rule (`describe_observation_rule`), "parts" the one that keeps the
    shapes of pictures (`PartedRows`), "pixels" the family's rule for stacks of pictures
    (`mosaic.envs.observations.pixels`), "raw" leaves observations alone.
    With `masks` each row of a vector or of parts ends with the action mask: if the environment gives masks, or always
    (an environment that then gives none is refused at its first reset). The native, envpool and tensor backends give
    none. `device` is where the tensor backend keeps its environments.
    `settings` are those of a run config (`mosaic.envs.settings`).
    `wrappers` are put around each environment (not with native, envpool and tensor). A Discrete action space that does
    not start at 0 is presented as one that does.
    """
    if num_envs < 1:
        raise ConfigError([Problem("num_envs", f"must be at least 1, not {num_envs}")])
    family, spec = find_with_settings(env_id, settings)
    named = chosen_wrappers.chosen(settings)
    chosen = choose_backend(env_id, num_envs, backend=backend, settings=settings).backend
    if observations == "pixels":
        rule = family.pixels(spec, settings or {})
        if chosen in _CAVEATS:
            kwargs |= _whole_pixels(chosen, spec, rule)
        else:
            wrappers, kwargs = (*wrappers, rule.wrap), {**kwargs, **rule.kwargs}
    # Around pictures, whose wrappers may step the simulator themselves.
    wrappers = (*wrappers, *named)
    if chosen == "envpool":
        given = {family.pool_settings[name]: value for name, value in (settings or {}).items() if value is not None}
        kwargs = {**kwargs, **given}
    if chosen in _CAVEATS:
        if wrappers:
            raise ConfigError([Problem("backend", f"{chosen} cannot apply wrappers; use bare, sync or async")])
        if chosen == "tensor":
            return _make_tensor(family, spec, num_envs, observations, render_mode, settings or {}, device)
        return _make_whole(chosen, family, spec, num_envs, observations, render_mode, kwargs)
    plan = _Plan(family, spec, observations, render_mode, tuple(wrappers), kwargs, settings or {})
    if masks == "always" or (masks == "if given" and plan.gives_masks()):
        from mosaic.envs.observations.action_masks import WithMask

        plan = plan._replace(wrappers=(*wrappers, WithMask), masked=True)
    return _make_bare(plan, num_envs) if chosen == "bare" else _make_wrapped(plan, num_envs, chosen)


class _Plan(NamedTuple):
    """How to make one slot."""

    family: Family
    spec: "EnvSpec"
    observations: Observations
    render_mode: str | None
    wrappers: tuple[Wrap, ...]
    kwargs: dict[str, Any]
    settings: Mapping[str, Any]
    """Those of the run, which the spec has already; for a process that makes twins of these environments."""
    masked: bool = False
    """The last of the wrappers shows the action mask with each observation."""

    def gives_masks(self) -> bool:
        """Whether these environments say which actions are allowed. Only where they may, one is made and asked."""
        if not (self.family.masks or self.wrappers or self.spec.additional_wrappers):
            return False
        from mosaic.envs.observations.action_masks import source_of

        with closing(make_from(self.family, self.spec, render_mode=None, wrappers=self.wrappers, **self.kwargs)) as env:
            return source_of(env) is not None

    def env(self, spec: "EnvSpec") -> "Env[Any, Any]":
        wrappers = self.wrappers
        if wrappers:
            from mosaic.envs.vector.slot_history import FirstTouch

            wrappers = (FirstTouch, *wrappers)
        env = make_from(self.family, spec, render_mode=self.render_mode, wrappers=wrappers, **self.kwargs)
        # Where pictures are what the algorithm sees, one is drawn at each step, with all that belongs to it.
        if self.render_mode is not None and self.observations != "pixels":
            self.family.keep_nothing_for_pictures(env)
        return env

    def batch(self, env: "Env[Any, Any]") -> "Batch":
        from mosaic.envs.vector.batch import Batch

        try:
            encoder = self.family.encoder_of(env.observation_space, self.observations, masked=self.masked)
        except (TypeError, NotImplementedError) as error:
            raise IncompatibleSpaces(f"observations of '{self.spec.id}' cannot be one vector: {error}") from error
        return Batch(env.observation_space, env.action_space, encoder)


def _make_bare(plan: _Plan, num_envs: int) -> VecEnv:
    from mosaic.envs.vector.bare_vector import BareVec

    # A wrapper may make several steps of one, so with wrappers the time limit stays where Gymnasium puts it: inside.
    inside = bool(plan.wrappers or plan.spec.additional_wrappers)
    spec = bare_spec(plan.spec, keep_time_limit=inside)
    envs = [plan.env(spec) for _ in range(num_envs)]
    limit = None if inside else plan.spec.max_episode_steps
    return BareVec(spec.id, envs, plan.family, plan.batch(envs[0]), limit, settings=plan.settings)


def _make_wrapped(plan: _Plan, num_envs: int, backend: str) -> VecEnv:
    from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

    from mosaic.envs.vector.wrapped_vector import WrappedVec

    def slot_maker(slot: int) -> Any:
        def make_slot() -> Any:
            from mosaic.envs.vector.recorded_slot import RecordedSlot

            plan.family.prepare()
            env = plan.env(plan.spec)
            return RecordedSlot(env, plan.family, plan.batch(env), slot)

        return make_slot

    slots = [slot_maker(slot) for slot in range(num_envs)]
    if backend == "sync":
        envs = SyncVectorEnv(slots, autoreset_mode=AutoresetMode.SAME_STEP)
    else:
        # Not fork: the learner has threads by now, and a forked child inherits their locks without the threads.
        envs = AsyncVectorEnv(slots, context="forkserver", autoreset_mode=AutoresetMode.SAME_STEP)
    example = plan.env(plan.spec)
    batch = plan.batch(example)
    example.close()
    return WrappedVec(envs, batch, backend, replays_exactly=plan.family.replays_exactly(plan.spec.id))


def _whole_pixels(backend: str, spec: "EnvSpec", rule: "Pixels") -> Mapping[str, Any]:
    if backend == "envpool" and rule.pool_name:
        return {**rule.pool_kwargs, "pool_name": rule.pool_name}
    message = f"{backend} gives no 84×84 pictures of '{spec.id}'; use bare, sync or async"
    raise ConfigError([Problem("backend", message)])


def _make_tensor(
    family: Family,
    spec: "EnvSpec",
    num_envs: int,
    observations: Observations,
    render_mode: str | None,
    settings: Mapping[str, Any],
    device: str,
) -> VecEnv:
    from mosaic.envs.tensor import tensor_tasks
    from mosaic.envs.vector.batch import Batch

    if not tensor_tasks.is_known(spec.id):
        known = ", ".join(tensor_tasks.ids())
        raise EnvironmentFailed(f"the tensor backend has no '{spec.id}'; it has {known}; use backend 'bare'")
    if observations not in ("vector", "parts"):
        raise ConfigError([Problem("backend", f"tensor shows vectors, not {observations}; use bare, sync or async")])
    import torch

    from mosaic.envs.vector.tensor_vector import TensorVec

    def usual() -> "Env[Any, Any]":
        return make_from(family, spec, render_mode=render_mode)

    with closing(make_from(family, spec, render_mode=None)) as example:
        spaces = example.observation_space, example.action_space
    batch = Batch(*spaces, family.encoder_of(spaces[0], observations))
    task = tensor_tasks.make_task(spec, spec.kwargs, lambda: make_from(family, spec, render_mode=None))
    return TensorVec(
        spec.id,
        task,
        batch,
        num_envs,
        device=torch.device(device),
        twin=family.twin,
        settings=settings,
        make=usual,
    )


def _make_whole(
    backend: str,
    family: Family,
    spec: "EnvSpec",
    num_envs: int,
    observations: Observations,
    render_mode: str | None,
    kwargs: dict[str, Any],
) -> VecEnv:
    if backend == "native":
        from mosaic.envs.vector.native_vector import make_native

        return make_native(family, spec, num_envs, observations, render_mode, kwargs)
    from mosaic.envs.vector.envpool_vector import make_pool

    return make_pool(family, spec, num_envs, observations, render_mode, kwargs)
