"""Returns after equal steps: CartPole-v1 on 5 seeds, continuous control side by side with Stable-Baselines3.

On Breakout, where the budgets are small, the goal is a curve that rises.

One process at a time. Each finished training is a file in var/bench and is not repeated, so this can be stopped and
started again; delete a file to train it anew. The long ones on Breakout are resumed where they were stopped. Exit code
1 if a goal is missed or not all is there.
"""

import argparse
import json
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bench import process

FOLDER = process.ROOT / "var" / "bench"
SOLVED = 475.0
Side = Literal["ours", "sb3"]

# CleanRL's q_lr of 1e-3 and policy_frequency of 2 cannot be told to SB3.
SAC = {"q_lr": 3e-4, "policy_frequency": 1}
EARLY = SAC | {"learning_starts": 1_000}


@dataclass(frozen=True, kw_only=True)
class Task:
    """One algorithm on one environment."""

    algo: str
    env_id: str
    steps: int
    seeds: tuple[int, ...]
    sides: tuple[Side, ...] = ("ours", "sb3")
    settings: dict[str, Any]
    last_episodes: int
    """The result is the mean return of so many episodes at the end of training, exploration included."""
    rises: bool = False
    """The goal is a result of at least twice the mean return of as many episodes at the beginning."""

    @property
    def name(self) -> str:
        return f"{self.algo}-{self.env_id}"

    def file(self, seed: int, side: Side) -> Path:
        return FOLDER / f"{self.name}-{self.steps}-{seed}-{side}.json"

    def returns(self, seed: int, side: Side) -> list[float] | None:
        """Of every episode; None if this was not trained yet, or with other settings."""
        try:
            found = json.loads(self.file(seed, side).read_text())
        except FileNotFoundError:
            return None
        return found["returns"] if found["settings"] == self.settings else None

    def train(self, seed: int, side: Side) -> list[float]:
        settings = {**self.settings, "env_id": self.env_id, "seed": seed, "total_timesteps": self.steps}
        if side == "ours" and self.rises:
            return process.our_long_run(self.algo, settings, self.file(seed, side).with_suffix(""))
        if side == "ours":
            return process.our_loop(self.algo, settings, {}, 0)["returns"]
        return process.sb3_loop(self.algo, settings, 0)["returns"]

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
        if "sb3" in self.sides:
            return "ok" if statistics.mean(ours) >= statistics.mean(sb3) else "below SB3"
        solved = sum(result >= SOLVED for result in ours)
        return f"{'ok' if solved == len(ours) else 'short'}: {solved} of {len(ours)} at {SOLVED:g} or more"


ONE, THREE, FIVE = (1,), (1, 2, 3), (1, 2, 3, 4, 5)
BREAKOUT = "BreakoutNoFrameskip-v4"
# Upstream's buffer, warm-up and exploration are made for a hundred times the steps.
SMALL = {"buffer_size": 100_000, "learning_starts": 5_000, "exploration_fraction": 0.3}
# SB3's PPO always does so.
BOOTSTRAP = {"bootstrap_truncated": True}


def _pixels(algo: str, steps: int, settings: dict[str, Any]) -> Task:
    """Hours on a CPU for each seed; one of ours only."""
    return Task(
        algo=algo,
        env_id=BREAKOUT,
        steps=steps,
        seeds=ONE,
        sides=("ours",),
        settings=settings,
        last_episodes=100,
        rises=True,
    )


PPO, SACS = "ppo_continuous_action", "sac_continuous_action"
TASKS = (
    Task(algo="ppo", env_id="CartPole-v1", steps=500_000, seeds=FIVE, sides=("ours",), settings={}, last_episodes=100),
    Task(algo="dqn", env_id="CartPole-v1", steps=500_000, seeds=FIVE, sides=("ours",), settings={}, last_episodes=100),
    Task(algo=PPO, env_id="InvertedPendulum-v5", steps=102_400, seeds=FIVE, settings=BOOTSTRAP, last_episodes=20),
    Task(algo=PPO, env_id="HalfCheetah-v5", steps=204_800, seeds=FIVE, settings=BOOTSTRAP, last_episodes=10),
    Task(algo=SACS, env_id="Pendulum-v1", steps=6_000, seeds=THREE, settings=EARLY, last_episodes=10),
    Task(algo=SACS, env_id="HalfCheetah-v5", steps=15_000, seeds=THREE, settings=SAC, last_episodes=5),
    _pixels("ppo_atari", 200_000, {}),
    _pixels("dqn_atari", 100_000, SMALL),
)


def unfinished(tasks: Sequence[Task]) -> Iterator[tuple[Task, int, Side]]:
    """Both sides of a seed after one another, so that a piece of the table can be compared early."""
    for task in tasks:
        for seed in task.seeds:
            for side in task.sides:
                if task.returns(seed, side) is None:
                    yield task, seed, side


def table(tasks: Sequence[Task]) -> str:
    """Markdown."""
    lines = ["| algorithm | environment | steps | ours | SB3 | result of | |", "|---|---|---|---|---|---|---|"]
    for task in tasks:
        ours, sb3 = (_mean_and_std(task.results(side)) for side in ("ours", "sb3"))
        last = f"last {task.last_episodes} episodes"
        lines.append(f"| {task.algo} | {task.env_id} | {task.steps:,} | {ours} | {sb3} | {last} | {task.verdict} |")
    return "\n".join(lines)


def _mean_and_std(results: Sequence[float]) -> str:
    if not results:
        return "–"
    each = ", ".join(f"{result:.1f}" for result in results)
    spread = statistics.stdev(results) if len(results) > 1 else float("nan")
    return f"{statistics.mean(results):.1f} ± {spread:.1f} (n = {len(results)}: {each})"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.learning", description=__doc__)
    parser.add_argument("--only", action="append", choices=[task.name for task in TASKS], help="repeatable")
    parser.add_argument("--show", action="store_true", help="print the table of what is there; train nothing")
    options = parser.parse_args()
    process.end_cleanly()
    tasks = [task for task in TASKS if not options.only or task.name in options.only]
    FOLDER.mkdir(parents=True, exist_ok=True)
    for task, seed, side in () if options.show else unfinished(tasks):
        returns = task.train(seed, side)
        file = task.file(seed, side)
        partial = file.with_suffix(".partial")
        partial.write_text(json.dumps({"settings": task.settings, "returns": returns}))
        partial.replace(file)
        last = statistics.mean(returns[-task.last_episodes :])
        print(f"{file.stem}: {last:.1f} over the last {min(task.last_episodes, len(returns))} episodes", flush=True)
    print(f"\n{table(tasks)}")
    return 0 if all(task.verdict.startswith("ok") for task in tasks) else 1


if __name__ == "__main__":
    raise SystemExit(main())
