"""What is tried of an environment before it is trained in, each check with what to change, in plain words."""

import copy
import re
import time
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mosaic import envs
from mosaic.envs.vector.slot_history import same
from mosaic.errors import MosaicError

SEED = 3
LONG = 20_000
"""Steps in which an episode of random actions is expected to end."""
SPEED_S = 1.0
_COLOURS = re.compile(r"\x1b\[\d+m")


class Finding(NamedTuple):
    text: str
    is_problem: bool = False


class Tried(NamedTuple):
    """What is checked, and how far."""

    env_id: str
    settings: Mapping[str, Any]
    steps: int

    def make(self, render_mode: str | None = None) -> Any:
        return envs.make(self.env_id, render_mode=render_mode, settings=self.settings)

    def vector(self, slots: int) -> envs.VecEnv:
        return envs.make_vec(self.env_id, slots, backend="bare", settings=self.settings)


def raised(error: BaseException) -> str:
    """Where in the user's file, as far as that can be told."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "site-packages" not in frame.filename]
    last = frames[-1] if frames else None
    where = f" at line {last.lineno} of {Path(last.filename).name}" if last else ""
    return f"raised {type(error).__name__}{where}: {error}"


def of_gymnasium(tried: Tried) -> Iterator[Finding]:
    """`check_env` on the bare environment; its warnings are told, too."""
    from gymnasium.utils.env_checker import check_env

    failure = ""
    with closing(tried.make()) as env, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            check_env(env.unwrapped, skip_render_check=True, skip_close_check=True)
        except Exception as error:  # A border: as above; the checker asserts.
            failure = _plain(str(error)) or type(error).__name__
    told = {_plain(str(one.message)): None for one in caught}
    yield from (Finding(f"it warns: {text}") for text in told)
    if failure:
        yield Finding(failure, is_problem=True)
    elif not told:
        yield Finding("nothing to say")


def of_spaces(tried: Tried) -> Iterator[Finding]:
    """What algorithms see and do, and whether any can."""
    with closing(tried.make()) as env:
        action, seen = envs.action_kind(env.action_space), envs.observation_kind(env.observation_space)
        spaces = f"{env.observation_space} and {env.action_space}"
    if action not in ("discrete", "continuous", "multi_discrete"):
        text = f"its actions are {action}; give it a Discrete, a MultiDiscrete or a Box action space"
        yield Finding(text, is_problem=True)
        return
    with closing(tried.vector(1)) as vector:
        shape = vector.single_observation_space.shape
    yield Finding(f"{spaces}: actions are {action}, observations {seen}; an algorithm sees an array of shape {shape}")


def of_seeding(tried: Tried) -> Iterator[Finding]:
    with closing(tried.make()) as env:
        first = copy.deepcopy(env.reset(seed=SEED)[0])
        env.reset(seed=SEED + 1)
        again = env.reset(seed=SEED)[0]
        seed: Any = getattr(env.unwrapped, "np_random_seed", None)
    if seed != SEED:
        text = "reset() seeds nothing; begin it with super().reset(seed=seed), and draw all from self.np_random"
        yield Finding(text, is_problem=True)
    if not same(first, again):
        text = (
            f"reset(seed={SEED}) gives another first observation the second time; draw from self.np_random instead of"
            " random or np.random, and set everything again in reset()"
        )
        yield Finding(text, is_problem=True)
    elif seed == SEED:
        yield Finding("the same seed gives the same first observation")


def of_determinism(tried: Tried) -> Iterator[Finding]:
    with closing(tried.make()) as one, closing(tried.make()) as other:
        one.action_space.seed(SEED)
        pair = (one, other)
        before = [env.reset(seed=SEED)[0] for env in pair]
        if not same(*before):
            yield Finding("two of them with one seed begin differently", is_problem=True)
            return
        for step in range(tried.steps):
            action = one.action_space.sample()
            results = [env.step(action) for env in pair]
            part = next((name for name, at in _PARTS.items() if not same(results[0][at], results[1][at])), None)
            if part is not None:
                text = (
                    f"two of them with one seed and the same actions differ in {part} at step {step + 1}; draw all"
                    " random numbers from self.np_random, and share nothing between environments"
                )
                yield Finding(text, is_problem=True)
                return
            if results[0][2] or results[0][3]:
                for env in pair:
                    env.reset()
    yield Finding(f"two of them with one seed and the same actions are alike for {tried.steps} steps")


_PARTS = {"the observation": 0, "the reward": 1, "terminated": 2, "truncated": 3}


def of_ends(tried: Tried) -> Iterator[Finding]:
    with closing(tried.make()) as env:
        env.action_space.seed(SEED)
        env.reset(seed=SEED)
        for step in range(1, LONG + 1):
            _, _, terminated, truncated, _ = env.step(env.action_space.sample())
            if terminated or truncated:
                yield Finding(f"an episode of random actions ended after {step} steps")
                return
    text = f"no episode ended within {LONG} steps of random actions; give it a limit: --env.max_episode_steps 1000"
    yield Finding(text, is_problem=True)


def of_resume(tried: Tried) -> Iterator[Finding]:
    """As a run does it: saved in the middle of episodes, brought back in another process's place, and gone on with."""
    with closing(tried.vector(2)) as vector:
        vector.single_action_space.seed(SEED)
        vector.reset(seed=SEED)
        actions = [np.array([vector.single_action_space.sample() for _ in range(2)]) for _ in range(2 * tried.steps)]
        for action in actions[: tried.steps]:
            vector.step(action)
        saved = vector.snapshot()
        there = [vector.step(action)[:4] for action in actions[tried.steps :]]
    with closing(tried.vector(2)) as other:
        other.reset(seed=SEED + 100)
        if not other.restore(saved):
            text = (
                "an episode that is lived again by its seed and actions does not come to where it was, so a resumed"
                " run goes on, but not exactly; see seeding and determinism, and keep nothing over a reset()"
            )
            yield Finding(text, is_problem=True)
            return
        here = [other.step(action)[:4] for action in actions[tried.steps :]]
    if same(there, here):
        yield Finding(f"exact: what was saved after {tried.steps} steps goes on alike for as many more")
    else:
        text = "it comes back to where it was, and then goes on differently; keep no state outside of the environment"
        yield Finding(text, is_problem=True)


def of_pictures(tried: Tried) -> Iterator[Finding]:
    try:
        env = tried.make("rgb_array")
    except MosaicError as error:
        yield Finding(f"cannot be made with render_mode='rgb_array': {error}", is_problem=True)
        return
    with closing(env):
        if env.render_mode != "rgb_array":
            yield Finding(
                "none: it cannot be watched or filmed. For pictures take render_mode in __init__, keep it as"
                " self.render_mode, say metadata = {'render_modes': ['rgb_array'], 'render_fps': 30}, and return an"
                " array of shape (height, width, 3) from render()"
            )
            return
        env.reset(seed=SEED)
        picture: Any = env.render()
    if not isinstance(picture, np.ndarray) or picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3:
        about = f"{picture.dtype} of shape {picture.shape}" if isinstance(picture, np.ndarray) else _name_of(picture)
        yield Finding(f"render() gives {about}; it must be uint8 of shape (height, width, 3)", is_problem=True)
        return
    yield Finding(f"render() gives pictures of {picture.shape[1]}×{picture.shape[0]}")


def of_speed(tried: Tried) -> Iterator[Finding]:
    """Of one environment on one core, with random actions and resets."""
    with closing(tried.vector(1)) as vector:
        vector.single_action_space.seed(SEED)
        vector.reset(seed=SEED)
        actions = [np.array([vector.single_action_space.sample()]) for _ in range(100)]
        steps, began = 0, time.perf_counter()
        while (elapsed_s := time.perf_counter() - began) < SPEED_S:
            for action in actions:
                vector.step(action)
            steps += len(actions)
    yield Finding(f"{steps / elapsed_s:,.0f} steps/s of one environment on one core")


def _name_of(thing: object) -> str:
    return type(thing).__name__


def _plain(text: str) -> str:
    """Without the colours of Gymnasium's logger."""
    return _COLOURS.sub("", text).removeprefix("WARN: ")
