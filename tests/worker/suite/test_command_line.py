"""The command line: flags and config files, what overrides what, and what is said about bad input."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from worker_cases import CASES, flags_of
from worker_runs import board_of, events_of, new_run, run_command, train

from cleanrl_worker import cli
from cleanrl_worker.sdk.command import algorithm_catalogue
from mosaic import config
from mosaic.spec import manifest, run_config
from mosaic.spec.events import RunCompleted, RunStarted, Warned
from mosaic.spec.files import disk_room
from mosaic.spec.run_dir import RunDir, new_run_id

PPO = CASES["ppo"]
BRIEF = ("--total-timesteps=128", "--num-envs=2", "--num-steps=32", "--quiet")
WORKER: dict[str, Any] = {
    "algo": "ppo",
    "env_id": "CartPole-v1",
    "total_timesteps": 128,
    "seed": 7,
    "worker_id": "w1",
    "agent_id": "a1",
    "extras": {"algo_params": {"num_envs": 2, "num_steps": 16}, "notes": "hello", "save_model": False},
}


def whole(worker: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "run_name": "walker, seed 1",
        "environment": {"env_id": worker["env_id"]},
        "artifacts": {"tensorboard": {"enabled": False}, "wandb": {"enabled": False}},
        "resources": {"cpus": 1, "gpus": 0.5},
        "metadata": {"ui": {"tab": 3}, "worker": {"module": "cleanrl_worker.cli", "config": worker}},
    } | changes


@pytest.fixture
def config_file(tmp_path: Path) -> Path:
    return tmp_path / "config.json"


def refused(capsys: pytest.CaptureFixture[str], *flags: str) -> str:
    """What stderr says when the command ends with 2, having written nothing."""
    try:
        code = cli.main(flags)
    except SystemExit as ended:  # The parser ends the process itself.
        code = ended.code
    said = capsys.readouterr().err
    assert code == 2, said
    return " ".join(said.replace("│", " ").split())


def test_a_new_run_is_made_in_the_home(own_home: Path) -> None:
    assert cli.main(["--algo=ppo", *BRIEF]) == 0
    [folder] = (own_home / "trainer" / "runs").iterdir()
    assert events_of(RunDir(folder))[-1].body == RunCompleted(global_step=128)


def test_a_run_config_is_trained_and_kept_whole(config_file: Path, run_dir: RunDir) -> None:
    config_file.write_text(json.dumps(whole(WORKER)))
    train(run_dir, "--config", str(config_file))
    first = events_of(run_dir)[0].body
    assert isinstance(first, RunStarted)
    assert (first.algo, first.seed, first.total_timesteps) == ("ppo", 7, 128)
    kept = run_config.parse(config.loads(run_dir.config.read_bytes()))
    assert (kept.run_name, kept.resources.gpus, kept.metadata.ui) == ("walker, seed 1", 0.5, {"tab": 3})
    worker = kept.metadata.worker.config
    assert (worker.worker_id, worker.agent_id, worker.extras.notes) == ("w1", "a1", "hello")
    kinds = {artifact.kind for artifact in manifest.read(run_dir).artifacts}
    assert kinds == {"events", "log", "checkpoint"}  # Neither TensorBoard nor a policy was asked for.


def test_a_bare_worker_config_is_trained(config_file: Path, run_dir: RunDir) -> None:
    config_file.write_text(json.dumps(WORKER))
    train(run_dir, "--config", str(config_file))
    assert events_of(run_dir)[-1].body == RunCompleted(global_step=128)


def test_flags_override_the_config(config_file: Path, run_dir: RunDir) -> None:
    config_file.write_text(json.dumps(WORKER))
    flags = ("--seed=9", "--total-timesteps=96", "--num-steps=8", "--save-model", "--notes=changed")
    train(run_dir, "--config", str(config_file), *flags)
    kept = run_config.parse(config.loads(run_dir.config.read_bytes())).metadata.worker.config
    assert (kept.seed, kept.total_timesteps, kept.extras.notes) == (9, 96, "changed")
    assert isinstance(kept.extras, run_config.TrainExtras)
    assert (kept.extras.algo_params["num_steps"], kept.extras.algo_params["num_envs"]) == (8, 2)
    assert any(artifact.kind == "policy" for artifact in manifest.read(run_dir).artifacts)


def test_the_kept_config_makes_the_same_run_again(run_dir: RunDir, tmp_path: Path) -> None:
    train(run_dir, "--algo=ppo", *BRIEF, "--learning-rate=0.001")
    again = new_run(tmp_path)
    train(again, "--config", str(run_dir.config))
    assert again.config.read_text() == run_dir.config.read_text()


def test_a_key_in_the_config_is_written_nowhere(config_file: Path, run_dir: RunDir) -> None:
    worker = WORKER | {"extras": WORKER["extras"] | {"wandb_api_key": "secret-123"}}
    config_file.write_text(json.dumps(whole(worker)))
    train(run_dir, "--config", str(config_file))
    for file in run_dir.root.rglob("*"):
        assert not file.is_file() or b"secret-123" not in file.read_bytes()


def test_all_that_is_wrong_with_a_config_is_listed_at_once(
    config_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    worker = WORKER | {
        "seed": -1,
        "speed": 3,
        "extras": {"grid_limit": 999, "algo_params": {"gamma": 7, "learning_rat": 1, "env_id": "x"}},
    }
    config_file.write_text(json.dumps(whole(worker, artifacts={})))
    said = refused(capsys, "--config", str(config_file))
    base = "metadata.worker.config."
    for problem in (
        f"{base}seed: must be greater than or equal to 0 (got -1)",
        f"{base}speed: is not a known key",
        f"{base}extras.grid_limit: must be less than or equal to 64 (got 999)",
        f"{base}extras.algo_params.gamma: must be less than or equal to 1 (got 7)",
        f"{base}extras.algo_params.learning_rat: is not a known key",
        f"{base}extras.algo_params.env_id: stands beside extras, as 'env_id'",
    ):
        assert problem in said


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "not JSON"),
        ("[]", "must be a JSON object"),
        ('{"env_id": "CartPole-v1"}', "algo: is missing"),
        ('{"algo": "ppo"}', "env_id: is missing"),
        ('{"algo": "pppo", "env_id": "CartPole-v1"}', "algorithm 'pppo' is not known; did you mean ppo?"),
        (json.dumps({**WORKER, "extras": {"mode": "play"}}), "'play' is not a training run"),
        (
            json.dumps({**WORKER, "extras": {"algo_params": {"num_minibatches": 1000, "num_envs": 1}}}),
            "extras.algo_params.num_minibatches: is 1000, more than the 128 steps of a rollout",
        ),
    ],
)
def test_a_bad_config_says_why(
    text: str, complaint: str, config_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config_file.write_text(text)
    assert complaint in refused(capsys, "--config", str(config_file))


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        ([], "--algo: is missing; there are bc, bdi_q, c51,"),
        (["--algo=pppo"], "algorithm 'pppo' is not known; did you mean ppo?"),
        (["--algo=ppo", "--learning-rat=1"], "--learning-rate"),
        (
            ["--algo=ppo", "--total-timesteps=many"],
            "--total-timesteps: is not a number; write 1e6, 10M or 2.5e-4 (got 'many')",
        ),
        (["--algo=ppo", "--learning-rate=-1"], "--learning-rate: must be greater than 0 (got -1.0)"),
        (["--algo=ppo", "--learning-rate", "-1"], "--learning-rate: must be greater than 0 (got -1.0)"),
        (["--algo=ppo", "--gamma=nan"], "--gamma: must be a finite number"),
        (["--algo=ppo", "--clip-coef=inf"], "--clip-coef: must be a finite number"),
        (["--algo=ppo", "--seed=-1"], "--seed: must be greater than or equal to 0"),
        (["--algo=ppo", "--num-envs=0"], "--num-envs: must be greater than or equal to 1 (got 0)"),
        (["--algo=ppo", "--checkpoints-kept=0"], "--checkpoints-kept: must be greater than or equal to 1"),
        (
            ["--algo=ppo", "--num-minibatches=9999"],
            "--num-minibatches: is 9999, more than the 512 steps of a rollout (--num-envs × --num-steps)",
        ),
        (["--algo=dqn", "--tau=0"], "--tau: must be greater than 0"),
        (["--algo=ppo", "--env-id=CartPol-v1"], "environment 'CartPol-v1' is not known; did you mean CartPole-v1?"),
        (["--algo=ppo", "--env-id=CartPole-v9"], "did you mean CartPole-v1?"),
        (["--algo=ppo", "--run-dir=here"], "'here' is not a run id"),
        (["--algo=ppo", "--config=nowhere.json"], "nowhere.json: 1 problem cannot be read: No such file"),
        (["--resume=nowhere"], "'nowhere' is not a run id"),
        (["--resume=01K9CG05J5Y0FFQMT1T920EZK2"], "holds no run to go on with"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_flags_say_why(flags: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert complaint in refused(capsys, *flags)


def test_a_run_that_would_not_make_one_step_is_refused(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = refused(capsys, "--algo=dqn", "--total-timesteps=2", "--num-envs=3")
    assert "--total-timesteps: is 2, less than --num-envs, 3: not one step would be made" in told
    assert not own_home.exists()


@pytest.mark.parametrize(("steps", "warnings"), [(50, 1), (51, 0)])
def test_a_run_that_ends_before_it_learns_is_warned_of(steps: int, warnings: int, run_dir: RunDir) -> None:
    train(run_dir, "--algo=dqn", "--learning-starts=50", f"--total-timesteps={steps}")
    told = [event.body.message for event in events_of(run_dir) if isinstance(event.body, Warned)]
    assert told == warnings * ["nothing will be learnt: learning starts after 50 steps, and the run ends after 50"]


def test_all_bad_values_are_listed_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, "--algo=ppo", "--gamma=7", "--num-envs=-2", "--grid-limit=0", "--learning-rate=nan")
    assert "4 problems" in said
    assert all(flag in said for flag in ("--gamma", "--num-envs", "--grid-limit", "--learning-rate"))


@pytest.mark.parametrize("algo", algorithm_catalogue.names())
def test_an_environment_that_does_not_fit_names_the_algorithms_that_do(
    algo: str, capsys: pytest.CaptureFixture[str]
) -> None:
    kinds = algorithm_catalogue.kinds_of(algorithm_catalogue.load(algo))
    if {"discrete", "continuous"} <= set(kinds):
        pytest.skip(f"{algo} takes both")
    discrete = "discrete" in kinds
    said = refused(capsys, f"--algo={algo}", f"--env-id={'Pendulum-v1' if discrete else 'CartPole-v1'}")
    fits = algorithm_catalogue.fitting("continuous" if discrete else "discrete")
    assert algo not in fits
    assert f"use {', '.join(fits)}" in said


def test_for_a_game_the_algorithms_on_pictures_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, "--algo=td3_continuous_action", "--env-id=BreakoutNoFrameskip-v4")
    assert f"use {', '.join(algorithm_catalogue.fitting('discrete', 'pixels'))}" in said


def test_help_names_the_algorithms_and_with_one_its_flags(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in algorithm_catalogue.names())
    with pytest.raises(SystemExit) as ended:
        cli.main(["--algo=dqn", "--help"])
    assert ended.value.code == 0
    said = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "--target-network-frequency" in said
    assert "Environment steps between two updates of the target network" in said
    assert "--checkpoint-interval-s" in said


def test_an_existing_run_is_not_trained_over(run_dir: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    train(run_dir, "--algo=ppo", *BRIEF)
    before = run_dir.events.read_bytes()
    said = refused(capsys, "--algo=ppo", *BRIEF, "--run-dir", str(run_dir.root))
    assert f"already holds a run; go on with --resume {run_dir.root}" in said
    assert run_dir.events.read_bytes() == before


def test_resuming_into_another_directory_is_refused(
    run_dir: RunDir, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train(run_dir, "--algo=ppo", *BRIEF)
    said = refused(capsys, "--resume", str(run_dir.root), "--run-dir", str(tmp_path / new_run_id()))
    assert "--run-dir: is not the run of --resume" in said


def test_a_home_that_cannot_be_written_is_said_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MOSAIC_HOME", "/dev/null/home")
    assert cli.main(["--algo=ppo", *BRIEF]) == 4
    assert "set MOSAIC_HOME to a folder that you can write to" in capsys.readouterr().err


def test_a_disk_without_room_is_refused_before_anything_is_made(
    own_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(disk_room, "NEEDED_BYTES", 2**60)
    assert cli.main(["--algo=ppo", *BRIEF]) == 4
    said = capsys.readouterr().err
    assert "too little for a run" in said
    assert "free some disk or set MOSAIC_HOME" in said
    assert not own_home.exists()


def test_the_tensorboard_folder_of_the_environment_is_honoured(
    run_dir: RunDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLEANRL_TENSORBOARD_DIR", str(tmp_path / "boards"))
    train(run_dir, "--algo=ppo", *BRIEF)
    assert "charts/SPS" in board_of(tmp_path / "boards").Tags()["scalars"]
    assert not run_dir.tensorboard.exists()
    paths = [artifact.path for artifact in manifest.read(run_dir).artifacts if artifact.kind == "tensorboard"]
    assert paths == [str(tmp_path / "boards")]


def test_a_tensorboard_folder_that_cannot_be_written_is_said_so(
    run_dir: RunDir, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CLEANRL_TENSORBOARD_DIR", "/dev/null/boards")
    assert cli.main(["--algo=ppo", *BRIEF, "--run-dir", str(run_dir.root)]) == 4
    assert "the TensorBoard folder /dev/null/boards cannot be written" in capsys.readouterr().err


def test_a_dry_run_tries_everything_and_writes_nothing(own_home: Path) -> None:
    done = run_command("--algo=ppo", *BRIEF, "--dry-run", "--emit-summary")
    assert (done.returncode, done.stderr) == (0, "")
    summary = json.loads(done.stdout.splitlines()[-1])
    assert summary["ok"] is True
    assert (summary["algo"], summary["module"]) == ("ppo", "cleanrl_worker.algorithms.ppo")
    assert summary["args"]["num_steps"] == 32
    assert summary["run_dir"].startswith(str(own_home))
    assert "renders frames of shape" in summary["render"]
    assert summary["env_backend"] == "bare"
    assert not own_home.exists()


def test_a_dry_run_refuses_what_a_run_would_refuse(capsys: pytest.CaptureFixture[str]) -> None:
    assert "ddpg_continuous_action" in refused(capsys, "--algo=ppo", "--env-id=Pendulum-v1", "--dry-run")


@pytest.mark.parametrize(
    ("flags", "code", "complaint"),
    [
        (["--env-backend=envpool"], 3, "the envpool backend needs the extra 'envpool'"),
        (["--env-backend=native", "--env-id=FrozenLake-v1"], 4, "has no native vector environment; use backend 'bare'"),
    ],
)
@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_a_backend_that_is_not_there_is_refused_before_anything_is_made(
    flags: list[str],
    code: int,
    complaint: str,
    more: list[str],
    own_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, "envpool", None)
    assert (cli.main(["--algo=ppo", *flags, *more]), complaint in capsys.readouterr().err) == (code, True)
    assert not own_home.exists()


def test_a_dry_run_of_a_damaged_checkpoint_says_so(run_dir: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    train(run_dir, "--algo=ppo", *BRIEF)
    (run_dir.checkpoint(128) / "state.json").write_text("garbage")
    named = refused(capsys, "--resume", str(run_dir.checkpoint(128)), "--dry-run")
    assert "step-128 is not a checkpoint or is damaged" in named
    assert "has no whole checkpoint" in refused(capsys, "--resume", str(run_dir.root), "--dry-run")


def test_each_algorithm_file_runs_on_its_own(run_dir: RunDir) -> None:
    flags = flags_of(PPO.settings)
    module = "cleanrl_worker.algorithms.ppo"
    where = ("--run-dir", str(run_dir.root))
    done = run_command("--env-id", "CartPole-v1", "--total-timesteps", "512", *flags, *where, module=module)
    assert done.returncode == 0, done.stderr
    assert f"run directory: {run_dir.root}" in done.stdout
    assert "global_step=" in done.stdout
    assert "\nSPS: " in done.stdout
    assert "\nmodel saved to runs/CartPole-v1__ppo__1__" in done.stdout
    assert run_dir.stdout.read_text() == done.stdout
    assert events_of(run_dir)[-1].body == RunCompleted(global_step=512)
