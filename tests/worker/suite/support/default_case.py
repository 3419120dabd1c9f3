"""How the shared suite runs an algorithm that has no line in `CASES`: what its file and its page say is enough.

A line there gives it settings of its own, and a test that it learns.
"""

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

from worker_cases import CASES, CHARTS, LIGHTS, Case

from cleanrl_worker.sdk.command import algorithm_catalogue

PAGES = Path(__file__).parents[4] / "docs" / "algorithms"
ENVIRONMENTS = {
    ("discrete", "vector"): "CartPole-v1",
    ("discrete", "discrete"): "FrozenLake-v1",
    ("continuous", "vector"): "Pendulum-v1",
    ("discrete", "pixels"): LIGHTS,
}
OFF_POLICY = {"buffer_size": 500, "learning_starts": 100, "batch_size": 16, "target_network_frequency": 50}
ON_POLICY = {"num_envs": 2, "num_steps": 32, "num_minibatches": 2, "update_epochs": 2}


def case_of(algo: str) -> Case:
    if algo in CASES:
        return CASES[algo]
    algorithm = algorithm_catalogue.load(algo)
    known = {field.name for field in fields(algorithm.Args)}
    chosen: dict[str, Any] = OFF_POLICY if "buffer_size" in known else ON_POLICY
    seen = algorithm_catalogue.needed_observations(algo)
    return Case(
        algo=algo,
        env_id=ENVIRONMENTS[algorithm_catalogue.kinds_of(algorithm)[0], seen],
        total_timesteps=320 if seen == "pixels" else 600 if "buffer_size" in known else 2048,
        settings={name: value for name, value in chosen.items() if name in known},
        tags=metrics_of(algo) - CHARTS,
    )


def metrics_of(algo: str) -> frozenset[str]:
    """Those of the table in its page."""
    page = (PAGES / f"{algo}.md").read_text(encoding="utf-8")
    section = page.partition("\n## Metrics\n")[2].partition("\n## ")[0]
    first_cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return frozenset(name for cell in first_cells for name in re.findall("`([^`]+)`", cell))
