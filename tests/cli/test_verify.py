"""`mosaic verify` finds what is damaged, says what to do and exits with 7; export and import name it too."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from mosaic import cli
from mosaic.cli.runs.export import CopiedDigests
from mosaic.intake import exported_runs
from mosaic.spec import run_record
from mosaic.spec.files import checkpoint_files, digests, policy_digest
from mosaic.spec.run_dir import Home, RunDir, new_run_id
from mosaic.spec.run_record import Placed
from mosaic.spec.states import RunState


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("MOSAIC_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("MOSAIC_TARGET", raising=False)
    made = Home(tmp_path / "home")
    made.create()
    return made


@pytest.fixture
def run_dir(home: Home) -> RunDir:
    """A run with two checkpoints that share a file, and a policy."""
    run_dir = home.run(new_run_id())
    run_dir.create()
    run_record.write(run_dir, Placed(run_id=run_dir.run_id, state=RunState.FINISHED, label="small"))
    run_dir.config.write_text("{}")
    run_dir.events.write_text("")
    page = run_dir.root / "page"
    page.write_bytes(bytes(range(256)) * 8)
    for step in (64, 128):
        folder = run_dir.checkpoint(step)
        folder.mkdir(parents=True)
        (folder / "arrays.safetensors").write_bytes(bytes([step]) * 500)
        (folder / "page").hardlink_to(page)
        files = {name: digests.of_file(folder / name) for name in ("arrays.safetensors", "page")}
        document = {"format": checkpoint_files.FORMAT, "algo": "ppo", "args": {}, "global_step": step, "state": {}}
        (folder / "state.json").write_bytes(checkpoint_files.encode(document, files))
    page.unlink()
    policy = run_dir.policy("CartPole-v1__ppo__1__1", "ppo")
    policy.parent.mkdir(parents=True)
    policy.write_bytes(policy_bytes())
    return run_dir


def policy_bytes() -> bytes:
    metadata = dict.fromkeys(policy_digest.EARLIER, "{}") | {"format": policy_digest.FORMAT, "sha256": digests.EMPTY}
    return policy_digest.seal(save({"agent.weight": np.ones(9)}, metadata=metadata))


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)


def test_a_whole_home_is_said_to_be_whole(home: Home, run_dir: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["verify"]) == 0
    told = capsys.readouterr().out
    assert "1 run: 2 checkpoints and 1 policy whole" in told
    assert "nothing is damaged" in told


@pytest.mark.parametrize(
    ("name", "told", "advice"),
    [
        ("checkpoints/step-64/arrays.safetensors", "XXH3 differs", "goes on from the newest whole checkpoint"),
        ("checkpoints/step-128/state.json", "step-128", "goes on from the newest whole checkpoint"),
        ("runs/CartPole-v1__ppo__1__1/ppo.cleanrl_model", "ppo.cleanrl_model", "writes the policy again"),
        ("run.json", "run.json cannot be read", "mosaic export"),
    ],
)
def test_what_is_damaged_is_named_with_what_to_do(
    name: str, told: str, advice: str, run_dir: RunDir, capsys: pytest.CaptureFixture[str]
) -> None:
    path = run_dir.root / name
    if name == "run.json":
        path.write_text("{")
    else:
        flip(path)
    assert cli.main(["verify"]) == 7
    out = capsys.readouterr().out
    assert told in out
    assert advice in out
    assert "1 damaged" in out
    assert cli.main(["verify", str(run_dir.root), "--json"]) == 7
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    [bad] = [line for line in lines if line["result"] == "damaged"]
    assert (bad["run"], bool(bad["problem"]), advice in bad["advice"]) == (run_dir.run_id, True, True)


def test_a_shared_page_that_is_damaged_is_told_for_each_checkpoint(
    run_dir: RunDir, capsys: pytest.CaptureFixture[str]
) -> None:
    flip(run_dir.checkpoint(64) / "page")
    assert cli.main(["verify"]) == 7
    assert capsys.readouterr().out.count("page is damaged") == 2


def test_paths_of_policies_and_checkpoints_are_taken(run_dir: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    policy = next(run_dir.root.glob("runs/*/*"))
    assert cli.main(["verify", str(policy), str(run_dir.checkpoint(64))]) == 0
    flip(policy)
    assert cli.main(["verify", str(policy)]) == 7
    assert cli.main(["verify", str(run_dir.logs)]) == 2
    assert "neither a run directory nor a checkpoint nor a policy" in capsys.readouterr().err


def test_files_of_earlier_versions_are_counted_and_no_damage(
    run_dir: RunDir, capsys: pytest.CaptureFixture[str]
) -> None:
    for step in (64, 128):
        path = run_dir.checkpoint(step) / "state.json"
        document = json.loads(path.read_bytes())
        del document["files"], document["sha256"]
        path.write_text(json.dumps(document))
    assert cli.main(["verify"]) == 0
    told = capsys.readouterr()
    assert "2 checkpoints of an earlier version: without digests" in told.err
    assert "0 checkpoints and 1 policy whole" in told.out


def test_a_copy_that_is_taken_in_leaves_out_what_is_damaged(run_dir: RunDir, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(run_dir.root, copy)
    flip(copy / "checkpoints/step-128/arrays.safetensors")
    flip(copy / "runs/CartPole-v1__ppo__1__1/ppo.cleanrl_model")
    found = exported_runs.read(copy)
    assert [name for name in found.files if name.startswith(("checkpoints", "runs/"))] == [
        "checkpoints/step-64/arrays.safetensors",
        "checkpoints/step-64/page",
        "checkpoints/step-64/state.json",
    ]
    assert [remark.endswith("; it is left out") for remark in found.remarks] == [True, True]


def test_an_export_tells_what_is_damaged_in_it(run_dir: RunDir) -> None:
    def copied() -> list[str]:
        watch = CopiedDigests()
        names = [name for name, _ in run_dir.files()]
        for _, pieces in watch.over((name, iter([(run_dir.root / name).read_bytes()])) for name in names):
            assert b"".join(pieces) is not None
        return watch.damaged()

    assert copied() == []
    flip(run_dir.checkpoint(128) / "arrays.safetensors")
    flip(next(run_dir.root.glob("runs/*/*")))
    first, second = copied()
    assert first.startswith("checkpoints/step-128/arrays.safetensors is damaged")
    assert "ppo.cleanrl_model is damaged" in second
