"""Promise 6: a stopped daemon and slow watchers never slow the learner (bench/daemon.py measures it for longer)."""

import os
import signal
import threading

import grpc
from planted_runs import plant

from mosaic.rpc import trainer_pb2 as pb
from mosaic.rpc.channel import open_channel
from mosaic.rpc.trainer_methods import TrainerStub


def test_a_stopped_daemon_and_slow_watchers_hold_no_run_up(daemons, kit):
    daemon = daemons("--no-warm").start()
    run = daemon.client.submit(kit.document(kit.ENDLESS))[0]
    daemon.until(run.run_id, "running")

    def steps() -> list[int]:
        return [event["global_step"] for event in daemon.events(run.run_id) if event["kind"] == "run.heartbeat"]

    kit.eventually(steps, what="a heartbeat")
    with open_channel(f"unix:{daemon.home.socket}") as channel:
        stub = TrainerStub(channel)
        # They take one message and never another.
        watchers = [stub.WatchEvents(pb.WatchEventsRequest(run_id=run.run_id)) for _ in range(20)]
        for watcher in watchers:
            next(watcher)
        os.kill(daemon.process.pid, signal.SIGSTOP)
        try:
            before = len(steps())
            kit.eventually(lambda: len(steps()) >= before + 4, what="more heartbeats")
            # From each beat to the next it went on: it waited for no client.
            went_on = steps()[before - 1 :]
            assert went_on == sorted(set(went_on))
        finally:
            os.kill(daemon.process.pid, signal.SIGCONT)
        for watcher in watchers:
            watcher.cancel()
    kit.eventually(lambda: daemon.client.get(run.run_id).last_seq > 0, what="the daemon")
    daemon.client.cancel(run.run_id)
    ended = daemon.until(run.run_id, "cancelled")
    assert daemon.check_sequence(run.run_id) == ended.last_seq


def test_a_daemon_that_is_killed_while_a_watcher_reads_ends_the_stream_with_a_reason(daemons):
    daemon = daemons("--no-warm", "--cpus", "1")
    plant(daemon.home)
    daemon.start()
    errors = []
    stream_open = threading.Event()

    def watch() -> None:
        with open_channel(f"unix:{daemon.home.socket}") as channel:
            stream = TrainerStub(channel).WatchRuns(pb.WatchRunsRequest())
            try:
                next(stream)
                stream_open.set()
                next(stream)
            except grpc.RpcError as error:
                errors.append(error.code())

    thread = threading.Thread(target=watch)
    thread.start()
    assert stream_open.wait(300)
    daemon.kill()
    thread.join(300)
    assert errors == [grpc.StatusCode.UNAVAILABLE]
