"""Promises 11 and 17: the index is a cache. Deleted or damaged, it is made again, and the list is the same."""

import random
import shutil
from dataclasses import replace

import pytest
from planted_runs import plant

from mosaic.spec import run_record
from mosaic.spec.states import TERMINAL
from mosaic.trainer.index.index_store import SCHEMA_VERSION, open_store


@pytest.fixture(scope="module")
def history(shared, module_daemons, kit):
    """A daemon of a home with runs that ended in different ways; the daemon with a warm worker has made them."""
    client = shared.client
    finished = client.submit(kit.document(256), seeds=[1, 2])
    cancelled = client.submit(kit.document(kit.ENDLESS))[0]
    failed = client.submit(kit.document(2_048, params={"learning_rate": 1e30}))[0]
    shared.until(cancelled.run_id, "running")
    client.cancel(cancelled.run_id)
    client.set_label(finished[0].run_id, label="first", notes="of all", priority=2)
    daemon = module_daemons("--no-warm")
    for run in (*finished, cancelled, failed):
        shared.until(run.run_id, "finished", "cancelled", "failed")
        made = shared.home.run(run.run_id)
        kit.eventually(lambda made=made: run_record.read(made).state in TERMINAL, what="the end, written down")
        shutil.copytree(made.root, daemon.home.run(run.run_id).root)
    return daemon.start()


def listed(daemon):
    """Everything that a client sees of a whole index, but for the revision: that counts changes of this index."""
    client = daemon.client
    daemon.until_whole()
    return [replace(record, revision=0) for record in client.list()]


def damage_bytes(path):
    data = bytearray(path.read_bytes())
    choice = random.Random(1)
    for _ in range(40):
        data[choice.randrange(len(data))] ^= 0xFF
    path.write_bytes(data)


def damage_text(path):
    """Inside a row, where SQLite itself does not notice."""
    for file in (path, path.with_name(path.name + "-wal")):
        if file.exists():
            file.write_bytes(file.read_bytes().replace(b"CartPole", b"CartPale", 1))


def damage_truncate(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2 + 7])


def damage_header(path):
    path.write_bytes(b"this is not a database" * 100)


def damage_empty(path):
    path.write_bytes(b"")


def damage_wal(path):
    path.with_name(path.name + "-wal").write_bytes(random.Random(2).randbytes(100_000))


def delete(path):
    path.unlink()


@pytest.mark.parametrize(
    "damage", [delete, damage_bytes, damage_text, damage_truncate, damage_header, damage_empty, damage_wal]
)
def test_a_damaged_index_is_rebuilt_identical(history, damage):
    before = listed(history)
    assert len(before) == 4
    history.stop()
    damage(history.home.index)
    history.start()
    assert listed(history) == before
    history.kill()  # what was written last is still in SQLite's own log
    damage(history.home.index)
    history.start()
    assert listed(history) == before
    run_id = before[-1].run_id
    assert history.client.metrics(run_id, tags=["charts/episodic_return"])


def test_a_corrupt_index_is_kept_aside_for_a_look(tmp_path):
    path = tmp_path / "index.sqlite"
    open_store(path)[0].close()
    damage_header(path)
    store, fresh = open_store(path)
    store.close()
    assert fresh
    assert (tmp_path / "index.sqlite.corrupt").read_bytes().startswith(b"this is not a database")


def test_an_index_of_another_version_is_made_anew(tmp_path):
    import sqlite3

    path = tmp_path / "index.sqlite"
    open_store(path)[0].close()
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version={SCHEMA_VERSION - 1}")
    connection.close()
    store, fresh = open_store(path)
    store.close()
    assert fresh
    assert not (tmp_path / "index.sqlite.corrupt").exists()


def test_metrics_are_a_cache_too(history):
    client = history.client
    run_id = client.list(states=["finished"])[0].run_id
    before = client.metrics(run_id)
    assert before
    history.stop()
    shutil.rmtree(history.home.metrics)
    history.start()
    assert history.client.metrics(run_id) == before


def test_a_rebuilt_index_tells_a_watcher_who_comes_back_everything(history):
    stream = history.client.watch_runs()
    seen = [next(stream) for _ in range(4)]
    history.stop()
    history.home.index.unlink()
    history.start()
    again = history.client.watch_runs(after_revision=max(record.revision for record in seen))
    assert {next(again).run_id for _ in range(4)} == {record.run_id for record in seen}


def test_a_run_directory_that_a_person_removed_leaves_the_list(history):
    history.stop()
    run_dir = plant(history.home)
    history.start()
    history.until(run_dir.run_id, "finished")
    history.stop()
    shutil.rmtree(run_dir.root)
    history.start()
    assert run_dir.run_id not in [one.run_id for one in history.client.list()]
