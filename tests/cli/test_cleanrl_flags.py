"""CleanRL's command lines run with `mosaic train ppo` in the place of `python cleanrl/ppo.py`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mosaic.cli.daemon.connection import BadArguments
from mosaic.cli.train.train import translated
from mosaic.spec.run_dir import Home

SMALL = ["--num-envs", "2", "--num-steps", "32", "--total-timesteps", "128"]


def test_every_flag_of_a_run_that_upstream_has_means_what_it_means_there(
    mosaic: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_MODE", "disabled")
    theirs = ["--exp-name", "my try", "--no-track", "--wandb-project-name", "cleanRL", "--wandb-entity", "me"]
    theirs += ["--no-capture_video", "--save-model", "--upload-model", "--hf_entity", "me", "--no-cuda"]
    said = mosaic("train", "ppo", "--env-id", "CartPole-v1", "--torch-deterministic", *SMALL, *theirs)
    assert said.code == 0, said.err
    run_id = said.out.strip()
    assert f"--upload-model: nothing waits for the end here; then: mosaic publish {run_id} --repo me/" in said.err
    config = json.loads(Path(Home.resolve().config(run_id)).read_text())
    assert config["run_name"] == "my try"
    extras = config["metadata"]["worker"]["config"]["extras"]
    names = ("track_wandb", "wandb_project_name", "wandb_entity", "capture_video", "save_model")
    assert [extras[name] for name in names] == [False, "cleanRL", "me", False, True]


def test_track_is_the_tracking_by_wandb() -> None:
    assert translated(["--track", "--exp_name=x", "--seed", "1"], ()) == ["--track-wandb", "--label=x", "--seed", "1"]
    assert translated(["--no-track"], ()) == ["--no-track-wandb"]


def test_a_flag_that_the_algorithm_has_itself_is_its_own() -> None:
    assert translated(["--track", "--exp-name", "x"], {"exp_name", "track"}) == ["--track", "--exp-name", "x"]


def test_two_names_for_a_run_are_refused() -> None:
    with pytest.raises(BadArguments, match="both name the run"):
        translated(["--exp-name", "x", "--label=y"], ())


def test_a_model_that_is_to_be_uploaded_is_published_after_a_run_that_was_followed(
    mosaic: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", "/nonexistent")
    said = mosaic("train", "ppo", *SMALL, "--follow", "--upload-model", "--no-tensorboard")
    # Without a login it is the publishing that says so; the run has finished.
    assert "finished after 128 steps" in said.out
    assert said.code != 0
    assert "hf auth login" in said.err or 'mosaic-rl[hub]"' in said.err
