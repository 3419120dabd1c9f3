"""Returns after equal steps: classic control beside CleanRL's figures, continuous control beside Stable-Baselines3.

On Breakout, where the budgets are small, the goal is a curve that rises.

One process at a time. Each finished training is a file in var/bench and is not repeated, so this can be stopped and
started again; delete a file to train it anew. The long ones on Breakout are resumed where they were stopped; those that
want a GPU are left out where there is none, and several can be started at once there, with --seed. Exit code 1 if a
goal is missed or not all is there.
"""

import argparse
import json
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch

from bench import page, process

FOLDER = process.ROOT / "var" / "bench"
NO_REFERENCE = "no reference"
"""SB3 has no such algorithm, and CleanRL publishes nothing for this task and budget."""
Side = Literal["ours", "sb3"]

# CleanRL's q_lr of 1e-3 and policy_frequency of 2 cannot be told to SB3.
SAC = {"q_lr": 3e-4, "policy_frequency": 1}
EARLY = SAC | {"learning_starts": 1_000}


@dataclass(frozen=True, kw_only=True)
class Task:
    """One algorithm on one environment."""

    algo: str
    variant: str = ""
    """What tells it from another task of the same algorithm on the same environment."""
    env_id: str
    steps: int
    seeds: tuple[int, ...]
    sides: tuple[Side, ...] = ("ours", "sb3")
    settings: dict[str, Any]
    last_episodes: int
    """The result is the mean return of so many episodes at the end of training, exploration included."""
    rises: bool = False
    """The goal is a result of at least twice the mean return of as many episodes at the beginning."""
    gpu: bool = False
    """It is trained on one: on a processor so many steps would take hours."""
    upstream: tuple[float, float] | None = None
    """CleanRL's published mean and standard deviation, if it has this task with this budget."""

    @property
    def name(self) -> str:
        return "-".join(filter(None, (self.algo, self.variant, self.env_id)))

    def file(self, seed: int, side: Side) -> Path:
        return FOLDER / f"{self.name.replace('/', '_')}-{self.steps}-{seed}-{side}.json"

    def returns(self, seed: int, side: Side) -> list[float] | None:
        """Of every episode; None if this was not trained yet, or with other settings."""
        try:
            found = json.loads(self.file(seed, side).read_text())
        except FileNotFoundError:
            return None
        return found["returns"] if found["settings"] == self.settings else None

    def train(self, seed: int, side: Side) -> list[float]:
        """The returns, kept in a file with the steps at which the episodes ended."""
        settings = {**self.settings, "env_id": self.env_id, "seed": seed, "total_timesteps": self.steps}
        if side == "ours" and self.rises:
            loop = process.our_long_run(self.algo, settings, self.file(seed, side).with_suffix(""), cuda=self.gpu)
        elif side == "ours":
            loop = process.our_loop(self.algo, settings, {}, 0)
        else:
            loop = process.sb3_loop(self.algo, settings, 0)
        partial = self.file(seed, side).with_suffix(".partial")
        partial.write_text(json.dumps({"settings": self.settings, "returns": loop["returns"], "ends": loop["ends"]}))
        partial.replace(self.file(seed, side))
        return loop["returns"]

    def results(self, side: Side) -> list[float]:
        """Of the seeds that are there."""
        found = [returns for seed in self.seeds if (returns := self.returns(seed, side)) is not None]
        return [statistics.mean(returns[-self.last_episodes :]) for returns in found]

    @property
    def verdict(self) -> str:
        ours, sb3 = self.results("ours"), self.results("sb3")
        if any(len(self.results(side)) < len(self.seeds) for side in self.sides):
            return "incomplete"
        if self.rises:
            firsts = [statistics.mean((self.returns(seed, "ours") or [])[: self.last_episodes]) for seed in self.seeds]
            risen = sum(last >= 2 * first for first, last in zip(firsts, ours, strict=True))
            began = ", ".join(f"{first:.1f}" for first in firsts)
            return f"{'ok' if risen == len(ours) else 'short'}: {risen} of {len(ours)} at least doubled, from {began}"
        if self.upstream is not None:
            mean, std = self.upstream
            within = statistics.mean(ours) >= mean - std
            return f"{'ok' if within else 'below its band'}: CleanRL {mean} ± {std}"
        if "sb3" in self.sides:
            return "ok" if statistics.mean(ours) >= statistics.mean(sb3) else "below SB3"
        return NO_REFERENCE


THREE, FIVE, TEN = (1, 2, 3), (1, 2, 3, 4, 5), tuple(range(1, 11))
BREAKOUT = "BreakoutNoFrameskip-v4"
# Upstream's buffer, warm-up and exploration are made for a hundred times the steps.
SOON = {"buffer_size": 100_000, "learning_starts": 5_000}
SMALL = SOON | {"exploration_fraction": 0.3}
# Upstream's settings are made for three thousand times the steps: here those of ppo_atari, with curiosity.
CURIOUS = {"num_envs": 8, "num_iterations_obs_norm_init": 5, "learning_rate": 2.5e-4, "gamma": 0.99, "ent_coef": 0.01}
# SB3's PPO always does so.
BOOTSTRAP = {"bootstrap_truncated": True}


PPO, SACS = "ppo_continuous_action", "sac_continuous_action"
TD3, DDPG = "td3_continuous_action", "ddpg_continuous_action"
# Half the batch takes half the time, on both sides.
FIRST = {"learning_starts": 1_000, "batch_size": 128}
# SB3's DDPG has no delayed policy.
UNDELAYED = {"policy_frequency": 1}


classic = partial(Task, sides=("ours",), steps=500_000, settings={}, last_episodes=100)
"""With all defaults, beside CleanRL's published figure."""
pixels = partial(Task, sides=("ours",), env_id=BREAKOUT, last_episodes=100, rises=True)


def _alone(algo: str, env_id: str, steps: int, seeds: tuple[int, ...], settings: dict[str, Any], last: int) -> Task:
    """Without anything to stand beside it but our own other algorithms."""
    return Task(
        algo=algo, env_id=env_id, steps=steps, seeds=seeds, sides=("ours",), settings=settings, last_episodes=last
    )


# Where learning is over in a minute or two of a processor: which of them needs fewer steps.
SHORT_POLE = {"env_id": "CartPole-v1", "steps": 50_000, "seeds": FIVE, "last": 20}
SHORT_PENDULUM = {"env_id": "Pendulum-v1", "steps": 4_000, "seeds": FIVE, "last": 5}
NARROW = {"critic_width": 256}
NARROWER = {"critic_width": 128, "critic_blocks": 1}


def _short(algo: str, task: dict[str, Any], settings: dict[str, Any]) -> Task:
    return replace(_alone(algo, settings=settings, **task), variant="short")


TASKS = (
    classic(algo="ppo", env_id="CartPole-v1", upstream=(490.0, 6.1), seeds=FIVE),
    classic(algo="dqn", env_id="CartPole-v1", upstream=(488.7, 16.1), seeds=FIVE),
    classic(algo="ppo", env_id="Acrobot-v1", upstream=(-86.4, 1.3), seeds=FIVE),
    classic(algo="dqn", env_id="Acrobot-v1", upstream=(-91.5, 7.2), seeds=THREE),
    classic(algo="c51", env_id="CartPole-v1", upstream=(481.2, 20.5), seeds=FIVE),
    classic(algo="pqn", env_id="CartPole-v1", upstream=(495.1, 6.9), seeds=TEN),
    classic(algo="c51", env_id="Acrobot-v1", upstream=(-87.7, 5.5), seeds=THREE),
    classic(algo="pqn", env_id="Acrobot-v1", upstream=(-95.6, 5.7), seeds=THREE),
    Task(algo=PPO, env_id="InvertedPendulum-v5", steps=102_400, seeds=FIVE, settings=BOOTSTRAP, last_episodes=20),
    Task(algo=PPO, env_id="HalfCheetah-v5", steps=204_800, seeds=FIVE, settings=BOOTSTRAP, last_episodes=10),
    Task(algo=SACS, env_id="Pendulum-v1", steps=6_000, seeds=THREE, settings=EARLY, last_episodes=10),
    Task(algo=SACS, env_id="HalfCheetah-v5", steps=15_000, seeds=THREE, settings=SAC, last_episodes=5),
    pixels(algo="ppo_atari", steps=200_000, settings={}, seeds=(1,)),
    pixels(algo="dqn_atari", steps=100_000, settings=SMALL, seeds=(1,)),
    pixels(algo="ppo_atari", steps=600_000, settings={}, seeds=THREE, gpu=True),
    pixels(algo="ppo_atari", steps=600_000, settings={"bfloat16": True}, seeds=THREE, variant="bfloat16", gpu=True),
    pixels(algo="dqn_atari", steps=400_000, settings=SMALL, seeds=THREE, gpu=True),
    pixels(algo="c51_atari", steps=400_000, settings=SMALL, seeds=THREE, gpu=True),
    pixels(algo="rainbow_atari", steps=200_000, settings=SOON, seeds=THREE, gpu=True),
    pixels(algo="ppo_rnd", steps=600_000, settings=CURIOUS, seeds=THREE, gpu=True),
    Task(algo=TD3, env_id="Pendulum-v1", steps=15_000, seeds=FIVE, settings=FIRST, last_episodes=10),
    Task(algo=DDPG, env_id="Pendulum-v1", steps=15_000, seeds=FIVE, settings=FIRST | UNDELAYED, last_episodes=10),
    _alone("rpo_continuous_action", "InvertedPendulum-v5", 102_400, FIVE, BOOTSTRAP, 20),
    _alone("rpo_continuous_action", "HalfCheetah-v5", 204_800, FIVE, BOOTSTRAP, 10),
    _alone("ppo_lstm", "mosaic/Recall-v0", 20_480, THREE, {"learning_rate": 2e-3}, 100),
    _alone("ppo", "mosaic/Recall-v0", 20_480, THREE, {"learning_rate": 2e-3, "num_envs": 8}, 100),
    _alone("ppo_lstm", "mosaic/CartPoleNoVelocity-v1", 500_000, THREE, {}, 100),
    _alone("ppo", "mosaic/CartPoleNoVelocity-v1", 500_000, THREE, {"num_envs": 8}, 100),
    Task(algo=TD3, env_id="InvertedPendulum-v5", steps=8_000, seeds=THREE, settings=FIRST, last_episodes=10),
    Task(
        algo=DDPG, env_id="InvertedPendulum-v5", steps=8_000, seeds=THREE, settings=FIRST | UNDELAYED, last_episodes=10
    ),
    _short("dqn", SHORT_POLE, {"learning_starts": 1_000}),
    _short("c51", SHORT_POLE, {"learning_starts": 1_000}),
    _short("qr_dqn", SHORT_POLE, {"learning_starts": 1_000}),
    _short("sac_discrete", SHORT_POLE, {"learning_starts": 1_000}),
    _short(SACS, SHORT_PENDULUM, FIRST),
    _short("tqc_continuous_action", SHORT_PENDULUM, FIRST),
    _short("crossq_continuous_action", SHORT_PENDULUM, FIRST | NARROW),
    _short("simba_sac_continuous_action", SHORT_PENDULUM, FIRST | NARROWER),
)


def unfinished(tasks: Sequence[Task], seeds: Sequence[int]) -> Iterator[tuple[Task, int, Side]]:
    """Both sides of a seed after one another, so that a piece of the table can be compared early."""
    for task in tasks:
        if task.gpu and not torch.cuda.is_available():
            continue
        for seed in task.seeds if not seeds else set(task.seeds) & set(seeds):
            for side in task.sides:
                if task.returns(seed, side) is None:
                    yield task, seed, side


def table(tasks: Sequence[Task]) -> str:
    """Markdown."""
    head = ["| algorithm | environment | steps | ours | SB3 | result of | |", "|---|---|---|---|---|---|---|"]
    return "\n".join([*head, *map(row, tasks)])


def row(task: Task) -> str:
    ours, sb3 = (_mean_and_std(task.results(side)) for side in ("ours", "sb3"))
    last = f"last {task.last_episodes} episodes"
    algo = ", ".join(filter(None, (task.algo, task.variant)))
    steps = f"{task.steps:,}{' (GPU)' if task.gpu else ''}"
    return f"| {algo} | {task.env_id} | {steps} | {ours} | {sb3} | {last} | {task.verdict} |"


def _mean_and_std(results: Sequence[float]) -> str:
    if not results:
        return "–"
    digits = 1 if max(map(abs, results)) > 10 else 2
    each = ", ".join(f"{result:.{digits}f}" for result in results)
    spread = f" ± {statistics.stdev(results):.{digits}f}" if len(results) > 1 else ""
    return f"{statistics.mean(results):.{digits}f}{spread} (n = {len(results)}: {each})"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.learning", description=__doc__)
    names = list(dict.fromkeys(task.name for task in TASKS))
    parser.add_argument("--only", action="append", choices=names, help="repeatable")
    parser.add_argument("--seed", action="append", type=int, default=[], help="train this one only; repeatable")
    parser.add_argument("--gpu", action="store_true", help="only what is trained on a GPU")
    parser.add_argument("--show", action="store_true", help="print the table of what is there; train nothing")
    parser.add_argument("--write", action="store_true", help="put the rows that have results into docs/benchmarks.md")
    options = parser.parse_args()
    process.end_cleanly()
    tasks = [task for task in TASKS if not options.only or task.name in options.only]
    tasks = [task for task in tasks if task.gpu or not options.gpu]
    FOLDER.mkdir(parents=True, exist_ok=True)
    for task, seed, side in () if options.show else unfinished(tasks, options.seed):
        returns = task.train(seed, side)
        last, name = statistics.mean(returns[-task.last_episodes :]), task.file(seed, side).stem
        print(f"{name}: {last:.1f} over the last {min(task.last_episodes, len(returns))} episodes", flush=True)
    print(f"\n{table(tasks)}")
    if options.write:
        measured = [row(task) for task in tasks if task.results("ours")]
        page.write_rows("## Learning", measured, key_cells=3)
    return 0 if all(task.verdict.startswith(("ok", NO_REFERENCE)) for task in tasks) else 1


if __name__ == "__main__":
    raise SystemExit(main())
