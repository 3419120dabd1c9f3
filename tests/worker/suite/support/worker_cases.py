"""The algorithms as the shared suite runs them: a line in `CASES`, or `default_case`. Tiny, but all is exercised."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from cleanrl_worker.sdk.command import algorithm_catalogue
from cleanrl_worker.sdk.frame_replay import FrameReplay
from cleanrl_worker.sdk.replay import ReplayBuffer

CHARTS = frozenset({"charts/episodic_return", "charts/episodic_length", "charts/SPS"})
PPO_TAGS = frozenset(
    {
        "charts/learning_rate",
        "losses/value_loss",
        "losses/policy_loss",
        "losses/entropy",
        "losses/old_approx_kl",
        "losses/approx_kl",
        "losses/clipfrac",
        "losses/explained_variance",
    }
)


@dataclass(frozen=True, kw_only=True)
class Learning:
    """A short training after which the policy must score, and does not if a sign is wrong."""

    env_id: str
    total_timesteps: int
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    above: float
    """Mean return of ten episodes, likeliest actions."""
    sign_error: Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True, kw_only=True)
class Case:
    """One algorithm."""

    algo: str
    env_id: str
    total_timesteps: int
    settings: Mapping[str, Any]
    tags: frozenset[str]
    """Tags of facts/cleanrl-conventions.md, beside the charts that all have."""
    elsewhere: tuple[str, ...] = ()
    """Flags that it needs in another environment."""
    learning: Learning | None = None
    """None for an algorithm without a line in `CASES` (`default_case`)."""

    def with_data(self, folder: Path) -> "Case":
        """Of an algorithm that learns from a data set: with the one in this folder."""
        data = {"dataset": str(folder / "suite" / "aim-v0")}
        learning = self.learning and replace(self.learning, settings={**self.learning.settings, **data})
        return replace(self, settings={**self.settings, **data}, learning=learning)

    @property
    def flags(self) -> list[str]:
        facts = {"algo": self.algo, "env_id": self.env_id, "total_timesteps": self.total_timesteps}
        histograms = {} if self.algo == "bdi_q" else {"histograms_every": 2}  # A table is not a network.
        return flags_of({**facts, **histograms, **self.settings})


def flags_of(settings: Mapping[str, Any]) -> list[str]:
    return [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]


def ascend_the_policy_gradient(patch: pytest.MonkeyPatch) -> None:
    """PPO that makes good actions rarer."""
    for algo in (
        "ppo",
        "ppo_continuous_action",
        "rpo_continuous_action",
        "ppo_lstm",
        "ppo_atari",
        "ppo_rnd",
        "ppo_resident",
    ):
        module: Any = algorithm_catalogue.load(algo)
        right = module.normalised
        patch.setattr(module, "normalised", lambda advantages, right=right: -right(advantages))


def subtract_the_future(patch: pytest.MonkeyPatch) -> None:
    """Learning from a replay memory that is afraid of rewards."""
    right = ReplayBuffer.sample

    def wrong(self: Any, *parts: Any) -> Any:
        batch = right(self, *parts)
        return batch._replace(rewards=-batch.rewards)

    patch.setattr(ReplayBuffer, "sample", wrong)


def hate_rewards(patch: pytest.MonkeyPatch) -> None:
    """PQN that is afraid of what follows."""
    module: Any = algorithm_catalogue.load("pqn")
    right = module.lambda_returns
    patch.setattr(module, "lambda_returns", lambda rewards, *rest: right(-rewards, *rest))


def fear_the_reward(patch: pytest.MonkeyPatch) -> None:
    """Value learning on pictures that takes rewards for punishments."""
    right = FrameReplay.transitions

    def wrong(self: Any, places: Any) -> Any:
        batch = right(self, places)
        return batch._replace(rewards=-batch.rewards)

    patch.setattr(FrameReplay, "transitions", wrong)
    several = FrameReplay.n_step

    def wrong_too(self: Any, *parts: Any) -> Any:
        batch = several(self, *parts)
        return batch._replace(rewards=-batch.rewards)

    patch.setattr(FrameReplay, "n_step", wrong_too)


def flee_the_critic(patch: pytest.MonkeyPatch) -> None:
    """SAC, TD3 or DDPG whose actor descends what it should climb."""
    for algo in ("sac_continuous_action", "td3_continuous_action", "ddpg_continuous_action"):
        module: Any = algorithm_catalogue.load(algo)
        right = module.actor_loss
        patch.setattr(module, "actor_loss", lambda *parts, right=right: -right(*parts))


def avoid_what_was_done(patch: pytest.MonkeyPatch) -> None:
    """Learning from data that makes likely what is worse there, or what is not there at all."""
    subtract_the_future(patch)
    module: Any = algorithm_catalogue.load("bc")
    right = module.cloning_loss
    patch.setattr(module, "cloning_loss", lambda *parts: -right(*parts).clamp(max=3))


def dread_the_reward(patch: pytest.MonkeyPatch) -> None:
    """Plans that are worth least where they lead to the goal."""
    module: Any = algorithm_catalogue.load("bdi_q")
    right = module.Learner.earn
    patch.setattr(module.Learner, "earn", lambda self, reward, slot=0: right(self, -reward, slot))


LIGHTS = "worker_pictures:Lights-v0"
LAMPS, AIM = "worker_vectors:test/Lamps-v0", "worker_vectors:test/Aim-v0"


CASES = {
    case.algo: case
    for case in (
        Case(
            algo="ppo_atari",
            env_id=LIGHTS,
            total_timesteps=256,
            settings={"num_envs": 2, "num_steps": 16, "num_minibatches": 2, "update_epochs": 1},
            tags=PPO_TAGS,
            learning=Learning(
                env_id=LIGHTS,
                total_timesteps=1024,
                settings={"num_steps": 16, "learning_rate": 1e-3},
                above=8,
                sign_error=ascend_the_policy_gradient,
            ),
        ),
        Case(
            algo="ppo",
            env_id="CartPole-v1",
            total_timesteps=2048,
            settings={"num_envs": 2, "num_steps": 32, "num_minibatches": 2, "update_epochs": 2},
            tags=PPO_TAGS,
            learning=Learning(
                env_id="CartPole-v1",
                total_timesteps=25_000,
                above=150,
                sign_error=ascend_the_policy_gradient,
            ),
        ),
        Case(
            algo="ppo_resident",
            env_id="CartPole-v1",
            total_timesteps=2048,
            settings={"num_envs": 2, "num_steps": 32, "num_minibatches": 2, "update_epochs": 2},
            tags=PPO_TAGS | {"charts/avg_episodic_return", "charts/avg_episodic_length"},
            learning=Learning(
                env_id="CartPole-v1",
                total_timesteps=60_000,
                settings={"num_envs": 32},
                above=150,
                sign_error=ascend_the_policy_gradient,
            ),
        ),
        Case(
            algo="ppo_continuous_action",
            env_id="InvertedPendulum-v5",
            total_timesteps=2048,
            settings={"num_envs": 2, "num_steps": 64, "num_minibatches": 4, "update_epochs": 2},
            tags=PPO_TAGS,
            learning=Learning(
                env_id="InvertedPendulum-v5",
                total_timesteps=30_000,
                settings={"num_steps": 1024},
                above=500,
                sign_error=ascend_the_policy_gradient,
            ),
        ),
        Case(
            algo="dqn",
            env_id="CartPole-v1",
            total_timesteps=2000,
            # The buffer wraps around, and epsilon reaches its end.
            settings={
                "buffer_size": 300,
                "learning_starts": 200,
                "batch_size": 16,
                "train_frequency": 4,
                "target_network_frequency": 130,
            },
            tags=frozenset({"losses/td_loss", "losses/q_values"}),
            learning=Learning(
                env_id="CartPole-v1",
                total_timesteps=20_000,
                settings={"learning_starts": 1000},
                above=60,
                sign_error=subtract_the_future,
            ),
        ),
        Case(
            algo="ppo_rnd",
            env_id=LIGHTS,
            total_timesteps=256,
            settings={
                "num_envs": 2,
                "num_steps": 16,
                "num_minibatches": 2,
                "update_epochs": 1,
                "num_iterations_obs_norm_init": 1,
            },
            tags=PPO_TAGS - {"losses/clipfrac", "losses/explained_variance"}
            | {"losses/fwd_loss", "charts/episode_curiosity_reward", "charts/avg_episodic_return"},
            learning=Learning(
                env_id=LIGHTS,
                total_timesteps=1024,
                settings={
                    "num_envs": 8,
                    "num_steps": 16,
                    "num_iterations_obs_norm_init": 1,
                    "learning_rate": 1e-3,
                    "int_coef": 0.1,
                },
                above=8,
                sign_error=ascend_the_policy_gradient,
            ),
        ),
        Case(
            algo="dqn_atari",
            env_id=LIGHTS,
            total_timesteps=320,
            # The buffer wraps around, and epsilon reaches its end.
            settings={
                "buffer_size": 120,
                "learning_starts": 60,
                "batch_size": 8,
                "target_network_frequency": 50,
                "train_frequency": 20,
            },
            tags=frozenset({"losses/td_loss", "losses/q_values"}),
            learning=Learning(
                env_id=LIGHTS,
                total_timesteps=600,
                settings={
                    "buffer_size": 600,
                    "learning_starts": 100,
                    "batch_size": 16,
                    "target_network_frequency": 100,
                    "exploration_fraction": 0.5,
                    "learning_rate": 5e-4,
                },
                above=8,
                sign_error=fear_the_reward,
            ),
        ),
        Case(
            algo="c51_atari",
            env_id=LIGHTS,
            total_timesteps=320,
            # The buffer wraps around, and epsilon reaches its end.
            settings={
                "buffer_size": 120,
                "learning_starts": 60,
                "batch_size": 8,
                "target_network_frequency": 50,
                "train_frequency": 20,
            },
            tags=frozenset({"losses/loss", "losses/q_values"}),
            learning=Learning(
                env_id=LIGHTS,
                total_timesteps=600,
                settings={
                    "buffer_size": 600,
                    "learning_starts": 100,
                    "batch_size": 16,
                    "target_network_frequency": 100,
                    "exploration_fraction": 0.5,
                    "learning_rate": 5e-4,
                },
                above=8,
                sign_error=fear_the_reward,
            ),
        ),
        Case(
            algo="rainbow_atari",
            env_id=LIGHTS,
            total_timesteps=320,
            # The buffer wraps around.
            settings={
                "buffer_size": 120,
                "learning_starts": 60,
                "batch_size": 8,
                "target_network_frequency": 50,
                "train_frequency": 20,
            },
            tags=frozenset({"losses/td_loss", "losses/q_values", "charts/beta"}),
            learning=Learning(
                env_id=LIGHTS,
                total_timesteps=500,
                # What follows does not matter here, and the range of returns fits.
                settings={
                    "buffer_size": 500,
                    "learning_starts": 100,
                    "batch_size": 16,
                    "target_network_frequency": 100,
                    "learning_rate": 1e-3,
                    "gamma": 0.0,
                    "v_min": -1,
                    "v_max": 1,
                    "n_atoms": 11,
                },
                above=8,
                sign_error=fear_the_reward,
            ),
        ),
        Case(
            algo="sac_continuous_action",
            env_id="Pendulum-v1",
            total_timesteps=500,
            settings={"buffer_size": 250, "learning_starts": 250, "batch_size": 16},
            tags=frozenset(
                f"losses/{name}"
                for name in (
                    "qf1_values",
                    "qf2_values",
                    "qf1_loss",
                    "qf2_loss",
                    "qf_loss",
                    "actor_loss",
                    "alpha",
                    "alpha_loss",
                )
            ),
            learning=Learning(
                env_id="InvertedPendulum-v5",
                total_timesteps=1300,
                settings={"learning_starts": 400, "batch_size": 64, "buffer_size": 5000},
                above=40,
                sign_error=flee_the_critic,
            ),
        ),
        Case(
            algo="td3_continuous_action",
            env_id="Pendulum-v1",
            total_timesteps=500,
            settings={"buffer_size": 250, "learning_starts": 250, "batch_size": 16},
            tags=frozenset(
                f"losses/{name}"
                for name in ("qf1_values", "qf2_values", "qf1_loss", "qf2_loss", "qf_loss", "actor_loss")
            ),
            learning=Learning(
                env_id="InvertedPendulum-v5",
                total_timesteps=2000,
                settings={"learning_starts": 400, "batch_size": 64, "buffer_size": 5000},
                above=40,
                sign_error=flee_the_critic,
            ),
        ),
        Case(
            algo="ddpg_continuous_action",
            env_id="Pendulum-v1",
            total_timesteps=500,
            settings={"buffer_size": 250, "learning_starts": 250, "batch_size": 16},
            tags=frozenset(f"losses/{name}" for name in ("qf1_values", "qf1_loss", "actor_loss")),
            learning=Learning(
                env_id="InvertedPendulum-v5",
                total_timesteps=2000,
                settings={"learning_starts": 400, "batch_size": 64, "buffer_size": 5000},
                above=40,
                sign_error=flee_the_critic,
            ),
        ),
        Case(
            algo="c51",
            env_id="CartPole-v1",
            total_timesteps=2000,
            # The buffer wraps around, and epsilon reaches its end.
            settings={
                "buffer_size": 300,
                "learning_starts": 200,
                "batch_size": 16,
                "train_frequency": 4,
                "target_network_frequency": 130,
            },
            tags=frozenset({"losses/loss", "losses/q_values"}),
            learning=Learning(
                env_id="CartPole-v1",
                total_timesteps=20_000,
                settings={"learning_starts": 1000, "train_frequency": 5},
                above=60,
                sign_error=subtract_the_future,
            ),
        ),
        Case(
            algo="bdi_q",
            env_id="CliffWalking-v1",
            total_timesteps=800,
            # A way takes thirteen steps, so that checkpoints come in the middle of intentions.
            settings={"num_envs": 2, "exploration": 0.9},
            elsewhere=("--plans=actions",),
            tags=frozenset({"charts/situations", "charts/exploration", "losses/td_loss", "losses/q_values"}),
            learning=Learning(
                env_id="FrozenLake-v1",
                total_timesteps=2000,
                settings={"env.is_slippery": "false"},
                above=0.9,
                sign_error=dread_the_reward,
            ),
        ),
        Case(
            algo="pqn",
            env_id="CartPole-v1",
            total_timesteps=2048,
            settings={"num_envs": 2, "num_steps": 32, "num_minibatches": 2, "update_epochs": 2},
            tags=frozenset({"losses/td_loss", "losses/q_values"}),
            learning=Learning(
                env_id="CartPole-v1",
                total_timesteps=30_720,
                settings={"learning_rate": 2e-3, "num_steps": 32},
                above=150,
                sign_error=hate_rewards,
            ),
        ),
        Case(
            algo="rpo_continuous_action",
            env_id="InvertedPendulum-v5",
            total_timesteps=2048,
            settings={"num_envs": 2, "num_steps": 64, "num_minibatches": 4, "update_epochs": 2},
            tags=PPO_TAGS,
            learning=Learning(
                env_id="InvertedPendulum-v5",
                total_timesteps=20_480,
                settings={"num_steps": 512, "num_minibatches": 16, "learning_rate": 1e-3},
                above=500,
                sign_error=ascend_the_policy_gradient,
            ),
        ),
        Case(
            algo="ppo_lstm",
            env_id="mosaic/CartPoleNoVelocity-v1",
            total_timesteps=1536,
            # A rollout ends in the middle of most episodes; the large steps change what the policy does.
            settings={
                "num_envs": 4,
                "num_steps": 16,
                "num_minibatches": 2,
                "update_epochs": 2,
                "learning_rate": 1e-2,
            },
            tags=PPO_TAGS,
            learning=Learning(
                env_id="mosaic/Recall-v0",
                total_timesteps=8192,
                settings={"num_steps": 32, "learning_rate": 2e-3},
                # One answer in four is right without a memory.
                above=0.9,
                sign_error=ascend_the_policy_gradient,
            ),
        ),
        Case(
            algo="qr_dqn",
            env_id="CartPole-v1",
            total_timesteps=600,
            settings={
                "buffer_size": 250,
                "learning_starts": 150,
                "batch_size": 8,
                "train_frequency": 4,
                "target_network_frequency": 130,
                "n_quantiles": 5,
            },
            tags=frozenset(f"losses/{name}" for name in ("loss", "q_values")),
            learning=Learning(
                env_id=LAMPS,
                total_timesteps=600,
                settings={
                    "buffer_size": 600,
                    "learning_starts": 100,
                    "batch_size": 16,
                    "train_frequency": 2,
                    "target_network_frequency": 100,
                    "n_quantiles": 8,
                    "learning_rate": 0.002,
                    "gamma": 0.0,
                },
                above=9,
                sign_error=subtract_the_future,
            ),
        ),
        Case(
            algo="sac_discrete",
            env_id="CartPole-v1",
            total_timesteps=600,
            settings={"buffer_size": 250, "learning_starts": 150, "batch_size": 8, "target_network_frequency": 130},
            tags=frozenset(
                f"losses/{name}"
                for name in (
                    "qf1_values",
                    "qf2_values",
                    "qf1_loss",
                    "qf2_loss",
                    "qf_loss",
                    "actor_loss",
                    "alpha",
                    "alpha_loss",
                    "entropy",
                )
            ),
            learning=Learning(
                env_id=LAMPS,
                total_timesteps=600,
                settings={
                    "learning_starts": 100,
                    "batch_size": 32,
                    "update_frequency": 2,
                    "policy_lr": 0.002,
                    "q_lr": 0.002,
                    "gamma": 0.0,
                },
                above=9,
                sign_error=subtract_the_future,
            ),
        ),
        Case(
            algo="tqc_continuous_action",
            env_id="Pendulum-v1",
            total_timesteps=400,
            settings={
                "buffer_size": 200,
                "learning_starts": 200,
                "batch_size": 8,
                "n_quantiles": 5,
                "top_quantiles_to_drop": 1,
            },
            tags=frozenset(f"losses/{name}" for name in ("qf_values", "qf_loss", "actor_loss", "alpha", "alpha_loss")),
            learning=Learning(
                env_id=AIM,
                total_timesteps=500,
                settings={
                    "learning_starts": 100,
                    "batch_size": 32,
                    "n_quantiles": 5,
                    "top_quantiles_to_drop": 0,
                    "q_lr": 0.002,
                    "policy_lr": 0.002,
                    "gamma": 0.0,
                },
                above=8,
                sign_error=subtract_the_future,
            ),
        ),
        Case(
            algo="crossq_continuous_action",
            env_id="Pendulum-v1",
            total_timesteps=400,
            settings={
                "buffer_size": 200,
                "learning_starts": 200,
                "batch_size": 8,
                "critic_width": 16,
                "renorm_warmup": 50,
            },
            tags=frozenset(
                f"losses/{name}"
                for name in (
                    "qf1_values",
                    "qf2_values",
                    "qf1_loss",
                    "qf2_loss",
                    "qf_loss",
                    "actor_loss",
                    "alpha",
                    "alpha_loss",
                )
            ),
            learning=Learning(
                env_id=AIM,
                total_timesteps=500,
                settings={
                    "learning_starts": 100,
                    "batch_size": 32,
                    "critic_width": 32,
                    "policy_delay": 1,
                    "q_lr": 1e-2,
                    "renorm_momentum": 0.1,
                    "gamma": 0.0,
                },
                above=8,
                sign_error=subtract_the_future,
            ),
        ),
        Case(
            algo="simba_sac_continuous_action",
            env_id="Pendulum-v1",
            total_timesteps=400,
            settings={
                "buffer_size": 200,
                "learning_starts": 200,
                "batch_size": 8,
                "updates_per_step": 1,
                "actor_width": 8,
                "critic_width": 16,
                "critic_blocks": 1,
            },
            tags=frozenset(
                f"losses/{name}"
                for name in (
                    "qf1_values",
                    "qf2_values",
                    "qf1_loss",
                    "qf2_loss",
                    "qf_loss",
                    "actor_loss",
                    "alpha",
                    "alpha_loss",
                )
            ),
            learning=Learning(
                env_id=AIM,
                total_timesteps=500,
                settings={
                    "learning_starts": 100,
                    "batch_size": 32,
                    "updates_per_step": 1,
                    "actor_width": 16,
                    "critic_width": 32,
                    "critic_blocks": 1,
                    "q_lr": 0.002,
                    "policy_lr": 0.002,
                    "gamma": 0.0,
                },
                above=8,
                sign_error=subtract_the_future,
            ),
        ),
        Case(
            algo="bc",
            env_id=AIM,
            total_timesteps=400,
            settings={"batch_size": 8},
            tags=frozenset({"losses/loss"}),
            learning=Learning(
                env_id=AIM,
                total_timesteps=300,
                settings={"batch_size": 32, "learning_rate": 3e-3, "best_episodes": 0.5},
                # With the worse half of the episodes too it is 8.
                above=9,
                sign_error=avoid_what_was_done,
            ),
        ),
        Case(
            algo="iql",
            env_id=AIM,
            total_timesteps=400,
            settings={"batch_size": 8},
            tags=frozenset(
                f"losses/{name}"
                for name in ("qf1_values", "qf2_values", "qf_loss", "values", "value_loss", "actor_loss")
            ),
            learning=Learning(
                env_id=AIM,
                total_timesteps=300,
                settings={"batch_size": 32, "learning_rate": 3e-3, "temperature": 10, "gamma": 0.0},
                above=9,
                sign_error=avoid_what_was_done,
            ),
        ),
    )
}
