"""Runs of other tools become runs of ours: listed, with every number, once, whatever lies beside them."""

import fcntl
import io
import json
import math
import shutil
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from mosaic import cli
from mosaic.cli.runs.export import main as export
from mosaic.intake import cleanrl_settings, tensorboard_runs
from mosaic.spec import manifest, run_config
from mosaic.spec.run_dir import RunDir


@pytest.fixture(scope="module")
def imported(old, home):
    """What one import of everything said, by label."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MOSAIC_HOME", str(home.root))
        out = io.StringIO()
        with redirect_stdout(out):
            assert cli.main(["import", str(old), "--json"]) == 0
    return [json.loads(line) for line in out.getvalue().splitlines()]


def one(imported, label: str):
    (found,) = [line for line in imported if line.get("label") == label]
    return found


def test_every_run_is_listed_once_and_marked(imported, client):
    told = sorted((line["tool"], line["label"]) for line in imported if line["result"] == "imported")
    assert told == [
        ("CleanRL", "CartPole-v1__ppo__1__1700000001"),
        ("CleanRL", "CartPole-v1__ppo__2__1700000002"),
        ("Stable-Baselines3", "PPO_1"),
        ("Stable-Baselines3", "monitors"),
        ("Weights & Biases", "only in W&B"),
    ]
    # `--track` had written seed 2 twice.
    (twice,) = [line for line in imported if line["result"] == "skipped"]
    assert "the same run as the folder CartPole-v1__ppo__2__1700000002" in twice["reason"]
    runs = {run.label: run for run in client.list(text="imported from")}
    assert len(runs) == 5
    assert {run.state for label, run in runs.items() if label != "only in W&B"} == {"finished"}
    assert (runs["only in W&B"].state, runs["only in W&B"].exit_code) == ("failed", 3)
    assert "exit code 3" not in runs["PPO_1"].reason
    seeds = [runs[f"CartPole-v1__ppo__{seed}__170000000{seed}"] for seed in (1, 2)]
    assert seeds[0].group == seeds[1].group != ""
    assert runs["PPO_1"].group == ""


def test_the_curves_and_settings_of_cleanrl_are_whole(imported, client, home, old):
    found = one(imported, "CartPole-v1__ppo__1__1700000001")
    run = client.get(found["run_id"])
    assert (run.algo, run.env_id, run.seed, run.total_timesteps, run.global_step) == (
        "ppo",
        "CartPole-v1",
        1,
        1000,
        900,
    )
    board = EventAccumulator(str(old / "runs" / found["label"])).Reload()
    series = {tag: client.metrics(run.run_id, tags=[tag])[tag] for tag in board.Tags()["scalars"]}
    assert len(series) == 4
    for tag, points in series.items():
        expected = [(event.step, event.value) for event in board.Scalars(tag)]
        ours = list(zip(points.steps, points.values, strict=True))
        assert [step for step, _ in ours] == [step for step, _ in expected]
        assert all(a == b or (math.isnan(a) and math.isnan(b)) for (_, a), (_, b) in zip(ours, expected, strict=True))
    assert run.last_return == pytest.approx(46.0)
    run_dir = home.run(run.run_id)
    document = run_config.parse(json.loads(run_dir.config.read_text()))
    params = document.metadata.worker.config.extras.algo_params
    assert params == {"learning_rate": 2.5e-4, "anneal_lr": True, "target_kl": None}
    left = {(item.kind, Path(item.path).name) for item in manifest.read(run_dir).artifacts}
    assert {("tensorboard", "tensorboard"), ("policy", "ppo.cleanrl_model")} <= left
    assert ("video", "rl-video-episode-0.mp4") in left
    assert (run_dir.videos / "rl-video-episode-0.mp4").read_bytes() == b"film"


def test_episodes_of_monitors_and_scalars_of_sb3_are_there(imported, client, home, old):
    episodes = client.get(one(imported, "monitors")["run_id"])
    rows = [
        line for path in (old / "sb3" / "monitors").glob("*.csv") for line in path.read_text().splitlines()[2:] if line
    ]
    lengths = sum(int(line.split(",")[1]) for line in rows)
    assert (episodes.env_id, episodes.global_step) == ("CartPole-v1", lengths)
    points = client.metrics(episodes.run_id, tags=["charts/episodic_return"])["charts/episodic_return"]
    assert len(points.steps) == len(rows) > 4
    curves = client.get(one(imported, "PPO_1")["run_id"])
    assert (curves.algo, curves.global_step) == ("ppo", 512)
    assert "rollout/ep_rew_mean" in client.tags(curves.run_id)


def test_a_wandb_folder_is_read_whole(imported, client, home):
    run = client.get(one(imported, "only in W&B")["run_id"])
    assert (run.algo, run.env_id, run.seed) == ("mine", "Acrobot-v1", 7)
    loss = client.metrics(run.run_id, tags=["loss", "inf"])
    assert [round(value * 7) for value in loss["loss"].values] == list(range(50))
    assert set(loss["inf"].values) == {math.inf}
    assert len(list(home.run(run.run_id).imported.rglob("*.wandb"))) == 1


def test_a_second_import_and_a_moved_folder_bring_nothing_new(imported, take_in, client, old, tmp_path):
    before = len(client.list())
    code, said = take_in(str(old))
    assert (code, {line["result"] for line in said}) == (0, {"known", "skipped"})
    shutil.copytree(old / "runs", tmp_path / "moved" / "runs")
    code, said = take_in(str(tmp_path / "moved"))
    assert [line["result"] for line in said] == ["known", "known"]
    assert len(client.list()) == before


def test_bad_folders_are_named_with_their_reason_and_the_rest_is_taken_in(take_in, client, old, tmp_path):
    good = tmp_path / "cut"
    good.mkdir()
    # Another name, so that it is another run; the end of it is missing.
    (other,) = tensorboard_runs.event_files(old / "sb3" / "PPO_1")
    (good / "events.out.tfevents.1.cut").write_bytes(other.read_bytes()[:-5])
    folders = {
        "empty": ("events.out.tfevents.2.empty", b""),
        "garbage": ("events.out.tfevents.3.garbage", b"no event file at all, " * 9),
        "csv": ("0.monitor.csv", b"r,l,t\n1,1,1\n"),
        "no-episode": ("monitor.csv", b'#{"t_start": 1.0, "env_id": "E"}\nr,l,t\n'),
        "seven": ("run-abc.wandb", b":W&B\xe1\xbe\x00"),
        "foreign": ("run-abc.wandb", b"not a log"),
        "copy": ("run.json", b"{}"),
    }
    for name, (file, content) in folders.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_bytes(content)
    (tmp_path / "copy" / "events.jsonl").touch()
    code, said = take_in(str(tmp_path))
    assert code == 0
    reasons = {Path(line["path"]).name: line["reason"] for line in said if line["result"] == "skipped"}
    assert reasons.keys() == folders.keys()
    assert all(reasons.values())
    assert "hold no numbers" in reasons["garbage"]
    assert "does not begin as a monitor file" in reasons["csv"]
    (taken,) = [line for line in said if line["result"] == "imported"]
    assert any("is cut off after" in remark for remark in taken["remarks"])
    assert client.get(taken["run_id"]).global_step > 0


def test_what_cannot_work_is_refused(take_in, home, tmp_path, old):
    (tmp_path / "nothing").mkdir()
    for folder, text in (
        (tmp_path / "nowhere", "is not a folder"),
        (tmp_path / "nothing", "holds no TensorBoard files"),
        (home.runs, "belongs to this home"),
    ):
        code, said = take_in(str(folder))
        assert code == 2
        assert text in said[0]["error"]
    with home.imports_lock.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        code, said = take_in(str(old))
    assert code == 1
    assert "under way" in said[0]["error"]


def test_a_dry_run_takes_nothing_in(take_in, client, tmp_path, old):
    shutil.copytree(old / "sb3" / "PPO_1", tmp_path / "A2C_3")
    (file,) = tensorboard_runs.event_files(tmp_path / "A2C_3")
    file.rename(file.with_name("events.out.tfevents.9.renamed"))
    before = len(client.list())
    code, said = take_in(str(tmp_path), "--dry-run")
    assert (code, said[0]["result"], said[0]["algo"]) == (0, "would", "a2c")
    assert len(client.list()) == before


def test_a_copy_of_our_own_run_comes_back_under_its_id(take_in, imported, client, home, tmp_path):
    run = client.get(one(imported, "monitors")["run_id"])
    assert export([run.run_id, str(tmp_path / "copy")]) == 0
    client.delete(run.run_id)
    code, said = take_in(str(tmp_path))
    assert (code, said[0]["result"], said[0]["run_id"]) == (0, "imported", run.run_id)
    again = client.get(run.run_id)
    assert (again.label, again.global_step, again.state) == (run.label, run.global_step, run.state)
    assert RunDir(Path(again.run_dir)).events.stat().st_size > 0


def test_a_home_that_cannot_be_written_is_told_and_nothing_is_left_in_it(take_in, home, old, tmp_path):
    """Root may write everywhere, so a file stands where a folder is needed."""
    shutil.copytree(old / "sb3" / "PPO_1", tmp_path / "PPO_9")
    (file,) = tensorboard_runs.event_files(tmp_path / "PPO_9")
    file.rename(file.with_name("events.out.tfevents.7.other"))
    there = set(home.runs.iterdir())
    home.imports.write_text("in the way")
    try:
        code, said = take_in(str(tmp_path))
    finally:
        home.imports.unlink()
    assert code == 4
    assert "could not be copied" in said[0]["error"]
    assert set(home.runs.iterdir()) == there


def test_a_table_of_settings_is_read_as_values():
    rows = ("lr|0.01", "anneal|True", "kl|None", "name|a b", "sizes|(64, 64)", "odd|__import__('os')")
    text = "|param|value|\n|-|-|\n" + "\n".join(f"|{row}|" for row in rows)
    found = {"lr": 0.01, "anneal": True, "kl": None, "name": "a b", "sizes": [64, 64], "odd": "__import__('os')"}
    assert cleanrl_settings.of_table(text) == found
    assert cleanrl_settings.of_table("no table") == {}
