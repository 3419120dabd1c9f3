"""A resume from an older checkpoint begins a new run that names its parent; nothing of the parent is lost."""

import json
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mosaic.rpc.client import Refused
from mosaic.spec import manifest, run_record
from mosaic.spec.files import checkpoint_files, digests
from mosaic.spec.run_dir import Home, RunDir, new_run_id
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import RunState
from mosaic.trainer.index import directory_reader
from mosaic.trainer.index.index_store import Store
from mosaic.trainer.runs import branched_run
from mosaic.trainer.runs.resume_checkpoint import newest, of_step


@pytest.fixture(scope="module")
def parent(shared: Any, kit: Any) -> RunRecord:
    """A finished run with several checkpoints; tests leave it as it is."""
    extras = {"checkpoint_interval_steps": 64, "checkpoints_kept": 1000}
    for total in (4096, 16384, 65536, 262144):
        [run] = shared.client.submit(kit.document(total, extras=extras, params={"update_epochs": 8}))
        ended = shared.until(run.run_id, "finished", timeout_s=120)
        # An interval is skipped while the disk is busy with the one before.
        if len(steps(shared, run.run_id)) >= 3:
            return ended
    pytest.fail("no three checkpoints in 262,144 steps")


def steps(daemon: Any, run_id: str) -> list[int]:
    return checkpoint_files.steps(daemon.home.run(run_id))


def copy_of(daemon: Any, kit: Any, parent: RunRecord) -> RunRecord:
    """A run like the parent, to be changed."""
    home: Home = daemon.home
    run_dir = home.run(new_run_id())
    shutil.copytree(home.run(parent.run_id).root, run_dir.root)
    placed = run_record.read_file(home.run(parent.run_id).record)
    run_record.write(run_dir, RunRecord(**{**vars(placed), "run_id": run_dir.run_id}).placed)
    shutil.copyfile(home.config(parent.run_id), home.config(run_dir.run_id))
    client = daemon.client
    return kit.eventually(
        lambda: next((one for one in client.list() if one.run_id == run_dir.run_id), None), what="copy"
    )


def curve(daemon: Any, run_id: str, after: int) -> list[tuple[Any, ...]]:
    """What was logged after a step, but for times and rates."""
    points: list[tuple[Any, ...]] = []
    for event in daemon.events(run_id):
        if event["kind"] == "scalars" and event["global_step"] > after:
            values = {tag: value for tag, value in event["values"].items() if tag != "charts/SPS"}
            points += [(event["global_step"], tuple(values.items()))] if values else []
        elif event["kind"] == "episode" and event["global_step"] > after:
            points.append((event["global_step"], event["slot"], event["episodic_return"]))
    return points


def policy_of(daemon: Any, run_id: str) -> bytes:
    [path] = daemon.home.run(run_id).root.glob("runs/*/*.cleanrl_model")
    return path.read_bytes()


def test_an_older_checkpoint_branches_into_a_run_that_goes_on_bit_for_bit(shared: Any, parent: RunRecord) -> None:
    client, run_dir = shared.client, shared.home.run(parent.run_id)
    there = steps(shared, parent.run_id)
    older = there[0]
    before = {name: (run_dir.root / name).read_bytes() for name, _ in run_dir.files()}
    began = client.resume(parent.run_id, from_step=older, client_key="one press")
    assert (began.parent, began.parent_step) == (parent.run_id, older)
    assert began.run_id != parent.run_id
    assert client.resume(parent.run_id, from_step=older, client_key="one press").run_id == began.run_id
    ended = shared.until(began.run_id, "finished")
    assert (ended.global_step, ended.parent, ended.parent_step) == (parent.global_step, parent.run_id, older)
    assert ended.label == f"{parent.label} from step {older}"

    started = shared.events(began.run_id)[0]
    assert (started["kind"], started["attempt"], started["resumed_from_step"]) == ("run.started", 1, older)
    assert curve(shared, began.run_id, after=older) == curve(shared, parent.run_id, after=older)
    assert policy_of(shared, began.run_id) == policy_of(shared, parent.run_id)
    last = f"checkpoints/step-{parent.global_step}"
    for name in ("arrays.safetensors", "state.json"):
        one, other = (shared.home.run(run).root / last / name for run in (began.run_id, parent.run_id))
        assert one.read_bytes() == other.read_bytes()

    assert {name: (run_dir.root / name).read_bytes() for name, _ in run_dir.files()} == before
    assert client.get(parent.run_id) == parent
    found = manifest.read(shared.home.run(began.run_id))
    assert (found.parent, found.parent_step) == (parent.run_id, older)
    assert run_record.read(shared.home.run(began.run_id)).parent == parent.run_id


def test_a_branch_needs_nothing_of_its_parent(shared: Any, kit: Any, parent: RunRecord) -> None:
    other = copy_of(shared, kit, parent)
    client = shared.client
    older = steps(shared, other.run_id)[1]
    began = client.resume(other.run_id, from_step=older)
    client.delete(other.run_id)
    ended = shared.until(began.run_id, "finished")
    assert policy_of(shared, began.run_id) == policy_of(shared, parent.run_id)
    # And again, in the branch itself, from its newest.
    assert client.resume(ended.run_id).run_id == ended.run_id
    assert shared.until(ended.run_id, "finished").attempt == 2


def test_newer_checkpoints_go_when_that_is_asked_for(shared: Any, kit: Any, parent: RunRecord) -> None:
    other = copy_of(shared, kit, parent)
    there = steps(shared, other.run_id)
    after = shared.client.resume(other.run_id, from_step=there[0], discard_newer=True)
    assert (after.run_id, after.parent) == (other.run_id, "")
    assert shared.until(other.run_id, "finished").attempt == 2
    assert shared.events(other.run_id)[-1]["kind"] == "run.completed"
    begun = [event["resumed_from_step"] for event in shared.events(other.run_id) if event["kind"] == "run.started"]
    assert begun == [None, there[0]]


def test_a_damaged_newest_checkpoint_is_passed_over_and_that_is_said(shared: Any, kit: Any, parent: RunRecord) -> None:
    other = copy_of(shared, kit, parent)
    there = steps(shared, other.run_id)
    path = shared.home.run(other.run_id).checkpoint(there[-1]) / "arrays.safetensors"
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    # Not in place: the parent's file may be the same one.
    path.unlink()
    path.write_bytes(data)
    with pytest.raises(Refused, match=r"arrays\.safetensors is damaged.*resume from an older checkpoint"):
        shared.client.resume(other.run_id, from_step=there[-1])
    after = shared.client.resume(other.run_id)
    assert "arrays.safetensors is damaged" in after.reason
    assert f"the run goes on from step-{there[-2]} instead" in after.reason
    shared.until(other.run_id, "finished")
    warnings = [event["message"] for event in shared.events(other.run_id) if event["kind"] == "run.warning"]
    assert [warning.endswith(f"the run goes on from step-{there[-2]} instead") for warning in warnings] == [True]
    assert policy_of(shared, other.run_id) == policy_of(shared, parent.run_id)


def test_step_0_is_a_step_and_not_the_newest(shared: Any, parent: RunRecord) -> None:
    with pytest.raises(Refused, match=r"has no checkpoint of step 0; there are \d+"):
        shared.client.resume(parent.run_id, from_step=0)


# Without processes.


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.create()
    return home


def small_run(home: Home, *saved: int) -> RunRecord:
    run_dir = home.run(new_run_id())
    run_dir.create()
    for step in saved:
        make_checkpoint(run_dir, step)
    worker = {"algo": "ppo", "env_id": "CartPole-v1", "extras": {"track_wandb": True}}
    document = {
        "environment": {"env_id": "CartPole-v1"},
        "artifacts": {"wandb": {"enabled": True}},
        "metadata": {"worker": {"config": worker}},
    }
    run_dir.config.write_text(json.dumps(document))
    known = RunRecord(run_id=run_dir.run_id, state=RunState.FINISHED, label="small", algo="ppo", env_id="CartPole-v1")
    run_record.write(run_dir, known.placed)
    return known


def make_checkpoint(run_dir: RunDir, step: int) -> None:
    folder = run_dir.checkpoint(step)
    folder.mkdir(parents=True)
    (folder / "arrays.safetensors").write_bytes(bytes(100))
    document = {"format": checkpoint_files.FORMAT, "algo": "ppo", "args": {}, "global_step": step, "state": {}}
    files = {"arrays.safetensors": digests.of_file(folder / "arrays.safetensors")}
    (folder / "state.json").write_bytes(checkpoint_files.encode(document, files))


def test_a_kill_while_a_branch_is_made_leaves_a_whole_run_or_none(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    parent = small_run(home, 10, 20)
    new_id = new_run_id()

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    for moment in ("_link", "manifest.write", "run_record.write", "write_atomically"):
        with monkeypatch.context() as patch:
            patch.setattr(f"mosaic.trainer.runs.branched_run.{moment}", killed)
            patch.setattr(shutil, "rmtree", lambda *_, **__: None)  # A kill tidies nothing up.
            with pytest.raises(KeyboardInterrupt):
                branched_run.write(home, parent, 10, run_id=new_id, client_key="k")
        with closing(Store(home.index)) as store:
            directory_reader.clear(home, store)
        assert [path.name for path in home.runs.iterdir()] == [parent.run_id]


def test_a_branch_that_no_index_knows_yet_is_found_with_its_key(home: Home) -> None:
    parent = small_run(home, 10, 20)
    made = branched_run.write(home, parent, 10, run_id=new_run_id(), client_key="k")
    found = directory_reader.read(home, home.run(made.run_id), NoWorker())
    assert found.client_key == "k"
    assert (found.run_id, found.state, found.resume_from) == (made.run_id, "queued", "checkpoints/step-10")
    assert (found.parent, found.parent_step) == (parent.run_id, 10)
    run_dir = home.run(made.run_id)
    assert checkpoint_files.check(run_dir.checkpoint(10))
    kinds = [artifact.kind for artifact in manifest.read(run_dir).artifacts]
    assert kinds == ["events", "log", "log", "wandb", "checkpoint"]
    assert home.config(made.run_id).read_text() == run_dir.config.read_text()


def test_the_newest_whole_one_is_found_by_size_alone_where_they_are_large(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_dir = home.run(small_run(home, 10, 20).run_id)
    assert (newest(run_dir).step, of_step(run_dir, 10).newer) == (20, (20,))
    (run_dir.checkpoint(20) / "arrays.safetensors").write_bytes(bytes(99))
    monkeypatch.setattr("mosaic.trainer.runs.resume_checkpoint.READ_BYTES", 0)
    found = newest(run_dir)
    assert found.step == 10
    assert "it has 99 bytes instead of 100; the run goes on from step-10 instead" in found.remarks[0]


class NoWorker:
    """An engine without workers."""

    def is_alive(self, *_: object) -> bool:
        return False
