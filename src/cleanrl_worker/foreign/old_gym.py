"""`import gym`: the package that Gymnasium replaced. What CleanRL's envpool scripts need of it is here; no more."""

from types import ModuleType
from typing import Any, NoReturn

from cleanrl_worker.foreign.import_hooks import Hooks
from mosaic.installation import package_line

ADVICE = (
    "gym was replaced by Gymnasium, and its environments have another interface:"
    " change 'import gym' to 'import gymnasium as gym' in the script, or install gym beside MOSAIC"
)


class Wrapper:
    """Around anything that has `reset` and `step`, whatever these return."""

    def __init__(self, env: Any) -> None:
        self.env = env

    @property
    def unwrapped(self) -> Any:
        return getattr(self.env, "unwrapped", self.env)

    def reset(self, **kwargs: Any) -> Any:
        return self.env.reset(**kwargs)

    def step(self, action: Any) -> Any:
        return self.env.step(action)

    def close(self) -> None:
        self.env.close()

    def __getattr__(self, name: str) -> Any:
        if name == "env" or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.env, name)


def hook(hooks: Hooks) -> None:
    hooks.if_missing("gym", _fill)
    hooks.if_missing("gym.spaces", _fill_spaces)
    hooks.if_missing("gym.wrappers", _fill_wrappers)
    hooks.if_missing("gym.wrappers.normalize", _fill_normalize)


def _fill(module: ModuleType) -> None:
    import gymnasium as gym

    known: Any = module
    known.__version__ = "0.0+mosaic"
    known.Wrapper = Wrapper
    known.Env, known.spaces, known.Space = gym.Env, gym.spaces, gym.Space
    known.__getattr__ = _missing


def _fill_spaces(module: ModuleType) -> None:
    import gymnasium.spaces

    vars(module).update({name: value for name, value in vars(gymnasium.spaces).items() if not name.startswith("__")})


def _fill_wrappers(module: ModuleType) -> None:
    known: Any = module
    known.__getattr__ = _missing_wrapper


def _fill_normalize(module: ModuleType) -> None:
    """Means and variances that are kept up to date; they have the same form in Gymnasium."""
    from gymnasium.wrappers import utils

    known: Any = module
    known.RunningMeanStd = utils.RunningMeanStd
    known.update_mean_var_count_from_moments = utils.update_mean_var_count_from_moments


def _missing_wrapper(name: str) -> NoReturn:
    _missing(name if name.startswith("__") else f"wrappers.{name}")


def _missing(name: str) -> NoReturn:
    if name.startswith("__"):
        raise AttributeError(name)
    raise ImportError(f"gym.{name}: {ADVICE} ({package_line('gym')})")
