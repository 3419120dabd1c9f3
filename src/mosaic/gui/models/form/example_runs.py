"""Three runs for a first look: each trains in under a minute on two cores."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from mosaic.config import JsonValue
from mosaic.errors import MosaicError
from mosaic.gui.models.studio import Studio
from mosaic.rpc.client import Client
from mosaic.spec.run_record import RunRecord


@dataclass(frozen=True)
class Example:
    """A run that one click starts."""

    title: str
    line: str
    """What is to be seen."""
    icon: str
    algo: str
    env_id: str
    total_timesteps: int
    settings: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])


EXAMPLES = (
    Example(
        title="Balance a pole",
        line="PPO on CartPole-v1. The return climbs from 20 to several hundred.",
        icon="chart-line",
        algo="ppo",
        env_id="CartPole-v1",
        total_timesteps=200_000,
    ),
    Example(
        title="Cross a frozen lake",
        line="DQN on FrozenLake-v1. More than half of the walks reach the goal in the end.",
        icon="snowflake",
        algo="dqn",
        env_id="FrozenLake-v1",
        total_timesteps=100_000,
    ),
    Example(
        title="Swing up a pendulum",
        line="PPO for continuous actions on Pendulum-v1. From -1,200 to about -200.",
        icon="rotate-ccw",
        algo="ppo_continuous_action",
        env_id="Pendulum-v1",
        total_timesteps=150_000,
        settings={"num_envs": 4, "num_steps": 512, "learning_rate": 1e-3, "gamma": 0.9},
    ),
)


def start(
    studio: Studio,
    example: Example,
    done: Callable[[Sequence[RunRecord]], object],
    failed: Callable[[MosaicError], object],
) -> None:
    """Queue it and select it."""

    def ask(client: Client) -> Sequence[RunRecord]:
        return client.train(
            example.algo,
            env_id=example.env_id,
            total_timesteps=example.total_timesteps,
            label=example.title,
            settings=example.settings,
        )

    def answered(records: Sequence[RunRecord]) -> None:
        studio.select([record.run_id for record in records])
        done(records)

    studio.link.call(ask, answered, failed, brings_back=True)
