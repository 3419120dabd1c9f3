"""A dry run goes through the warm worker, tells what it does, and ends when no client waits for it any more."""

import os
import threading

import psutil
import pytest

from mosaic.rpc.dry_run import DryRunCancelled
from mosaic.trainer.engines.local_engine import LocalEngine

ZOMBIE = psutil.STATUS_ZOMBIE


@pytest.fixture
def hanging(kit):
    """The config of an environment that only a worker knows, and that never comes to be."""
    document = kit.document(512)
    document["environment"]["env_id"] = document["metadata"]["worker"]["config"]["env_id"] = "never_there:Never-v0"
    return document


def zygote_of(daemon):
    children = psutil.Process(daemon.process.pid).children()
    return next(child for child in children if "cleanrl_worker.zygote" in child.cmdline())


def test_it_is_a_fork_of_the_warm_worker_and_tells_what_it_does(shared, kit):
    lines = []
    found = shared.client.validate(kit.document(512), tell=lines.append)
    assert found.ok, found.output
    assert lines[0] == "making CartPole-v1 and stepping it once …"
    assert "drawing a frame …" in lines
    assert found.summary["render"] == "CartPole-v1 renders frames of shape (400, 600, 3)"
    assert found.output.splitlines() == lines


def test_no_interpreter_is_started_for_it(shared, kit, monkeypatch, tmp_path):
    """Neither for the worker nor for the frame: all processes that it is made of are forks of the zygote."""
    zygote = zygote_of(shared).cmdline()
    seen = set()
    done = threading.Event()

    def look():
        while not done.is_set():
            for child in psutil.Process(shared.process.pid).children(recursive=True):
                try:
                    seen.add((child.pid, tuple(child.cmdline())))
                except psutil.Error:
                    continue

    watching = threading.Thread(target=look)
    before = {child.pid for child in psutil.Process(shared.process.pid).children(recursive=True)}
    watching.start()
    try:
        assert shared.client.validate(kit.document(512)).ok
    finally:
        done.set()
        watching.join()
    assert {command for pid, command in seen if pid not in before and command} == {tuple(zygote)}


def test_a_cancelled_one_ends_and_leaves_no_process(shared, hanging, kit):
    cancels = []
    asked = threading.Event()

    def begun(cancel):
        cancels.append(cancel)
        asked.set()

    client = shared.client
    before = len(client.list())
    failed = []

    def validate():
        try:
            client.validate(hanging, begun=begun)
        except DryRunCancelled as error:
            failed.append(error)

    trying = threading.Thread(target=validate)
    trying.start()
    assert asked.wait(300)

    def workers():
        return [child.pid for child in psutil.Process(shared.process.pid).children() if _is_trying(child)]

    kit.eventually(workers, what="the worker of the dry run")
    cancels[0]()
    trying.join(300)
    assert "cancelled; nothing was made" in str(failed[0])
    kit.eventually(lambda: not workers(), what="its end")
    assert not [child for child in psutil.Process(shared.process.pid).children() if child.status() == ZOMBIE]
    assert len(client.list()) == before


def test_what_a_process_apart_prints_is_read_and_its_children_end_with_it(tmp_path):
    """Without a warm process it is an interpreter of its own."""
    module = tmp_path / "apart_program.py"
    module.write_text(
        "import os, sys, time\n"
        "if os.fork() == 0:\n    time.sleep(600)\n"
        "print('out', flush=True)\nprint('err', file=sys.stderr, flush=True)\nsys.exit(3)\n"
    )
    engine = LocalEngine()
    apart = engine.start_apart("apart_program", [], {"PYTHONPATH": str(tmp_path)}, tmp_path)
    said = b""
    while (code := apart.exit_code()) is None or not said.endswith(b"err\n"):
        said += apart.new_output()
    assert code == 3
    assert said == b"out\nerr\n"
    apart.end()
    assert not [process.pid for process in psutil.process_iter() if _group(process.pid) == apart.pid]


def _is_trying(process):
    """Whether it works in the folder of a dry run."""
    try:
        return "mosaic-dry-run-" in process.cwd()
    except psutil.Error:
        return False


def _group(pid):
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return -1
