"""A submit is exactly once for the user, whatever happens to the daemon; what is not known is said to be so."""

import fcntl
import json
import os
import signal
import socket
import subprocess
import threading

import pytest

from mosaic import cli
from mosaic.rpc.client import Client, SubmitInterrupted, SubmitUnknown
from mosaic.rpc.locate import DaemonUnavailable
from mosaic.spec.processes import process_identity
from mosaic.spec.run_dir import new_run_id
from mosaic.spec.run_record import Placed
from mosaic.spec.states import RunState
from mosaic.trainer.engines import warm_worker
from mosaic.trainer.engines.warm_worker import WarmWorker


@pytest.fixture(scope="module")
def busy(module_daemons):
    """A daemon whose only slot is taken, by this process: what is submitted stays in the queue."""
    daemon = module_daemons("--no-warm", "--cpus", "1")
    run_dir = daemon.home.run(new_run_id())
    run_dir.create()
    process_identity.write_self(run_dir.worker, attempt=1)
    placed = Placed(run_id=run_dir.run_id, state=RunState.RUNNING, pid=os.getpid(), attempt=1, algo="ppo")
    run_dir.record.write_text(json.dumps(vars(placed)))
    with run_dir.life_lock.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield daemon.start()
        daemon.kill()


def labelled(daemon, label):
    return [run.run_id for run in daemon.client.list(text=label) if run.label == label]


def named(kit, label):
    return kit.document() | {"run_name": label}


def test_a_daemon_that_hangs_is_not_said_to_have_refused(busy, kit):
    client = busy.client
    busy.process.send_signal(signal.SIGSTOP)
    try:
        with pytest.raises(SubmitUnknown, match="may have accepted the run: 'mosaic runs' shows it") as unknown:
            client.submit(named(kit, "hung"), patience_s=1.0)
    finally:
        busy.process.send_signal(signal.SIGCONT)
    key = unknown.value.client_key
    assert f"--client-key {key}" in str(unknown.value)
    [run] = busy.client.submit(named(kit, "hung"), client_key=key)
    assert labelled(busy, "hung") == [run.run_id]


def test_a_daemon_that_hangs_for_a_while_is_waited_for(busy, kit):
    client, answers = busy.client, []
    busy.process.send_signal(signal.SIGSTOP)
    asking = threading.Thread(target=lambda: answers.append(client.submit(named(kit, "late"))), daemon=True)
    asking.start()
    asking.join(1.0)
    assert not answers
    busy.process.send_signal(signal.SIGCONT)
    asking.join(60)
    assert [run.run_id for [run] in answers] == labelled(busy, "late")


@pytest.mark.parametrize("moment", ["as its directory appears", "as its record is written"])
def test_a_daemon_that_is_killed_in_a_submit_makes_one_run(busy, kit, moment):
    client, answers = busy.client, []
    before = set(busy.home.runs.iterdir())
    asking = threading.Thread(target=lambda: answers.append(client.submit(named(kit, moment))), daemon=True)
    asking.start()

    def seen():
        new = set(busy.home.runs.iterdir()) - before
        return new if "directory" in moment else [one for one in new if (one / "run.json").exists()]

    kit.eventually(seen, what="the submit")
    busy.restart()
    asking.join(60)
    assert [run.run_id for [run] in answers] == labelled(busy, moment)


def test_ctrl_c_in_a_submit_says_that_it_may_have_been_accepted(busy, kit, monkeypatch, capsys):
    client = busy.client
    busy.process.send_signal(signal.SIGSTOP)
    interrupt = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    interrupt.start()
    try:
        with pytest.raises(SubmitInterrupted, match="may have accepted") as interrupted:
            client.submit(named(kit, "interrupted"))
    finally:
        interrupt.join()
        busy.process.send_signal(signal.SIGCONT)

    def raise_it(_):
        raise interrupted.value

    monkeypatch.setattr(cli, "_run", raise_it)
    assert cli.main(["train", "ppo"]) == cli.INTERRUPTED
    assert interrupted.value.client_key in capsys.readouterr().err


def test_what_was_never_sent_is_not_said_to_be_unknown(busy, kit):
    address = socket.create_server(("127.0.0.1", 0))
    port = address.getsockname()[1]
    address.close()
    busy.home.token.write_text("token")
    with Client(f"127.0.0.1:{port}", home=busy.home) as client, pytest.raises(DaemonUnavailable) as failed:
        client.submit(kit.document())
    assert not isinstance(failed.value, SubmitUnknown)


def test_waiting_for_the_warm_worker_does_not_read_all_sources_again_and_again(monkeypatch):
    digests = []
    monkeypatch.setattr(warm_worker, "sources_digest", lambda: digests.append(1) or "same")
    waited, asked = object.__new__(WarmWorker), threading.Event()
    waited._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    waited._ready, waited._digest = False, "same"
    with theirs, subprocess.Popen(["sleep", "600"]) as waited._process:
        telling = threading.Timer(0.5, lambda: (asked.set(), theirs.send(b"ready")))
        telling.start()
        assert waited.wait_until_ready(60)
        telling.join()
        assert asked.is_set()
        assert len(digests) == 1
        waited.close()
