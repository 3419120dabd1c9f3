"""A run leaves behind what it should, whatever the algorithm."""

import io
import json
from contextlib import redirect_stdout
from typing import Any

import pytest
from worker_cases import CHARTS, Case
from worker_runs import board_of, curve_of, events_of, kinds, policy_of

from cleanrl_worker import cli
from cleanrl_worker.sdk import policy
from cleanrl_worker.sdk.checkpoints import checkpoint
from cleanrl_worker.sdk.command import algorithm_catalogue
from mosaic import config
from mosaic.spec import manifest, run_config
from mosaic.spec.events import CheckpointSaved, Episode, RunCompleted, RunStarted, Scalars
from mosaic.spec.processes import process_identity
from mosaic.spec.run_dir import RunDir


def test_the_events_tell_the_whole_story_without_a_gap(case: Case, straight: RunDir) -> None:
    events = events_of(straight)
    first, last = events[0].body, events[-1].body
    assert isinstance(first, RunStarted)
    assert (first.algo, first.env_id, first.seed, first.total_timesteps) == (
        case.algo,
        case.env_id,
        1,
        case.total_timesteps,
    )
    assert (first.attempt, first.resumed_from_step, first.exact) == (1, None, True)
    assert last == RunCompleted(global_step=case.total_timesteps)
    assert {"scalars", "episode", "checkpoint.saved", "policy.saved"} <= set(kinds(events))
    steps = [step for step, _ in curve_of(straight)]
    assert steps == sorted(steps)


def test_the_manifest_lists_what_is_there_and_nothing_else(straight: RunDir) -> None:
    found = manifest.read(straight)
    assert found.run_id == straight.run_id
    assert all((straight.root / artifact.path).exists() for artifact in found.artifacts)
    listed = {artifact.kind for artifact in found.artifacts}
    kept = {"plans"} if hasattr(algorithm_catalogue.load(found.algo), "sources") else set()
    assert listed == {"events", "log", "tensorboard", "checkpoint", "policy", *kept}
    folders = [artifact.path for artifact in found.artifacts if artifact.kind == "checkpoint"]
    assert folders == [f"checkpoints/step-{step}" for step in checkpoint.list_steps(straight)]


def test_the_config_in_the_run_directory_makes_the_same_run(case: Case, straight: RunDir) -> None:
    document = run_config.parse(config.loads(straight.config.read_bytes()))
    worker = document.metadata.worker.config
    assert isinstance(worker.extras, run_config.TrainExtras)
    assert (worker.algo, worker.env_id, worker.total_timesteps) == (case.algo, case.env_id, case.total_timesteps)
    assert {name: worker.extras.algo_params[name] for name in case.settings} == dict(case.settings)


def test_the_identity_of_the_worker_and_the_logs_are_there(straight: RunDir) -> None:
    assert process_identity.read(straight.worker).attempt == 1
    assert f"run directory: {straight.root}" in straight.stdout.read_text()
    assert straight.stderr.exists()


def test_the_last_checkpoint_is_complete_and_the_best_is_named(case: Case, straight: RunDir) -> None:
    folder = checkpoint.latest(straight)
    assert folder is not None
    header, state = checkpoint.load(folder, algo=case.algo)
    assert header.global_step == case.total_timesteps
    assert set(state) == {"algorithm", "envs", "rng", "recent_returns", "updates"}
    assert header.mean_return == pytest.approx(sum(state["recent_returns"]) / len(state["recent_returns"]))
    saved = [event.body for event in events_of(straight) if isinstance(event.body, CheckpointSaved)]
    assert [body.reason for body in saved] == ["end"]
    labels = {artifact.path: artifact.label for artifact in manifest.read(straight).artifacts}
    assert labels[saved[0].path] == "best"


def test_the_policy_file_says_what_it_is(case: Case, straight: RunDir) -> None:
    file = policy.read(policy_of(straight))
    assert (file.algo, file.env_id, file.global_step) == (case.algo, case.env_id, case.total_timesteps)
    assert file.args["seed"] == 1
    assert file.weights()


def test_tensorboard_reads_the_tags_of_cleanrl_and_the_hyperparameters(case: Case, straight: RunDir) -> None:
    board = board_of(straight.tensorboard)
    assert set(board.Tags()["scalars"]) == CHARTS | case.tags
    assert board.Tags()["tensors"] == ["hyperparameters/text_summary"]
    [text] = board.Tensors("hyperparameters/text_summary")
    table = text.tensor_proto.string_val[0].decode()
    assert table.startswith("|param|value|\n|-|-|\n")
    assert f"|env_id|{case.env_id}|" in table


def test_tensorboard_and_the_events_agree(case: Case, straight: RunDir) -> None:
    board = board_of(straight.tensorboard)
    events = events_of(straight)
    episodes = [event.body for event in events if isinstance(event.body, Episode)]
    returns = board.Scalars("charts/episodic_return")
    assert [(point.step, point.value) for point in returns] == [
        (body.global_step, pytest.approx(body.episodic_return)) for body in episodes
    ]
    logged = [event.body for event in events if isinstance(event.body, Scalars)]
    for tag in case.tags:
        points = [(point.step, point.value) for point in board.Scalars(tag)]
        wanted = [(body.global_step, float(body.values[tag])) for body in logged]
        assert points == [(step, pytest.approx(value, nan_ok=True)) for step, value in wanted]


def test_the_schema_describes_every_setting(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--algo", case.algo, "--schema"]) == 0
    schema: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert schema["type"] == "object"
    assert {"env_id", "seed", "total_timesteps", *case.settings} <= set(schema["properties"])
    for name, rules in schema["properties"].items():
        assert rules.get("description"), f"{name} has no description"
        assert "default" in rules, f"{name} has no default"


@pytest.fixture(scope="module")
def all_schemas() -> dict[str, Any]:
    with redirect_stdout(io.StringIO()) as said:
        assert cli.main(["--schema"]) == 0
    return json.loads(said.getvalue())


def test_the_schemas_of_all_algorithms_come_in_one_object(case: Case, all_schemas: dict[str, Any]) -> None:
    assert all_schemas[case.algo]["properties"]
