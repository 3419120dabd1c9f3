"""`mosaic sweep` and its verbs, as a user types them."""

import io
import json
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mosaic import cli

from .conftest import Kit, SweepHome

SHORT = (
    "--total-timesteps",
    "512",
    "--num-envs",
    "2",
    "--num-steps",
    "32",
    "--num-minibatches",
    "1",
    "--no-tensorboard",
)
SCRIPT = """
import argparse
import gymnasium as gym
import wandb

parser = argparse.ArgumentParser()
parser.add_argument("--total-timesteps", type=int, default=200)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--lr", type=float, default=0.5)
parser.add_argument("--kind", default="none")
args = parser.parse_args()
run = wandb.init(project="x", mode="disabled", config=vars(args))
env = gym.make("CartPole-v1")
env.reset(seed=args.seed)
for step in range(args.total_timesteps):
    _, _, ended, cut, _ = env.step(env.action_space.sample())
    if ended or cut:
        env.reset()
assert wandb.config.lr == args.lr
wandb.log({"score": -abs(args.lr - 0.3) + (args.kind == "adam")}, step=args.total_timesteps)
"""
WANDB = """
program: train.py
method: grid
metric: {name: score, goal: maximize}
parameters:
  lr: {values: [0.1, 0.3, 0.9]}
  kind: {value: adam}
"""


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def objects(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


Mosaic = Callable[..., Said]


@pytest.fixture
def mosaic(shared: SweepHome, monkeypatch: pytest.MonkeyPatch) -> Mosaic:
    monkeypatch.setenv("MOSAIC_HOME", str(shared.home.root))
    for name in ("MOSAIC_TARGET", "MOSAIC_CERTIFICATE", "NO_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)

    def run(*words: str) -> Said:
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
        with redirect_stdout(out), redirect_stderr(err):
            try:
                code = cli.main(words)
            except SystemExit as end:  # tyro ends the process itself
                code = int(end.code or 0)
        texts = [stream.buffer.getvalue().decode() for stream in (out, err)]  # type: ignore[attr-defined]
        return Said(code, *texts)

    return run


def begin(mosaic: Mosaic, *words: str) -> str:
    said = mosaic("sweep", "ppo", *SHORT, "--prune", "none", "--confirm", "0", *words)
    assert said.code == 0, said.err
    return said.out.strip()


def test_a_sweep_by_its_flags_from_begin_to_export(mosaic: Mosaic, shared: SweepHome, tmp_path: Path) -> None:
    sweep_id = begin(
        mosaic, "--space", "learning_rate=log:1e-5..1e-2", "gamma=0.9,0.99", "--trials", "3", "--label", "mine"
    )
    followed = mosaic("sweep", "follow", "mine")
    assert followed.code == 0
    assert "trial 0 default  finished" in followed.out
    [listed] = [one for one in mosaic("sweeps", "--json").objects if one["sweep_id"] == sweep_id]
    assert (listed["phase"], listed["trials"], listed["ended"]) == ("finished", 3, 3)
    assert "mine" in mosaic("sweeps").out
    shown = mosaic("sweep", "show", sweep_id[-8:])
    assert "importance takes 8 trials that have ended, there are 3" in shown.out
    [whole] = mosaic("sweep", "show", "@last", "--json").objects
    assert len(whole["trial_list"]) == 3
    assert whole["trial_list"][0]["params"] == {"learning_rate": 0.00025, "gamma": 0.99}
    exported = mosaic("sweep", "export", sweep_id, str(tmp_path / "journal.log"))
    assert "3 trials written" in exported.out
    assert shared.state(sweep_id).plan.method == "tpe"


@pytest.mark.parametrize(
    ("words", "seeds"), [((), (1, (1,))), (("--seeds", "3-4"), (0, (3, 4))), (("--seed", "7"), (0, (7,)))]
)
def test_each_trial_has_its_own_seed_unless_the_user_names_some(
    mosaic: Mosaic, shared: SweepHome, words: tuple[str, ...], seeds: tuple[int, tuple[int, ...]]
) -> None:
    sweep_id = begin(mosaic, "--trials", "2", *words)
    plan = shared.state(sweep_id).plan
    assert (plan.own_seeds, plan.seeds) == seeds
    mosaic("sweep", "cancel", sweep_id)


def test_all_that_are_confirmed_have_all_seeds_if_asked_for(mosaic: Mosaic, shared: SweepHome) -> None:
    """The last --confirm counts; the first is that of `begin`."""
    both = [begin(mosaic, "--trials", "2", "--confirm", "5", *words) for words in ((), ("--confirm-all",))]
    plans = [shared.state(sweep_id).plan for sweep_id in both]
    assert [(plan.race, plan.confirm_runs) for plan in plans] == [(True, 35), (False, 60)]
    shown = [mosaic("sweep", "show", sweep_id).out for sweep_id in both]
    assert "a race of the best 5 over 10 fresh seeds, and the default with all of them: 35 runs at most" in shown[0]
    assert "the best 5 and the default again with 10 fresh seeds" in shown[1]
    for sweep_id in both:
        mosaic("sweep", "cancel", sweep_id)


def test_settings_of_the_environment_are_swept_too(mosaic: Mosaic, shared: SweepHome) -> None:
    sweep_id = begin(mosaic, "--space", "env.sutton_barto_reward=true,false", "--method", "grid", "--trials", "3")
    state = shared.until(sweep_id, "finished", "failed")
    assert state.phase == "finished", state.reason
    assert [trial.params for trial in state.trials] == [
        {"env.sutton_barto_reward": False},
        {"env.sutton_barto_reward": True},
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("ppoo",), "did you mean ppo"),
        (("ppo", "--space", "learning_rate=log:0..1"), "begins above 0"),
        (("ppo", "--seed", "1", "--confirm-seeds", "1-5"), "1 stands in --seeds too"),
        (("ppo", "--steps", "100"), "--steps: 100 is less than one trial, which takes 500,000"),
        (("ppo", "--trials", "1"), "--trials: 1 is the default settings alone"),
        (("ppo", "--hours", "-1"), "--hours"),
        (("ppo", "--method", "magic"), "'magic' is not known"),
        (("ppo", "--stop-at-return", "5"), "--stop-at-return is for a single run"),
        (("ppo", "--learnin-rate", "1"), "--learning-rate"),
        (("--trials", "3"), "the algorithm comes first"),
        (("shwo", "@last"), "'mosaic sweep shwo' is not a command; did you mean show?"),
        (("ppo", "--seeds", "101-102"), "101, 102 stand in --seeds too"),
        (("show", "nothing"), "sweep 'nothing' is not known"),
        (("no_such.yaml",), "cannot be read"),
    ],
)
def test_bad_words_are_told_in_the_users_words(mosaic: Mosaic, words: tuple[str, ...], said: str) -> None:
    done = mosaic("sweep", *words)
    assert done.code == 2, done.err
    assert said in done.err


def test_help_shows_the_flags_of_sweep_and_algorithm(mosaic: Mosaic) -> None:
    assert "mosaic sweep resume SWEEP --trial N" in mosaic("sweep", "--help").out
    said = mosaic("sweep", "ppo", "--help").out
    assert "--confirm-seeds" in said
    assert "--learning-rate" in said


def test_a_wandb_sweep_runs_a_script_unchanged(mosaic: Mosaic, shared: SweepHome, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "sweep.yaml").write_text(WANDB)
    assert mosaic("scripts", "add", str(tmp_path)).code == 0
    said = mosaic("sweep", str(tmp_path / "sweep.yaml"), "--confirm", "0")
    assert said.code == 0, said.err
    state = shared.until(said.out.strip(), "finished", "failed")
    assert state.phase == "finished", state.reason
    found = {trial.params.get("script.lr"): trial.value for trial in state.trials}
    assert found[0.3] == pytest.approx(1.0)
    assert found[0.9] == pytest.approx(0.4)


@pytest.mark.parametrize("program", ["ppo.py", "train.py"])
def test_seeds_of_a_wandb_grid_are_seeds_of_every_trial(
    mosaic: Mosaic, shared: SweepHome, tmp_path: Path, program: str
) -> None:
    """As a setting of the script they would lose against the seed of the run, and every fresh seed with them."""
    if program == "train.py":
        (tmp_path / program).write_text(SCRIPT)
        assert mosaic("scripts", "add", str(tmp_path)).code == 0
    name = {"ppo.py": "gamma", "train.py": "lr"}[program]
    file = tmp_path / "sweep.yaml"
    steps = "total_timesteps" if program == "ppo.py" else "total-timesteps"
    parameters = f"{name}: {{values: [0.9, 0.8]}}, seed: {{values: [1, 2]}}, {steps}: {{value: 512}}"
    file.write_text(f"program: {program}\nmethod: grid\nparameters: {{{parameters}}}\n")
    said = mosaic("sweep", str(file), "--confirm", "0", "--trials", "2")
    assert said.code == 0, said.err
    assert "every trial is run with each of these seeds, as --seeds 1,2" in said.err
    plan = shared.state(said.out.strip()).plan
    assert plan.seeds == (1, 2)
    assert [one.name.removeprefix("script.") for one in plan.space] == [name]
    mosaic("sweep", "cancel", said.out.strip())


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ("env_id: {values: [CartPole-v1, Acrobot-v1]}", "returns in different environments do not compare"),
        ("total_timesteps: {min: 100, max: 500}", "is the length of every trial"),
        ("gamme: {values: [0.9, 0.8]}", "is not a setting of ppo"),
        ("seed: {values: [1, 2]}", "leaves nothing to search"),
        ("gamma: {value: 0.9}", "leaves nothing to search"),
    ],
)
def test_what_a_wandb_sweep_of_an_algorithm_cannot_search_is_told(
    mosaic: Mosaic, tmp_path: Path, parameters: str, said: str
) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_text(f"program: ppo.py\nmethod: random\nparameters: {{{parameters}}}\n")
    done = mosaic("sweep", str(file))
    assert done.code == 2
    assert said in done.err


def test_a_block_of_rl_zoo3_makes_the_default_settings(
    mosaic: Mosaic, shared: SweepHome, tmp_path: Path, kit: type[Kit]
) -> None:
    file = tmp_path / "ppo.yml"
    file.write_text("CartPole-v1: {n_envs: 2, n_steps: 32, gamma: 0.97, policy: MlpPolicy, n_timesteps: 512}\n")
    said = mosaic(
        "sweep", "ppo", "--file", str(file), "--num-minibatches", "1", "--trials", "2", "--confirm", "0",
        "--space", "learning_rate=log:1e-4..1e-3",
    )  # fmt: skip
    assert said.code == 0, said.err
    assert "policy: 'MlpPolicy' has no setting here and is left out" in said.err
    state = shared.until(said.out.strip(), "finished")
    settings = state.plan.worker["extras"]["algo_params"]
    assert (settings["gamma"], settings["num_envs"], state.plan.total_timesteps) == (0.97, 2, 512)
