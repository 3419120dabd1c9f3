"""What a worker tells the daemon: that its spool has grown. The events themselves are in the file."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
from run_directories import healthy_lines

from cleanrl_worker.sdk.record.event_publisher import EventPublisher
from mosaic.rpc.trainer_methods import answer_with
from mosaic.rpc.trainer_pb2 import PublishEventsReply, PublishEventsRequest, RegisterWorkerReply, RegisterWorkerRequest
from mosaic.spec.processes import process_identity
from mosaic.spec.run_dir import RunDir, new_run_id


class Listener:
    """Keeps what it is told."""

    def __init__(self, run_dir: RunDir) -> None:
        self.run_dir = run_dir
        self.pings: list[tuple[PublishEventsRequest, int]] = []
        """Each with the size of the spool when it came."""

    def RegisterWorker(self, request: RegisterWorkerRequest, context: Any) -> RegisterWorkerReply:  # noqa: N802
        assert request.run_id == self.run_dir.run_id
        return RegisterWorkerReply(accepted=True)

    def PublishEvents(  # noqa: N802
        self, request_iterator: Iterator[PublishEventsRequest], context: Any
    ) -> Iterator[PublishEventsReply]:
        for request in request_iterator:
            self.pings.append((request, self.run_dir.events.stat().st_size))
        yield from ()


def test_a_ping_names_the_run_and_carries_no_event(tmp_path: Path) -> None:
    run_dir = RunDir(tmp_path / new_run_id())
    run_dir.create()
    process_identity.write_self(run_dir.worker, attempt=1)
    first, *rest = [line + b"\n" for line in healthy_lines()]
    run_dir.events.write_bytes(first)
    listener = Listener(run_dir)
    server = grpc.server(ThreadPoolExecutor(4))
    answer_with(listener, server)
    port = server.add_insecure_port(f"unix:{tmp_path / 'd.sock'}")
    assert port
    server.start()
    publisher = EventPublisher(run_dir, f"unix:{tmp_path / 'd.sock'}", superseded=lambda: None)
    try:
        with run_dir.events.open("ab") as spool:
            spool.writelines(rest)
    finally:
        publisher.close()
        server.stop(None).wait()
    assert listener.pings
    # The last one comes after the last event is written.
    assert listener.pings[-1][1] == run_dir.events.stat().st_size
    for ping, _ in listener.pings:
        assert (ping.run_id, list(ping.events)) == (run_dir.run_id, [])
