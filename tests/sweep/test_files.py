"""Files of other tools: W&B sweeps run unchanged, rl-zoo3's settings are read, and what does not map is named."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from mosaic.errors import ConfigError
from mosaic.sweep import wandb_sweep, zoo_file
from mosaic.sweep.wandb_sweep import WandbSweep

WANDB = """
program: train.py
name: lander
project: rl
method: bayes
metric: {name: charts/episodic_return, goal: maximize}
parameters:
  learning_rate: {distribution: log_uniform_values, min: 0.00001, max: 0.01}
  batch_size: {values: [32, 64, 128]}
  optimizer: {value: adam}
  epochs: {min: 1, max: 10}
  dropout: {distribution: uniform, min: 0, max: 0.5}
  units: {distribution: q_uniform, min: 16, max: 64, q: 16}
  net: {parameters: {depth: {values: [1, 2]}}}
early_terminate: {type: hyperband, min_iter: 3}
run_cap: 12
command: ["${env}", python, "${program}", "--fast", "${args}"]
"""


def read(text: str) -> WandbSweep:
    return wandb_sweep.read(yaml.safe_load(text), what="sweep.yaml")


def refusal(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        read(text)
    return str(caught.value)


def test_a_wandb_sweep_is_read_as_it_is() -> None:
    found = read(WANDB)
    assert (found.program, found.method, found.metric, found.goal) == (
        "train.py",
        "tpe",
        "charts/episodic_return",
        "maximize",
    )
    assert (found.prune, found.run_cap, found.constants) == ("hyperband", 12, {"optimizer": "adam"})
    space = {one.name: one for one in found.space}
    assert (space["learning_rate"].scale, space["learning_rate"].low) == ("log", 1e-5)
    assert space["batch_size"].choices == (32, 64, 128)
    assert (space["epochs"].whole, space["dropout"].whole) == (True, False)
    assert space["units"].choices == (16, 32, 48, 64)
    assert space["net.depth"].choices == (1, 2)


def test_what_has_no_place_is_named() -> None:
    said = "\n".join(read(WANDB).notes)
    assert "--fast has no place here" in said
    assert "min_iter count the lines that a run logs" in said
    assert "'imageuri' has no place" in "\n".join(read(WANDB + "imageuri: x\n").notes)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("method: bayes", "parameters: is empty"),
        ("method: magic\nparameters: {a: {values: [1, 2]}}", "'magic' is not known"),
        ("parameters: {a: {distribution: normal, mu: 0, sigma: 1}}", "has no min and max"),
        ("parameters: {a: {distribution: beta, min: 0, max: 1}}", "cannot be searched here"),
        ("parameters: {a: {min: 1e-5, max: 0.1}}", "is a text to YAML"),
        ("parameters: {a: 3}", "needs value, values, or min and max"),
        ("parameters: {a: {values: [1, 2]}}\nearly_terminate: {type: median}", "must be hyperband"),
        ("parameters: {a: {values: [1, 2]}}\nmetric: {goal: minimize}", "needs a name"),
        ("parameters: {a: {values: [1, 2]}}\nrun_cap: many", "run_cap"),
    ],
)
def test_what_would_change_the_search_is_refused(text: str, said: str) -> None:
    assert said in refusal(text)


def test_no_yaml_is_told_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "sweep.yaml"
    path.write_text("a: [1, 2\nb: }")
    with pytest.raises(ConfigError, match="line 2"):
        wandb_sweep.read_yaml(path)
    path.write_text("- 1\n")
    with pytest.raises(ConfigError, match="is not a mapping"):
        wandb_sweep.read_yaml(path)


ZOO = """
default: &defaults
  n_envs: 8
CartPole-v1:
  <<: *defaults
  n_timesteps: !!float 1e5
  policy: 'MlpPolicy'
  n_steps: 32
  batch_size: 256
  gae_lambda: 0.8
  gamma: 0.98
  n_epochs: 20
  ent_coef: 0.0
  learning_rate: lin_0.001
  clip_range: lin_0.2
  normalize: true
"""
PPO: dict[str, Any] = {
    name: {"type": "integer" if name.startswith(("num", "total", "update")) else "number"}
    for name in [
        "num_envs",
        "total_timesteps",
        "num_steps",
        "num_minibatches",
        "gae_lambda",
        "gamma",
        "update_epochs",
        "ent_coef",
        "learning_rate",
        "anneal_lr",
        "clip_coef",
    ]
}


def test_a_block_of_rl_zoo3_becomes_settings_of_ours() -> None:
    found = zoo_file.read(yaml.safe_load(ZOO), "CartPole-v1", PPO, what="ppo.yml")
    assert found.settings == {
        "num_envs": 8,
        "total_timesteps": 100_000,
        "num_steps": 32,
        "num_minibatches": 1,
        "gae_lambda": 0.8,
        "gamma": 0.98,
        "update_epochs": 20,
        "ent_coef": 0.0,
        "learning_rate": 0.001,
        "anneal_lr": True,
        "clip_coef": 0.2,
    }
    said = "\n".join(found.notes)
    assert "policy: 'MlpPolicy' has no setting here" in said
    assert "normalize: True has no setting here" in said
    assert "clip_range: lin_0.2 falls to zero there" in said


def test_an_environment_that_the_file_lacks_is_told() -> None:
    with pytest.raises(ConfigError, match=r"no block 'CartPole-v9'.*did you mean CartPole-v1"):
        zoo_file.read(yaml.safe_load(ZOO), "CartPole-v9", PPO, what="ppo.yml")


def test_off_policy_settings_keep_their_batch() -> None:
    known = {name: {"type": "number"} for name in ("batch_size", "policy_lr", "q_lr", "buffer_size", "end_e")}
    data = {"X-v0": {"batch_size": 256, "learning_rate": 3e-4, "exploration_final_eps": 0.1, "train_freq": 4}}
    found = zoo_file.read(data, "X-v0", known, what="sac.yml")
    assert found.settings == {"batch_size": 256, "policy_lr": 3e-4, "q_lr": 3e-4, "end_e": 0.1}
    assert found.notes == ["sac.yml: train_freq: 4 has no setting here and is left out"]
