"""What clients read: lists, streams that go on from where they were, metrics, logs, files, the catalogue, dry runs."""

import json

import numpy as np
import pytest

from mosaic.rpc import trainer_pb2 as pb
from mosaic.rpc.channel import open_channel
from mosaic.rpc.client import Refused
from mosaic.rpc.locate import DaemonUnavailable
from mosaic.rpc.trainer_methods import TrainerStub
from mosaic.trainer.index.metric_columns import RunMetrics
from mosaic.trainer.index.metric_rows import reduce_rows


@pytest.fixture(scope="module")
def run(shared, kit):
    """One finished run."""
    record = shared.client.submit(kit.document(2048, extras={"checkpoint_interval_steps": 512}))[0]
    return shared.until(record.run_id, "finished")


def test_events_go_on_from_a_sequence_number(shared, run):
    client = shared.client
    lines = [event.seq for event in client.watch_events(run.run_id)]
    assert lines == list(range(1, run.last_seq + 1))
    for after in (0, 1, run.last_seq // 2, run.last_seq - 1, run.last_seq, run.last_seq + 5):
        assert [event.seq for event in client.watch_events(run.run_id, after_seq=after)] == lines[after:]


def test_events_of_a_long_spool_are_found_by_halving(tmp_path):
    from mosaic.trainer.serving.streams import CHUNK_BYTES, offset_before

    path = tmp_path / "events.jsonl"
    lines = [f'{{"v":1,"seq":{seq},"x":"{"y" * (seq % 300)}"}}\n'.encode() for seq in range(1, 20_001)]
    path.write_bytes(b"".join(lines))
    ends = np.cumsum([len(line) for line in lines])
    for after in (0, 1, 2, 777, 9_999, 19_999, 20_000, 30_000):
        offset = offset_before(path, after)
        wanted = int(ends[min(after, 20_000) - 1]) if after else 0
        assert offset <= wanted <= offset + CHUNK_BYTES + 400
        assert offset == 0 or offset in ends


def test_a_line_longer_than_a_chunk_reaches_the_watcher(tmp_path):
    from mosaic.spec.files.spool_reader import LineReader

    path = tmp_path / "events.jsonl"
    path.write_bytes(b"x" * 1_000_000 + b"\n" + b"y\n")
    assert [len(line) for line in LineReader(path).new_lines(1000)] == [1_000_000]


def test_changes_of_runs_go_on_from_a_revision(shared, run, kit):
    client = shared.client
    newest = max(record.revision for record in client.list())
    stream = client.watch_runs(after_revision=newest)
    client.set_label(run.run_id, label="watched")
    changed = next(stream)
    assert (changed.run_id, changed.label) == (run.run_id, "watched")
    assert changed.revision > newest
    other = client.submit(kit.document(64))[0]
    states = []
    for record in stream:
        if record.run_id == other.run_id:
            states.append(record.state)
            if record.state == "finished":
                break
    assert states == sorted(states, key=["queued", "starting", "running", "finished"].index)
    client.delete(other.run_id)
    assert next(record for record in stream if record.run_id == other.run_id and record.deleted)


def test_a_closed_client_says_that_it_is_closed(shared, run):
    client = shared.client
    client.close()
    for ask in (client.get, client.watch_events, client.logs, client.play):
        with pytest.raises(DaemonUnavailable, match="was closed; make a new Client"):
            ask(run.run_id)


def test_lists_are_paged_newest_first(shared, run):
    client = shared.client
    everything = client.list()
    ids = [record.run_id for record in everything]
    assert ids == sorted(ids, reverse=True)
    assert [record.run_id for record in client.list(limit=1)] == ids[:1]
    assert {record.state for record in client.list(states=["finished"])} == {"finished"}


def test_metrics_are_what_the_events_say(shared, run):
    client = shared.client
    told: dict[str, list[tuple[int, float]]] = {}
    for event in shared.events(run.run_id):
        for tag, value in event.get("values", {}).items():
            told.setdefault(tag, []).append((event["global_step"], float(value)))
    series = client.metrics(run.run_id)
    for tag, points in told.items():
        assert list(zip(series[tag].steps, series[tag].values, strict=True)) == points
    assert list(client.tags(run.run_id)) == sorted(series)
    some = client.metrics(run.run_id, tags=["charts/SPS", "no such tag"], min_step=500, max_step=1000)
    assert list(some) == ["charts/SPS"]
    assert all(500 <= step <= 1000 for step in some["charts/SPS"].steps)


@pytest.mark.parametrize("count", [10, 1_999, 2_000, 2_001, 99_999, 100_000])
@pytest.mark.parametrize("points", [1, 2, 3, 100, 2_000])
def test_reduction_keeps_the_extremes_of_every_column(count, points):
    generator = np.random.default_rng(count + points)
    rows = np.column_stack([np.arange(count), generator.normal(size=count), np.zeros(count)]).astype(float)
    rows[generator.integers(count, size=count // 100), 1] = np.nan
    reduced = reduce_rows(rows, points)
    assert len(reduced) <= max(points, 1)
    assert (np.diff(reduced[:, 0]) > 0).all()
    if len(rows) > points > 1:
        assert np.nanmin(rows[:, 1]) == np.nanmin(reduced[:, 1])
        assert np.nanmax(rows[:, 1]) == np.nanmax(reduced[:, 1])
        # A plain loop over the columns finds the same.
        bins = points // 2
        for part in np.array_split(rows, bins):
            wanted = part[:, 1][~np.isnan(part[:, 1])]
            if len(wanted):
                assert {wanted.min(), wanted.max()} <= set(reduced[:, 1].tolist())


def test_a_column_that_is_cut_while_it_is_read_kills_no_process(tmp_path):
    metrics = RunMetrics(tmp_path / "m")
    for step in range(100_000):
        metrics.append("tag", step, 1.0, 0.0)
    metrics.flush()
    rows, _ = metrics.read("tag")
    metrics.rewind(10)
    assert rows[-1, 0] == 99_999
    assert len(metrics.read("tag")[0]) == 11


def test_logs_are_read_from_an_offset_and_followed(shared, run, kit):
    client = shared.client
    whole = b"".join(client.logs(run.run_id))
    assert whole == shared.home.run(run.run_id).stdout.read_bytes()
    assert b"".join(client.logs(run.run_id, offset=-10)) == whole[-10:]
    assert b"".join(client.logs(run.run_id, offset=5)) == whole[5:]
    other = client.submit(kit.document(512))[0]
    followed = b"".join(client.logs(other.run_id, follow=True))
    assert shared.until(other.run_id, "finished")
    assert followed == shared.home.run(other.run_id).stdout.read_bytes()
    with pytest.raises(Refused, match="neither stdout nor stderr"):
        list(client.logs(run.run_id, stream="secrets"))


def test_artifacts_are_listed_and_read_and_nothing_else(shared, run, tmp_path):
    client = shared.client
    listed = {artifact.path: artifact for artifact in client.artifacts(run.run_id)}
    policy = next(path for path, artifact in listed.items() if artifact.kind == "policy")
    data = b"".join(client.read_artifact(run.run_id, policy))
    assert len(data) == listed[policy].bytes
    assert data == (shared.home.run(run.run_id).root / policy).read_bytes()
    root = shared.home.run(run.run_id).root
    (tmp_path / "outside").write_text("not yours")
    (root / "link").symlink_to(tmp_path / "outside")
    (root / "folder").symlink_to(tmp_path)
    hostile = [
        "link",
        "folder/outside",
        "../../index.sqlite",
        "/etc/passwd",
        ".",
        "",
        "checkpoints",
        "no",
        "\0",
        "x" * 5000,
    ]
    for path in hostile:
        with pytest.raises(Refused) as refused:
            list(client.read_artifact(run.run_id, path))
        assert refused.value.status == "INVALID_ARGUMENT", path


def test_the_catalogue_has_schemas_docs_and_environments(shared):
    client = shared.client
    algorithms = client.algorithms()
    ppo = algorithms["ppo"]
    assert ppo.actions == "discrete"
    assert "learning_rate" in ppo.schema["properties"]
    families = {family.name: family for family in client.environments()}
    actions = {one.env_id: one.actions for one in families["classic_control"].environments}
    assert actions["CartPole-v1"] == "discrete"
    assert actions["Pendulum-v1"] == "continuous"


def test_a_ping_needs_no_answer_and_events_of_an_earlier_worker_are_acknowledged(shared, run):
    last = shared.check_sequence(run.run_id)
    with open_channel(f"unix:{shared.home.socket}") as channel:
        publish = TrainerStub(channel).PublishEvents
        ping = pb.PublishEventsRequest(run_id=run.run_id)
        assert list(publish(iter([ping, ping]), timeout=300)) == []
        lines = pb.PublishEventsRequest(run_id=run.run_id, events=[pb.EventLine(seq=last, json=b"whatever")])
        assert [reply.acknowledged_seq for reply in publish(iter([lines]), timeout=300)] == [last]


def test_the_catalogue_is_cached_by_the_digest_of_the_sources(shared, tmp_path, monkeypatch):
    from mosaic.trainer.catalogue import daemon_catalogue as module

    monkeypatch.setattr(module.shipped_catalogue, "holding", lambda: module.Holding({}, ("algorithms", "families")))
    made = []

    def described(_: str) -> bytes:
        made.append(1)
        return json.dumps({"algorithms": [], "families": []}).encode()

    catalogue = module.Catalogue(type(shared.home)(tmp_path), warm_output_of=described)
    shared_folder = catalogue._path.parent
    shared_folder.mkdir(parents=True)
    catalogue.content()
    catalogue.content()
    again = module.Catalogue(type(shared.home)(tmp_path), warm_output_of=described)
    assert again.content() == {"algorithms": [], "families": []}
    assert len(made) == 1
    monkeypatch.setattr(module, "sources_digest", lambda: "another")
    again.content()
    assert len(made) == 2


def test_a_dry_run_shows_everything_and_leaves_nothing(shared, kit):
    client = shared.client
    before = [record.run_id for record in client.list()]
    good = client.validate(kit.document(512))
    assert good.ok
    assert good.summary["args"]["num_envs"] == 2
    assert "observation_space" in good.output
    assert [record.run_id for record in client.list()] == before
    document = kit.document(512)
    document["environment"]["env_id"] = document["metadata"]["worker"]["config"]["env_id"] = "Nonsense-v9"
    bad = client.validate(document)
    assert not bad.ok
    assert "Nonsense-v9" in bad.output
    document = kit.document(512)
    document["metadata"]["worker"]["config"]["extras"]["algo_params"] |= {"gamma": 7, "learning_rate": "x"}
    refused = client.validate(document)
    assert {problem.path.rpartition(".")[2] for problem in refused.problems} == {"gamma", "learning_rate"}


def test_a_policy_is_evaluated_and_a_repeating_evaluation_ends_finished(shared, run, kit):
    client = shared.client
    policy = next(artifact.path for artifact in client.artifacts(run.run_id) if artifact.kind == "policy")
    path = str(shared.home.run(run.run_id).root / policy)
    document = kit.document(1)
    extras = {"mode": "policy_eval", "policy_path": path, "eval_episodes": 3}
    document["metadata"]["worker"]["config"] |= {"extras": extras}
    ended = shared.until(client.submit(document)[0].run_id, "finished")
    assert ended.kind == "policy_eval"
    assert ended.last_return is not None
    assert shared.home.config(ended.run_id, policy=True).exists()
    extras["eval_repeat"] = True
    again = client.submit(document)[0]
    kit.eventually(lambda: client.get(again.run_id).last_return is not None, what="a batch")
    client.cancel(again.run_id)
    assert shared.until(again.run_id, "finished").reason == "ended by the user; what was evaluated is kept"


def test_the_policy_of_a_finished_run_is_listed_and_described(shared, run):
    client = shared.client
    [policy] = [one for one in client.policies() if one.run_id == run.run_id]
    assert (policy.algo, policy.env_id, policy.seed) == (run.algo, run.env_id, run.seed)
    assert policy.global_step == client.get(run.run_id).global_step
    assert client.describe_policy(policy.path) == policy
    assert client.describe_policy(run.run_dir) == policy
    with pytest.raises(Refused, match="not an absolute path"):
        client.describe_policy("ppo.cleanrl_model")
    with pytest.raises(Refused, match="No such file"):
        client.describe_policy("/nowhere/ppo.cleanrl_model")
    again = client.evaluate(policy, episodes=2, deterministic=True)
    assert shared.until(again.run_id, "finished").last_return is not None
