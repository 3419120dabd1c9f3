"""Learning curves as a picture, from what `bench.learning` left in var/bench.

    python -m bench.curves docs/pictures/learning-vectors.png CartPole-v1 Acrobot-v1 Pendulum-v1

One chart for each environment: the return of the last episodes over steps, mean of the seeds and the range between the
lowest and the highest. Solid is ours, dashed is Stable-Baselines3, dash-dotted a variant of ours. Trainings that did
not note when episodes ended are left out, by name.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from bench.learning import TASKS, Side, Task

mpl.use("Agg")
POINTS = 200
WINDOW = 20
"""Episodes that a point is the mean of."""
COLOURS = {
    "ppo": "#4c72b0",
    "ppo_continuous_action": "#4c72b0",
    "dqn": "#dd8452",
    "c51": "#55a868",
    "pqn": "#c44e52",
    "sac_continuous_action": "#8172b3",
    "td3_continuous_action": "#dd8452",
    "ddpg_continuous_action": "#55a868",
    "rpo_continuous_action": "#c44e52",
    "ppo_lstm": "#8172b3",
    "ppo_atari": "#4c72b0",
    "dqn_atari": "#dd8452",
    "c51_atari": "#55a868",
    "rainbow_atari": "#c44e52",
    "ppo_rnd": "#8172b3",
}


def curve(returns: Sequence[float], ends: Sequence[int], steps: Any) -> Any:
    """The mean return of the last episodes at each of `steps`; not a number before the first has ended."""
    sums = np.concatenate([[0.0], np.cumsum(returns)])
    ended = np.searchsorted(ends, steps, side="right")
    first = np.maximum(ended - WINDOW, 0)
    return np.where(ended > 0, (sums[ended] - sums[first]) / np.maximum(ended - first, 1), np.nan)


def curves_of(task: Task, side: Side) -> tuple[Any, Any] | None:
    """Steps, and one row for each seed; None if there is nothing to draw."""
    steps = np.linspace(0, task.steps, POINTS + 1)[1:]
    rows: list[Any] = []
    for seed in task.seeds:
        if task.returns(seed, side) is None:
            continue
        found = json.loads(task.file(seed, side).read_text())
        if found.get("ends") is None:
            print(f"left out: {task.file(seed, side).stem}")
            continue
        rows.append(curve(found["returns"], found["ends"], steps))
    return (steps, np.stack(rows)) if rows else None


def draw(axes: Any, env_id: str) -> None:
    for task in TASKS:
        for side in task.sides if task.env_id == env_id else ():
            drawn = curves_of(task, side)
            if drawn is None:
                continue
            steps, rows = drawn
            # Where not every seed has ended an episode yet, a mean would be of fewer.
            whole = ~np.isnan(rows).any(0)
            colour = COLOURS.get(task.algo, "#444444")
            name, where = task.algo.removesuffix("_continuous_action"), "SB3" if side == "sb3" else ""
            words = (name, task.variant, where, "GPU" if task.gpu else "")
            label = f"{', '.join(filter(None, words))} (n = {len(rows)})"
            style = "--" if side == "sb3" else "-." if task.variant else "-"
            axes.plot(steps[whole], rows[:, whole].mean(0), style, color=colour, label=label, linewidth=1.6)
            axes.fill_between(
                steps[whole], rows[:, whole].min(0), rows[:, whole].max(0), color=colour, alpha=0.12, linewidth=0
            )
    axes.set_title(env_id, fontsize=10)
    axes.set_xlabel("environment steps", fontsize=8)
    axes.set_ylabel(f"return, last {WINDOW} episodes", fontsize=8)
    axes.tick_params(labelsize=8)
    axes.ticklabel_format(axis="x", style="plain")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value / 1000:g}k")
    axes.grid(alpha=0.25)


def main() -> int:
    from matplotlib import pyplot

    parser = argparse.ArgumentParser(prog="python -m bench.curves", description=__doc__)
    parser.add_argument("picture", type=Path)
    parser.add_argument("environments", nargs="+", choices=sorted({task.env_id for task in TASKS}))
    options = parser.parse_args()
    columns = min(3, len(options.environments))
    rows = -(-len(options.environments) // columns)
    # A chart that stands alone is larger, and its many names stand beside it.
    alone = len(options.environments) == 1
    size = (8.6, 4.4) if alone else (4.6 * columns, 3.2 * rows)
    figure, charts = pyplot.subplots(rows, columns, figsize=size, squeeze=False)
    for axes in charts.flat[len(options.environments) :]:
        axes.set_visible(False)
    for axes, env_id in zip(charts.flat, options.environments, strict=False):
        draw(axes, env_id)
        axes.legend(fontsize=7, frameon=False, **({"loc": "upper left", "bbox_to_anchor": (1.01, 1)} if alone else {}))
    figure.tight_layout()
    options.picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(options.picture, dpi=110)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
