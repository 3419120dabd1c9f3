"""The environment's own rewards, counted beneath wrappers that change them: an episode without its shaping."""

from typing import Any, TypeVar

import gymnasium

Layer = TypeVar("Layer")
KEY = "raw_return"
"""In the info of an episode's last step, where the rewards may be shaped."""


class RawReturn(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Sums up the rewards of the running episode."""

    def __init__(self, env: "gymnasium.Env[Any, Any]") -> None:
        super().__init__(env)
        self.total = 0.0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self.total = 0.0
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        stepped = self.env.step(action)
        self.total += float(stepped[1])
        return stepped


def layer_of(env: "gymnasium.Env[Any, Any]", kind: type[Layer]) -> Layer | None:
    """The outermost wrapper of a kind."""
    inner: gymnasium.Env[Any, Any] = env
    while isinstance(inner, gymnasium.Wrapper):
        if isinstance(inner, kind):
            return inner
        inner = inner.env
    return None
