"""A damaged file of a run is shown on that run alone: the daemon starts, lists and serves all others as before."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from run_directories import BODIES, STEPS, healthy_lines, line_of, make_run, write_policy

from mosaic.cli.runs import runs, show
from mosaic.rpc import trainer_pb2 as pb
from mosaic.rpc.channel import open_channel
from mosaic.rpc.codec import to_message, to_record
from mosaic.rpc.trainer_methods import TrainerStub
from mosaic.spec.run_dir import Home, RunDir
from mosaic.spec.run_record import RunRecord, damage_of
from mosaic.trainer.index.index_store import Store
from mosaic.trainer.index.ingest import RunIngest

WRONG: list[Any] = [None, -1, 2**70, 10**400, "7", [1], {"a": []}, 1e308, "\0"]
FEW: list[Any] = [None, 2**70, [1]]
DEEP = b"[" * 100_000
HEAD = ("v", "seq", "time", "kind")
SEEN: dict[str, bytes] = {
    "global_step 4e664": b'{"v":1,"seq":5,"time":1.0,"kind":"scalars","global_step":4e664,"values":{}}',
    'seq "7"': line_of("7", "scalars", BODIES["scalars"]),
    "global_step [1]": line_of(5, "scalars", BODIES["scalars"] | {"global_step": [1]}),
    'time "x"': line_of(5, "scalars", BODIES["scalars"], time="x"),
    "deep": b'{"v":1,"seq":5,"time":1.0,"kind":"run.warning","message":' + DEEP + b"}",
    'attempt "z"': line_of(5, "run.started", BODIES["run.started"] | {"attempt": "z"}),
    "seq null": line_of(None, "scalars", BODIES["scalars"]),
    "seq 2**70": b'{"v":1,"seq":' + str(2**70).encode() + b',"time":1.0,"kind":"run.warning","message":"x"}',
}


def spools() -> Iterator[list[bytes]]:
    """Each with one field of one event changed."""
    for kind, body in BODIES.items():
        for field in (*HEAD, *body):
            for value in FEW:
                lines = healthy_lines()
                lines[4] = line_of(5, kind, body, **{field: value})
                yield lines


def damage_record(run_dir: RunDir, how: str) -> None:
    text = run_dir.record.read_bytes()
    data = json.loads(text)
    changed: dict[str, bytes] = {
        "cut off": text[:40],
        "empty": b"",
        "garbage": b"\x00\xff" * 50,
        "deep": b'{"run_id":' + DEEP,
        "a list": b"[]",
        "another run": json.dumps(data | {"run_id": "01K9CG05J5Y0FFQMT100000001"}).encode(),
        "seed 2**70": json.dumps(data | {"seed": 2**70}).encode(),
        "label 7": json.dumps(data | {"label": 7}).encode(),
        "time 1e300": json.dumps(data | {"submitted_at": 1e300}).encode(),
        "state": json.dumps(data | {"state": "exploded"}).encode(),
    }
    run_dir.record.write_bytes(changed[how])


RECORDS = [
    "cut off",
    "empty",
    "garbage",
    "deep",
    "a list",
    "another run",
    "seed 2**70",
    "label 7",
    "time 1e300",
    "state",
]


class Damaged:
    """A home of healthy and damaged runs, and a daemon in it."""

    def __init__(self, daemon: Any) -> None:
        self.daemon = daemon
        home: Home = daemon.home
        home.create()
        self.healthy = [make_run(home, number, healthy_lines()).run_id for number in (1, 500, 99_999)]
        self.later = [make_run(home, number, healthy_lines()).run_id for number in (99_997, 99_998)]
        """Healthy until a test changes them."""
        number = 1
        self.seen: dict[str, str] = {}
        for name, line in SEEN.items():
            number += 1
            lines = healthy_lines()
            lines[4] = line
            self.seen[name] = make_run(home, number, lines).run_id
        self.records: dict[str, str] = {}
        for how in RECORDS:
            number += 1
            run_dir = make_run(home, number, healthy_lines())
            damage_record(run_dir, how)
            self.records[how] = run_dir.run_id
        self.garbage = make_run(home, number + 1, [b"\x00\x01 garbage"] * 3).run_id
        self.empty = self._bare(home, number + 2)
        self.files = self._other_files(home, number + 3)
        for lines in spools():
            number += 1
            make_run(home, number + 20, lines)
        self.runs = number + 20

    def _bare(self, home: Home, number: int) -> str:
        """Nothing but a damaged run.json."""
        run_dir = make_run(home, number, [])
        for path in (run_dir.events, run_dir.manifest, run_dir.config):
            path.unlink()
        run_dir.record.write_bytes(b"{")
        return run_dir.run_id

    def _other_files(self, home: Home, number: int) -> RunDir:
        """A run of which everything else is damaged."""
        run_dir = make_run(home, number, healthy_lines())
        run_dir.manifest.write_text(
            json.dumps(
                {
                    "v": 1,
                    "run_id": run_dir.run_id,
                    "artifacts": [
                        {"kind": "checkpoint", "path": "checkpoints/step-1", "global_step": 2**70},
                        {"kind": "policy", "path": "runs/x/deep.cleanrl_model", "global_step": 7},
                        {"kind": "policy", "path": "runs/x/good.cleanrl_model", "global_step": 300},
                        {"kind": "policy", "path": "\0"},
                        {"kind": "policy", "path": "x" * 5000},
                    ],
                }
            )
        )
        write_policy(run_dir.root / "runs/x/good.cleanrl_model")
        write_policy(run_dir.root / "runs/x/deep.cleanrl_model", header=b'{"a":' + DEEP + b"}")
        write_policy(run_dir.root / "runs/x/huge.cleanrl_model", global_step=str(2**70))
        run_dir.worker.write_bytes(b'{"pid":' + DEEP)
        (run_dir.root / "checkpoints" / "step-²").mkdir(parents=True)
        (run_dir.root / b"caf\xe9".decode(errors="surrogateescape")).write_text("x")
        run_dir.episodes.mkdir()
        head = {
            "kind": "head",
            "v": 1,
            "run_id": run_dir.run_id,
            "episode": 2**70,
            "env_id": "e",
            "seed": 1,
            "seats": {},
        }
        head |= {"versions": {}, "digest": ""}
        run_dir.episode(1).write_text(json.dumps(head) + "\n")
        run_dir.episode(2).write_bytes(b'{"kind":' + DEEP + b"\n")
        run_dir.episode(3).symlink_to("/etc/passwd")
        run_dir.episode(4).write_text(json.dumps(head | {"episode": 4}) + "\n")
        columns = home.metrics / run_dir.run_id
        columns.mkdir(parents=True)
        (columns / "cursor.json").write_text(json.dumps({"columns": {"a": ["../../../x", 0]}, "generation": 0}))
        (home.root.parent / "x").write_text("not a column")
        return run_dir

    def start(self, kit: Any) -> None:
        """Begin, and wait until the events of all runs are read."""
        self.daemon.start()
        client = self.daemon.client

        def is_whole() -> bool:
            health = client.health()
            return 0 < health.index_total == health.indexed

        kit.eventually(is_whole, 120, what="the index")

    def list(self) -> dict[str, RunRecord]:
        return {run.run_id: run for run in self.daemon.client.list()}


@pytest.fixture(scope="module")
def damaged(module_daemons: Callable[..., Any], kit: Any) -> Damaged:
    made = Damaged(module_daemons("--no-warm", "--cpus", "1"))
    made.start(kit)
    return made


@pytest.fixture
def stub(damaged: Damaged) -> Iterator[Any]:
    with open_channel(f"unix:{damaged.daemon.home.socket}") as channel:
        yield TrainerStub(channel)
    assert damaged.daemon.process.poll() is None
    assert "rpc.bug" not in damaged.daemon.log.read_text()


def as_healthy(run: RunRecord) -> None:
    assert (run.state, run.global_step, run.last_return, run.last_seq) == ("finished", STEPS, 20.0, 11)
    assert damage_of(run) == ()


def test_every_run_is_listed_and_the_healthy_ones_are_unchanged(damaged: Damaged, kit: Any) -> None:
    before = damaged.list()
    assert len(before) == len(list(damaged.daemon.home.runs.iterdir())) > 250
    for run_id in damaged.healthy:
        as_healthy(before[run_id])
    longer, shorter = (damaged.daemon.home.run(run_id).events for run_id in damaged.later)
    whole = longer.read_bytes()
    damaged.daemon.kill()
    longer.write_bytes(whole + b"not an event\n")
    shorter.write_bytes(whole[: whole.index(b"\n") + 1])
    damaged.start(kit)
    after = damaged.list()
    # What was written to the events of an ended run while no daemon lived.
    grown, cut = (after.pop(run_id) for run_id in damaged.later)
    assert (grown.global_step, damage_of(grown)) == (
        STEPS,
        ("1 damaged line (line 12) in events.jsonl; the others count",),
    )
    assert (cut.state, cut.global_step, cut.last_seq) == ("finished", 0, 1)
    # And while one lives.
    shorter.write_bytes(whole)
    as_healthy(damaged.daemon.client.get(cut.run_id))
    for run_id in damaged.later:
        del before[run_id]
    assert {run_id: (run.state, run.damaged_lines) for run_id, run in after.items()} == {
        run_id: (run.state, run.damaged_lines) for run_id, run in before.items()
    }
    for run_id in damaged.healthy:
        as_healthy(after[run_id])


@pytest.mark.parametrize("name", SEEN)
def test_a_damaged_line_is_shown_on_its_run(damaged: Damaged, name: str) -> None:
    run = damaged.daemon.client.get(damaged.seen[name])
    assert (run.state, run.global_step, run.last_seq) == ("finished", STEPS, 11)
    assert damage_of(run) == ("1 damaged line (line 5) in events.jsonl; the others count",)


def test_a_spool_of_garbage_is_marked(damaged: Damaged) -> None:
    run = damaged.daemon.client.get(damaged.garbage)
    assert run.global_step == 0
    assert damage_of(run) == ("3 damaged lines in events.jsonl, the first is line 1; the others count",)


@pytest.mark.parametrize("how", RECORDS)
def test_a_damaged_record_is_kept_and_the_run_listed_with_what_the_other_files_tell(damaged: Damaged, how: str) -> None:
    run = damaged.daemon.client.get(damaged.records[how])
    assert (run.state, run.algo, run.env_id, run.seed) == ("finished", "ppo", "CartPole-v1", 3)
    assert (run.global_step, run.total_timesteps, run.label[:4]) == (STEPS, STEPS, "run ")
    assert "run.json was damaged and is kept as run.json.damaged" in damage_of(run)[0]
    run_dir = damaged.daemon.home.run(run.run_id)
    assert run_dir.damaged_record.exists()
    assert json.loads(run_dir.record.read_bytes())["state"] == "finished"


def test_a_run_of_which_only_a_damaged_record_is_left_is_listed(damaged: Damaged) -> None:
    run = damaged.daemon.client.get(damaged.empty)
    assert (run.state, run.global_step) == ("lost", 0)
    assert "run.json was damaged" in run.damage


def test_every_call_about_every_damaged_run_is_answered(damaged: Damaged, stub: Any) -> None:
    ids = [*damaged.seen.values(), *damaged.records.values(), damaged.garbage, damaged.empty, damaged.files.run_id]
    for run_id in ids:
        for name in ("GetRun", "ListTags", "ListArtifacts", "ListFiles"):
            getattr(stub, name)(pb.RunId(run_id=run_id), timeout=120)
        stub.GetMetrics(pb.GetMetricsRequest(run_id=run_id), timeout=120)
        lines = list(stub.WatchEvents(pb.WatchEventsRequest(run_id=run_id), timeout=120))
        assert all(0 <= line.seq <= 11 for line in lines)
        with pytest.raises(grpc.RpcError) as caught:
            stub.ResumeRun(pb.ResumeRunRequest(run_id=run_id), timeout=120)
        assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION


def test_a_watcher_gets_every_good_event_and_no_other(damaged: Damaged) -> None:
    for name, run_id in damaged.seen.items():
        seqs = [event.seq for event in damaged.daemon.client.watch_events(run_id)]
        assert seqs == [1, 2, 3, 4, *range(6, 12)], name


def test_damaged_manifests_policies_and_episodes_hide_no_others(damaged: Damaged, stub: Any) -> None:
    run_id = damaged.files.run_id
    reply = stub.ListArtifacts(pb.RunId(run_id=run_id), timeout=120)
    assert "analytics.json is damaged (artifacts.0.global_step" in reply.damage
    assert "runs/x/good.cleanrl_model" in [artifact.path for artifact in reply.artifacts]
    policies = stub.ListPolicies(pb.Empty(), timeout=120).policies
    assert [Path(policy.path).name for policy in policies if policy.run_id == run_id] == ["good.cleanrl_model"]
    episodes = stub.ListEpisodes(pb.ListEpisodesRequest(), timeout=120).episodes
    assert [(one.run_id, one.episode) for one in episodes] == [(run_id, 4)]


@pytest.mark.parametrize("path", ["\0", "/\0", "/" + "x" * 900, "/dev/zero", "/", "deep", "huge"])
def test_a_policy_that_cannot_be_read_is_refused_with_a_reason(damaged: Damaged, stub: Any, path: str) -> None:
    if path in ("deep", "huge"):
        path = str(damaged.files.root / f"runs/x/{path}.cleanrl_model")
    with pytest.raises(grpc.RpcError) as caught:
        stub.DescribePolicy(pb.DescribePolicyRequest(path=path), timeout=120)
    assert caught.value.code() in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.FAILED_PRECONDITION)


def test_a_cursor_that_names_other_files_is_thrown_away(damaged: Damaged, stub: Any) -> None:
    assert "charts/episodic_return" in stub.ListTags(pb.RunId(run_id=damaged.files.run_id), timeout=120).tags
    assert (damaged.daemon.home.root.parent / "x").read_text() == "not a column"


@pytest.mark.parametrize("kind", BODIES)
def test_whatever_an_event_holds_its_record_can_be_stored_and_sent(tmp_path: Path, kind: str) -> None:
    """Thousands of changed lines, each between whole ones, through the reader, the index and the message."""
    home = Home(tmp_path)
    home.create()
    store = Store(home.index)
    try:
        for number, field in enumerate((*HEAD, *BODIES[kind])):
            lines = healthy_lines()[:-1]
            for value in WRONG:
                seq = len(lines) + 1
                changed = line_of(seq, kind, BODIES[kind], **{field: value})
                lines += [changed, line_of(seq + 1, "run.heartbeat", BODIES["run.heartbeat"] | {"global_step": seq})]
            lines.append(line_of(len(lines) + 1, "run.completed", BODIES["run.completed"]))
            run_dir = make_run(home, number, lines)
            ingest = RunIngest(home, run_dir)
            ingest.catch_up()
            ingest.save()
            assert ingest.ending is not None
            assert ingest.progress.global_step == STEPS
            assert ingest.last_seq == len(lines)
            record = RunRecord(run_id=run_dir.run_id, **vars(ingest.progress))
            stored = store.put([record])[0]
            assert to_record(pb.Run.FromString(to_message(stored).SerializeToString())).global_step == STEPS
            again = RunIngest(home, run_dir)
            assert repr(again.progress) == repr(ingest.progress)
    finally:
        store.close()


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        DEEP,
        b"[]",
        b"{}",
        b'{"columns":{},"generation":0,"offset":"x"}',
        b'{"columns":{"a":[1,2]},"generation":0}',
    ],
)
def test_damaged_columns_are_made_anew(tmp_path: Path, text: bytes) -> None:
    home = Home(tmp_path)
    home.create()
    run_dir = make_run(home, 1, healthy_lines())
    ingest = RunIngest(home, run_dir)
    ingest.catch_up()
    ingest.save()
    cursor = home.metrics / run_dir.run_id / "cursor.json"
    stored = json.loads(cursor.read_bytes())
    for damaged in (text, *(json.dumps(stored | {name: [[]]}).encode() for name in stored)):
        cursor.write_bytes(damaged)
        again = RunIngest(home, run_dir)
        again.catch_up()
        again.save()
        assert again.progress == ingest.progress
        assert again.metrics.tags == ingest.metrics.tags
    shutil.rmtree(home.metrics)


def test_a_record_has_the_first_warnings_of_its_run_each_once_and_on_one_line(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.create()
    said = ["look\nout", "look\nout", "x" * 1000, *(f"number {n}" for n in range(10))]
    warnings = [line_of(seq, "run.warning", {"message": text}) for seq, text in enumerate(said, start=2)]
    lines = [*healthy_lines()[:1], *warnings]
    first = RunIngest(home, make_run(home, 1, lines[:4]))
    first.catch_up()
    assert first.progress.warnings == ("look out", "x" * 300 + "…")
    first.save()
    # The next daemon goes on behind what this one read.
    then = RunIngest(home, make_run(home, 1, lines))
    then.catch_up()
    assert then.progress.warnings == ("look out", "x" * 300 + "…", "number 0", "number 1", "number 2")


def test_the_command_line_shows_what_is_damaged(
    damaged: Damaged, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MOSAIC_HOME", str(damaged.daemon.home.root))
    assert show.main([damaged.garbage]) == 0
    assert "3 damaged lines in events.jsonl, the first is line 1" in capsys.readouterr().out
    assert show.main([damaged.records["deep"]]) == 0
    assert "run.json was damaged and is kept as run.json.damaged" in capsys.readouterr().out
    assert show.main([damaged.files.run_id]) == 0
    assert "analytics.json is damaged" in capsys.readouterr().out
    assert show.main([damaged.empty]) == 0
    assert runs.main(["--limit", "0"]) == 0
    listed = capsys.readouterr().out.splitlines()
    marked = {line.split()[0] for line in listed if "  ! run " in line}
    assert damaged.garbage in marked
    assert not marked & set(damaged.healthy)
