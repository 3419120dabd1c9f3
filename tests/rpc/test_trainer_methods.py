"""The methods of trainer.proto, called and answered by the descriptor alone."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest

from mosaic.rpc import trainer_pb2 as pb
from mosaic.rpc.trainer_methods import METHODS, TrainerStub, answer_with
from mosaic.trainer.serving.service import TrainerService


class OneOfEachKind:
    """Answers a method of each kind that the service has, and no other."""

    def GetRun(self, request: pb.RunId, context: Any) -> pb.Run:  # noqa: N802
        return pb.Run(run_id=request.run_id)

    def WatchRuns(self, request: pb.WatchRunsRequest, context: Any) -> Iterator[pb.Run]:  # noqa: N802
        yield from (pb.Run(revision=request.after_revision + number) for number in (1, 2))

    def PublishEvents(  # noqa: N802
        self, request_iterator: Iterator[pb.PublishEventsRequest], context: Any
    ) -> Iterator[pb.PublishEventsReply]:
        for request in request_iterator:
            yield pb.PublishEventsReply(acknowledged_seq=request.events[0].seq)


@pytest.fixture
def stub(tmp_path: Path) -> Iterator[TrainerStub]:
    server = grpc.server(ThreadPoolExecutor(2))
    answer_with(OneOfEachKind(), server)
    server.add_insecure_port(f"unix:{tmp_path}/socket")
    server.start()
    with grpc.insecure_channel(f"unix:{tmp_path}/socket") as channel:
        yield TrainerStub(channel)
    server.stop(None).wait()


def test_the_daemon_answers_every_method():
    assert [name for name in METHODS if name not in vars(TrainerService)] == []


def test_a_call_and_streams_in_either_direction(stub: TrainerStub):
    assert stub.GetRun(pb.RunId(run_id="a"), timeout=60) == pb.Run(run_id="a")
    assert [run.revision for run in stub.WatchRuns(pb.WatchRunsRequest(after_revision=4), timeout=60)] == [5, 6]
    pings = (pb.PublishEventsRequest(events=[pb.EventLine(seq=seq)]) for seq in (3, 7))
    assert [reply.acknowledged_seq for reply in stub.PublishEvents(pings, timeout=60)] == [3, 7]


def test_a_method_that_a_server_lacks_is_unimplemented(stub: TrainerStub):
    with pytest.raises(grpc.RpcError) as caught:
        stub.CancelRun(pb.RunId(run_id="a"), timeout=60)
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED  # type: ignore[attr-defined]
