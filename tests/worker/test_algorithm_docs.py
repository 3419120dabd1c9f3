"""Every algorithm's page (docs/algorithms, shown as help in the GUI) names each of its flags, defaults and metrics."""

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from cleanrl_worker.sdk import catalog
from cleanrl_worker.sdk.run import Run, RunSpec
from mosaic import config
from mosaic.spec import events
from mosaic.spec.run_config import TrainOptions
from mosaic.spec.run_dir import RunDir, new_run_id

PAGES = Path(__file__).parents[2] / "docs" / "algorithms"
EPISODE_TAGS = {"charts/episodic_return", "charts/episodic_length"}
ENV_IDS = {
    ("vector", "discrete"): "CartPole-v1",
    ("vector", "continuous"): "Pendulum-v1",
    ("pixels", "discrete"): "worker_pictures:Lights-v0",
}
SHORT = {
    "cuda": False,
    "total_timesteps": 600,
    "num_steps": 64,
    "num_minibatches": 4,
    "learning_starts": 100,
    "buffer_size": 1_000,
    "batch_size": 16,
}
"""Settings for a run of a second, for those algorithms that have them."""
SHORTER = {"ppo_rnd": {"num_envs": 2, "num_iterations_obs_norm_init": 1}}
"""Its defaults are for a hundred environments."""

every = pytest.mark.parametrize("name", catalog.names())


def rows(page: str, heading: str) -> dict[str, list[str]]:
    """The table below a heading, by the names in its first cell."""
    section = page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    cells = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| `")]
    return {name: rest for first, *rest in cells for name in re.findall("`([^`]+)`", first)}


def shown(default: Any) -> str:
    if default is None:
        return "none"
    if isinstance(default, bool):
        return "on" if default else "off"
    return f"`{default}`" if isinstance(default, str) else str(default)


def logged_tags(name: str, folder: Path) -> set[str]:
    """The tags of a real run, as a reader of its directory finds them."""
    algorithm = catalog.load(name)
    known = {field.name for field in fields(algorithm.Args)}
    settings = {key: value for key, value in SHORT.items() if key in known} | SHORTER.get(name, {})
    args = algorithm.Args(env_id=ENV_IDS[catalog.observations(name), algorithm.ACTIONS], **settings)
    run_dir = RunDir(folder / new_run_id())
    run_dir.create()
    spec = RunSpec(
        run_dir=run_dir, algo=name, args=config.to_json(args), options=TrainOptions(fastlane_enabled=False), quiet=True
    )
    with Run(spec) as run:
        algorithm.train(run, args)
    with run_dir.events.open("rb") as file:
        bodies = [event.body for event in events.decode_spool(file)]
    return {tag for body in bodies if isinstance(body, events.Scalars) for tag in body.values}


@every
def test_every_flag_stands_in_the_page_with_its_default(name: str) -> None:
    table = rows((PAGES / f"{name}.md").read_text(encoding="utf-8"), "Flags")
    arguments = fields(catalog.load(name).Args)
    assert list(table) == [config.flag_name(field.name) for field in arguments]
    for field in arguments:
        default, meaning = table[config.flag_name(field.name)]
        assert default == shown(field.default), field.name
        assert meaning


@every
def test_every_metric_that_a_run_logs_stands_in_the_page(name: str, tmp_path: Path) -> None:
    table = rows((PAGES / f"{name}.md").read_text(encoding="utf-8"), "Metrics")
    tags = logged_tags(name, tmp_path)
    assert "charts/SPS" in tags
    assert set(table) == tags | EPISODE_TAGS
    assert all(all(cells) for cells in table.values())
