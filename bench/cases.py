"""What is compared, and the ratio that is asked for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Case:
    """One row of the table; settings that are not named are our defaults, on both sides."""

    name: str
    algo: str
    settings: Mapping[str, Any]
    """Fields of the algorithm's Args; `bench.settings` translates them for SB3."""
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Flags of our worker that do not change the learning curve."""
    steps: int
    quick_steps: int
    warmup_steps: int = 0
    """Left out of the loop's time, on both sides."""
    plain: bool = False
    """SB3 has no such algorithm: the other side is our own plain torch version, `bench.plain_<algo>`."""
    whole_command: bool = False
    """Time the command from start to exit, imports and saving included."""
    episodes: int = 0
    """Time an evaluation of so many episodes instead of a training; figures are then episodes."""
    floor: float

    @property
    def other(self) -> str:
        """What the other side is called."""
        return "plain torch" if self.plain else "SB3"

    def settings_for(self, *, quick: bool) -> dict[str, Any]:
        return {**self.settings, "total_timesteps": self.quick_steps if quick else self.steps}


BREAKOUT = "BreakoutNoFrameskip-v4"
CARTPOLE = {"env_id": "CartPole-v1", "num_envs": 4, "num_steps": 128}
ROLLOUT = 4 * 128

cart_pole = partial(
    Case,
    algo="ppo",
    settings=CARTPOLE,
    steps=160 * ROLLOUT,
    quick_steps=50 * ROLLOUT,
    warmup_steps=10 * ROLLOUT,
)
breakout = partial(Case, algo="ppo_atari", steps=5 * 1024, quick_steps=3 * 1024, warmup_steps=1024)
cheetah = partial(Case, steps=3_100, quick_steps=1_800, warmup_steps=1_100, floor=1.4)
"""What several rows share."""

CASES = (
    cart_pole(
        name="ppo-sync",
        # Gymnasium's own wrapper stack on our side too: the gain of the learner alone.
        options={"env_backend": "sync"},
        floor=5.0,
    ),
    cart_pole(
        name="ppo",
        floor=8.0,
    ),
    Case(
        name="ppo_continuous_action",
        algo="ppo_continuous_action",
        settings={"env_id": "HalfCheetah-v5", "num_envs": 1, "num_steps": 2048},
        steps=9 * 2048,
        quick_steps=4 * 2048,
        warmup_steps=2048,
        floor=5.0,
    ),
    Case(
        name="dqn",
        algo="dqn",
        settings={"env_id": "CartPole-v1"},
        steps=60_000,
        quick_steps=25_000,
        # Until then nothing is learned.
        warmup_steps=10_000,
        floor=3.0,
    ),
    cheetah(
        name="sac",
        algo="sac_continuous_action",
        settings={
            "env_id": "HalfCheetah-v5",
            "learning_starts": 1_000,
            # CleanRL's 1e-3 and 2 cannot be told to SB3.
            "q_lr": 3e-4,
            "policy_frequency": 1,
        },
    ),
    breakout(
        name="ppo_atari",
        settings={"env_id": BREAKOUT},
        floor=1.3,
    ),
    breakout(
        name="ppo_atari-envpool",
        settings={"env_id": BREAKOUT},
        # Threads of its own; SB3 has nothing like it and steps Gymnasium's environments.
        options={"env_backend": "envpool"},
        # One core cannot do the update's sums in float32 any faster (docs/benchmarks.md): twice takes bfloat16.
        floor=1.3,
    ),
    breakout(
        name="ppo_atari-envpool-bfloat16",
        # SB3 has no such setting and computes in float32.
        settings={"env_id": BREAKOUT, "bfloat16": True},
        options={"env_backend": "envpool"},
        floor=2.0,
    ),
    Case(
        name="dqn_atari",
        algo="dqn_atari",
        settings={
            "env_id": BREAKOUT,
            # SB3 would need 56 GiB for the million steps of the default.
            "buffer_size": 10_000,
            "learning_starts": 400,
            "exploration_fraction": 0.01,
        },
        steps=2_400,
        quick_steps=1_400,
        warmup_steps=600,
        floor=1.3,
    ),
    cheetah(
        name="td3",
        algo="td3_continuous_action",
        settings={"env_id": "HalfCheetah-v5", "learning_starts": 1_000},
    ),
    cheetah(
        name="ddpg",
        algo="ddpg_continuous_action",
        # SB3's DDPG has no delayed policy.
        settings={"env_id": "HalfCheetah-v5", "learning_starts": 1_000, "policy_frequency": 1},
    ),
    Case(
        name="c51",
        algo="c51",
        settings={"env_id": "CartPole-v1"},
        plain=True,
        steps=40_000,
        quick_steps=20_000,
        # Until then nothing is learned.
        warmup_steps=10_000,
        floor=2.0,
    ),
    Case(
        name="command",
        algo="ppo",
        settings=CARTPOLE,
        steps=100_352,
        quick_steps=100_352,
        whole_command=True,
        floor=5.0,
    ),
    Case(name="evaluate", algo="ppo", settings={}, steps=0, quick_steps=0, episodes=200, floor=3.0),
)
