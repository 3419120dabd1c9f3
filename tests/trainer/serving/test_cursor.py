"""A client that asks for what is new gets each row and each event once, whatever happens in between."""

import numpy as np
import pytest

from mosaic.spec.run_dir import Home
from mosaic.trainer.index.ingest import RunIngest
from mosaic.trainer.index.metric_columns import RunMetrics

SHORT = '{{"v":1,"seq":{seq},"time":1.0,"kind":"{kind}",{rest}}}\n'


def fill(metrics: RunMetrics, tag: str, steps: range) -> None:
    for step in steps:
        metrics.append(tag, step, step / 2, 1e9 + step)
    metrics.flush()


def rows_of(data: bytes) -> list[tuple[float, ...]]:
    return [tuple(row) for row in np.frombuffer(data, "<f8").reshape(-1, 3).tolist()]


def test_rows_come_in_pieces_and_none_twice(tmp_path):
    metrics = RunMetrics(tmp_path / "m")
    fill(metrics, "b", range(25))
    fill(metrics, "a", range(5))
    have: dict[str, list[tuple[float, ...]]] = {}
    pieces = 0
    while True:
        new = metrics.read_new({tag: len(rows) for tag, rows in have.items()}, 0, 10)
        pieces += 1
        for tag, (first, data) in new.rows.items():
            assert first == len(have.setdefault(tag, []))
            have[tag] += rows_of(data)
        if not new.more:
            break
    assert pieces == 3
    assert have["a"] == [(step, step / 2, 1e9 + step) for step in range(5)]
    assert len(have["b"]) == 25
    assert metrics.read_new({"a": 5, "b": 25}, 0, 10).rows == {}
    assert set(metrics.read_new({}, 0, 100, tags=["a", "no such tag"]).rows) == {"a"}


def test_rows_that_are_taken_back_make_a_new_generation(tmp_path):
    metrics = RunMetrics(tmp_path / "m")
    fill(metrics, "a", range(10))
    metrics.rewind(4)
    fill(metrics, "a", range(6, 8))
    new = metrics.read_new({"a": 10}, 0, 100)
    assert new.generation == 1
    first, data = new.rows["a"]
    assert first == 0
    assert [row[0] for row in rows_of(data)] == [0, 1, 2, 3, 4, 6, 7]
    metrics.save({})
    again = RunMetrics(tmp_path / "m")
    again.load()
    assert again.read_new({"a": 7}, 1, 100).rows == {}


def test_the_same_events_give_the_same_rows_and_generation(tmp_path):
    """A daemon that lost its columns makes them anew: a client goes on where it was."""
    home = Home(tmp_path)
    run_dir = home.run("01K9CG05J5Y0FFQMT1T920EZK2")
    run_dir.create()
    started = '"algo":"ppo","env_id":"x","seed":1,"total_timesteps":9,"attempt":{},"resumed_from_step":{}'
    lines = [SHORT.format(seq=1, kind="run.started", rest=started.format(1, "null"))]
    lines += [SHORT.format(seq=2 + n, kind="scalars", rest=f'"global_step":{n},"values":{{"a":{n}}}') for n in range(9)]
    lines += [SHORT.format(seq=11, kind="run.started", rest=started.format(2, 3))]
    lines += [SHORT.format(seq=12, kind="scalars", rest='"global_step":5,"values":{"a":0.5}')]
    run_dir.events.write_text("".join(lines))
    first = RunIngest(home, run_dir)
    first.catch_up()
    before = first.metrics.read_new({}, 0, 100)
    first.metrics.clear()
    second = RunIngest(home, run_dir)
    second.catch_up()
    assert second.metrics.read_new({}, 0, 100) == before
    assert before.generation == 1
    second.save()
    # Another file under the same name is not a continuation.
    run_dir.events.write_text("".join(lines[:3]))
    third = RunIngest(home, run_dir)
    third.catch_up()
    assert third.metrics.read_new({"a": 5}, 1, 100).generation == 2


@pytest.fixture(scope="module")
def run(shared, kit):
    record = shared.client.submit(kit.document(2048, extras={"checkpoint_interval_steps": 512}))[0]
    return shared.until(record.run_id, "finished")


def test_a_client_gets_the_same_as_by_the_reduced_form(shared, run):
    client = shared.client
    whole = client.metrics(run.run_id)
    have: dict[str, list[tuple[float, ...]]] = {}
    generation, more = 0, True
    while more:
        after = {tag: len(rows) for tag, rows in have.items()}
        new = client.new_metrics(run.run_id, after_rows=after, generation=generation, max_rows=50)
        generation, more = new.generation, new.more
        for tag, (_, data) in new.rows.items():
            have.setdefault(tag, []).extend(rows_of(data))
    assert set(have) == set(whole)
    for tag, rows in have.items():
        series = whole[tag]
        assert rows == list(zip(series.steps, series.values, series.times, strict=True))


def test_events_are_watched_by_kind(shared, run):
    client = shared.client
    everything = [event.body.kind for event in client.watch_events(run.run_id)]
    some = [event.body.kind for event in client.watch_events(run.run_id, kinds=["checkpoint.saved", "run.completed"])]
    assert some == [kind for kind in everything if kind in ("checkpoint.saved", "run.completed")]
    rest = [event.body.kind for event in client.watch_events(run.run_id, without_kinds=["scalars", "episode"])]
    assert rest == [kind for kind in everything if kind not in ("scalars", "episode")]


def test_a_line_that_is_no_event_comes_in_its_place_and_ends_no_stream(shared, run, kit):
    record = shared.client.submit(kit.document(256))[0]
    shared.until(record.run_id, "finished")
    events = shared.home.run(record.run_id).events
    lines = events.read_bytes().splitlines(keepends=True)
    events.write_bytes(b"".join([*lines[:5], b"{no event}\n", *lines[5:]]))
    heard = list(shared.client.watch_event_lines(record.run_id))
    assert [line.seq for line in heard] == [1, 2, 3, 4, 5, 0, *range(6, len(lines) + 1)]
    assert heard[5].json == b"{no event}"
    behind = list(shared.client.watch_event_lines(record.run_id, after_seq=5))
    assert [line.seq for line in behind] == [0, *range(6, len(lines) + 1)]
    later = list(shared.client.watch_event_lines(record.run_id, after_seq=6))
    assert [line.seq for line in later] == list(range(7, len(lines) + 1))


def test_a_stream_is_stopped_from_another_thread(shared, kit):
    import threading

    record = shared.client.submit(kit.document(kit.ENDLESS))[0]
    shared.until(record.run_id, "running")
    client = shared.client
    stream = client.watch_events(record.run_id)
    next(stream)
    threading.Timer(0.2, stream.stop).start()
    assert sum(1 for _ in stream) >= 0
    client.cancel(record.run_id)
    shared.until(record.run_id, "cancelled")


def test_a_stream_that_the_daemon_cuts_off_does_not_look_finished(daemons, kit):
    from mosaic.rpc.locate import DaemonUnavailable

    daemon = daemons("--no-warm").start()
    record = daemon.client.submit(kit.document(kit.ENDLESS))[0]
    stream = daemon.client.logs(record.run_id, follow=True)
    daemon.process.terminate()
    with pytest.raises(DaemonUnavailable):
        list(stream)


def test_health_tells_the_load_of_the_machine(shared, kit):
    client = shared.client
    health = client.health()
    assert 0 < health.memory_used_bytes < health.memory_total_bytes
    assert 0 < health.disk_free_bytes < health.disk_total_bytes
    assert 0 <= health.cpu_percent <= 100
    assert len(health.gpu_loads) == len(health.gpus)


def test_a_directory_that_a_person_removes_leaves_the_list(shared, kit):
    import shutil

    client = shared.client
    record = client.submit(kit.document(256))[0]
    ended = shared.until(record.run_id, "finished")
    changes = client.watch_runs(after_revision=ended.revision)
    shutil.rmtree(shared.home.run(record.run_id).root)
    gone = next(change for change in changes if change.run_id == record.run_id and change.deleted)
    assert gone.deleted
    assert record.run_id not in [run.run_id for run in client.list()]
    assert not (shared.home.metrics / record.run_id).exists()
