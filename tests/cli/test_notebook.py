"""Runs as Python objects: what they tell and do, and how a notebook shows them."""

import asyncio
import subprocess
import sys
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest
from nbclient import NotebookClient

import mosaic as package
from mosaic.errors import ConfigError, MissingPackage, PolicyError, RenderUnavailable, RunNotFound
from mosaic.notebook import data_frames, run_card, training
from mosaic.notebook.data_frames import data_frame
from mosaic.notebook.run_handle import Run
from mosaic.rpc.client import Client, Series
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import RunState

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _connected(mosaic):
    yield
    while training._clients:
        training._clients.pop().close()


@pytest.fixture
def trained(finished) -> Run:
    return package.run(finished)


def test_the_notebook_of_the_examples_runs(mosaic):
    notebook = nbformat.read(ROOT / "examples" / "first_run.ipynb", as_version=4)
    NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    outputs = {cell["id"]: cell["outputs"] for cell in notebook.cells if cell["cell_type"] == "code"}
    [shown, result] = outputs["train"]
    for one in (shown, result):
        assert "finished" in one["data"]["text/html"]
        assert "<polyline" in one["data"]["text/html"]
    assert "step" in outputs["frame"][0]["data"]["text/plain"]
    assert "it balanced for" in outputs["act"][0]["data"]["text/plain"]
    assert "over 10 episodes" in outputs["evaluate"][0]["text"]
    assert "<table>" in outputs["evaluate"][1]["data"]["text/html"]


def test_a_run_of_a_program_is_waited_for_and_asked(mosaic):
    runs = package.train(
        "ppo", env_id="CartPole-v1", total_timesteps=600, seeds=[1, 2], num_envs=4, label="from Python"
    )
    assert [run.wait(timeout_s=300).state for run in runs] == ["finished", "finished"]
    assert asyncio.run(runs[0].wait_async()) == runs[0]
    assert asyncio.run(runs.wait_async()) is runs
    assert "ppo on CartPole-v1, seed 2, finished" in repr(runs[1])
    frame = runs.metrics("charts/episodic_return")
    assert set(frame["seed"]) == {1, 2}
    runs[0].label = "renamed"
    assert package.run("renamed") == runs[0]
    assert runs[0].log() == mosaic("logs", runs[0].id).out
    with Client() as client:
        assert client.get("renamed").run_id == runs[0].id
        assert client.get(runs[0].id[-8:]).run_id == runs[0].id
        assert [run.run_id for run in client.wait("renamed", runs[1].id[-8:])] == [run.id for run in runs]
        assert client.tags("renamed") == client.tags(runs[0].id)
        assert client.metrics("@last").keys() == client.metrics(runs[1].id).keys()
        assert client.files(runs[0].id[-8:]) == client.files("renamed")
        assert client.set_label("renamed", notes="named by its label").run_id == runs[0].id
        with pytest.raises(RunNotFound, match="did you mean"):
            client.cancel("rename")
    runs[0].delete()
    with pytest.raises(RunNotFound):
        package.run(runs[0].id)


def test_metrics_are_a_data_frame(trained):
    frame = trained.metrics("charts/episodic_return")
    series = trained.series("charts/episodic_return")
    assert isinstance(frame, pd.DataFrame)
    assert list(frame["value"]) == series.values
    assert list(frame.columns) == ["tag", "step", "value", "time"]
    assert set(trained.metrics()["tag"]) == set(trained.tags())
    assert trained.series("no/such").values == []


def test_without_a_library_of_data_frames_the_error_names_one(monkeypatch):
    monkeypatch.setattr(data_frames, "LIBRARIES", ("no_such_library",))
    with pytest.raises(MissingPackage, match="no_such_library"):
        data_frame({"a": [1]})
    with pytest.raises(ConfigError, match="excel"):
        data_frame({"a": [1]}, "excel")


def test_a_policy_acts_on_one_observation_and_on_a_batch(trained):
    policy = trained.policy()
    env = policy.make_env(2)
    observations, _ = env.reset(seed=3)
    batch = policy.predict(observations)
    assert batch.shape == (2,)
    assert policy(observations[0]) == batch[0]
    drawn = [policy.predict(np.repeat(observations, 200, 0), deterministic=False) for _ in range(2)]
    assert not np.array_equal(*drawn)
    policy.seed(0)
    assert np.array_equal(policy.predict(np.repeat(observations, 200, 0), deterministic=False), drawn[0])
    with pytest.raises(ValueError, match=r"shape \(4,\); got \(3,\)"):
        policy.predict(np.zeros(3))
    env.close()


def test_a_policy_is_written_for_use_elsewhere(trained, tmp_path):
    policy = trained.policy()
    assert policy.to_onnx(tmp_path / "cart") == tmp_path / "cart.onnx"
    assert policy.to_torch(tmp_path / "cart.py") == tmp_path / "cart.py"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cart.onnx", "cart.py", "cart.safetensors"]


def test_a_run_without_a_policy_says_how_it_is(endless, until):
    run = package.run(endless)
    with pytest.raises(PolicyError, match="has saved no policy"):
        run.policy()
    with pytest.raises(TimeoutError, match="is running"):
        run.wait(timeout_s=0)
    run.pause()
    until(lambda: run.state == "paused")
    run.go_on()
    assert package.runs(limit=1)[0] == run


def test_a_run_that_has_ended_shows_no_picture(trained):
    with pytest.raises(RenderUnavailable, match="only a run that is running"):
        trained.frame()


def test_a_setting_that_is_misspelt_is_refused(mosaic):
    with pytest.raises(ConfigError, match="did you mean learning_rate"):
        package.train("ppo", env_id="CartPole-v1", total_timesteps=600, learning_rat=1.0)


def test_text_of_a_run_is_no_html():
    run = RunRecord(run_id="01K9CG05J5Y0FFQMT1T920EZK2", label="<script>alert(1)</script>", reason="<img src=x>")
    shown = run_card.card(run, Series("<b>", [1, 2, 3], [1.0, float("nan"), 2.0], [0.0] * 3, 3)) + run_card.table([run])
    assert "<script" not in shown
    assert "<img" not in shown
    assert "<b>:" not in shown
    assert run.state is RunState.QUEUED


def test_importing_the_package_loads_nothing_heavy():
    code = (
        "import mosaic, sys; assert 'train' in dir(mosaic); mosaic.train;"
        "assert not {'torch', 'pandas', 'IPython', 'numpy'} & set(sys.modules), sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
