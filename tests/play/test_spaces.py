"""Policies with action masks, with several choices at once and with parts sit down and act."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cleanrl_worker import evaluate
from cleanrl_worker.sdk import main as train
from mosaic.envs import choice_tasks
from mosaic.spec.run_dir import Home, RunDir, new_run_id

BRIEF = "--num-steps=32 --total-timesteps=256 --no-cuda --quiet --no-tensorboard --no-fastlane-enabled"


def policy(folder: Path, *flags: str) -> Path:
    run_dir = Home(folder).run(new_run_id())
    assert train("ppo", [*flags, *BRIEF.split(), "--run-dir", str(run_dir.root)]) == 0
    return next(run_dir.root.rglob("*.cleanrl_model"))


def evaluated(path: Path, run_dir: RunDir, episodes: int) -> list[float]:
    flags = f"--episodes={episodes} --deterministic --seed=1 --quiet --no-tensorboard --no-fastlane-enabled"
    words = ["--policy-path", str(path), "--run-dir", str(run_dir.root), *flags.split()]
    assert evaluate.main(words) == 0
    events = [json.loads(line) for line in run_dir.events.read_bytes().splitlines()]
    return [each["values"]["eval/episodic_return"] for each in events if each["kind"] == "scalars"]


@pytest.mark.parametrize(
    "flags",
    [
        ("--env-id=mosaic/Doors-v0",),
        ("--env-id=mosaic/Dials-v0",),
        ("--env-id=mosaic/Switches-v0",),
        ("--env-id=mosaic/Signpost-v0", "--network=parts"),
        ("--env-id=MiniGrid-Empty-5x5-v0", "--network=parts"),
    ],
    ids=lambda flags: " ".join(flags),
)
def test_a_policy_plays_as_it_was_evaluated(flags: tuple[str, ...], play: Callable[..., Any], tmp_path: Path) -> None:
    path = policy(tmp_path / "trained", *flags)
    env_id = flags[0].removeprefix("--env-id=")
    played = play(env_id, f"policy:{path}", episodes=3, deterministic=True)
    assert played.code == 0
    returns = [episode["return"] for episode in played.summary["episodes"]]
    assert returns == pytest.approx(evaluated(path, Home(tmp_path).run(new_run_id()), 3))
    first = min(played.run_dir.episodes.glob("*.jsonl"))
    again = play(env_id, f"replay:{first}", episodes=1)
    assert [episode["return"] for episode in again.summary["episodes"]] == returns[:1]


@pytest.mark.parametrize("env_id", ["mosaic/Doors-v0", "mosaic/Dials-v0"])
def test_neither_a_policy_nor_chance_takes_what_a_mask_forbids(
    env_id: str, play: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[bool] = []
    for task in (choice_tasks.Doors, choice_tasks.Dials):
        monkeypatch.setattr(task, "_answer", noting(taken, task._answer))
    path = policy(tmp_path / "trained", f"--env-id={env_id}")
    assert len(taken) >= 256
    for who in (f"policy:{path}", "random"):
        before = len(taken)
        assert play(env_id, who, episodes=3).code == 0
        assert len(taken) >= before + 24
    assert all(taken)


def noting(taken: list[bool], right: Callable[..., float]) -> Callable[..., float]:
    def answer(task: Any, action: Any) -> float:
        if isinstance(task, choice_tasks.Doors):
            taken.append(bool(task.open[action]))
        else:
            taken.append(all(task.action_masks()[np.array([0, 3]) + action]))
        return right(task, action)

    return answer


def test_a_policy_with_masks_says_where_it_cannot_sit(
    play: Callable[..., Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = policy(tmp_path / "trained", "--env-id=mosaic/Doors-v0")
    assert play("CartPole-v1", f"policy:{path}", episodes=1).code == 2
    assert "it was trained in mosaic/Doors-v0" in capsys.readouterr().err
