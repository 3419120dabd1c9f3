"""Promise 15: whatever arrives is answered with a reason, and the daemon lives."""

import json
from typing import Any

import grpc
import pytest
from hypothesis import HealthCheck, given, settings, strategies

from mosaic.rpc import trainer_pb2 as pb
from mosaic.rpc.channel import open_channel
from mosaic.rpc.trainer_methods import TrainerStub
from mosaic.spec.run_dir import new_run_id

FUZZ = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
METHODS = [method.name for method in pb.DESCRIPTOR.services_by_name["Trainer"].methods if method.name != "Shutdown"]
REASONED = {
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
}
ID_METHODS = ["CancelRun", "PauseRun", "ContinueRun", "GetRun", "DeleteRun", "ListTags", "ListArtifacts"]


@pytest.fixture(scope="module")
def channel(module_daemons):
    """A raw channel to a daemon that starts nothing."""
    daemon = module_daemons("--no-warm", "--cpus", "1").start()
    with open_channel(f"unix:{daemon.home.socket}") as channel:
        channel.daemon = daemon
        yield channel
        assert daemon.process.poll() is None
        assert "rpc.bug" not in daemon.log.read_text()


def refusal(call: Any, *args: Any) -> grpc.StatusCode:
    with pytest.raises(grpc.RpcError) as caught:
        call(*args, timeout=300)
    status = caught.value.code()
    assert status in REASONED, (status, caught.value.details())
    assert caught.value.details()
    return status


def answer(call: Any) -> grpc.StatusCode:
    """How a call ends."""
    try:
        call()
    except grpc.RpcError as error:
        return error.code()
    return grpc.StatusCode.OK


def raw(channel: Any, method: str, data: bytes) -> None:
    """Send bytes as a request; any answer will do, silence and "internal" will not."""
    path = f"/mosaic.v1.Trainer/{method}"
    allowed = {grpc.StatusCode.OK, *REASONED}
    if method == "PublishEvents":
        status = answer(lambda: list(channel.stream_stream(path)(iter([data]), timeout=300)))
    elif method in ("WatchRuns", "WatchAlerts", "WatchEvents", "StreamLogs", "CountLog", "ReadArtifact"):
        # A stream that was accepted waits for what comes next.
        allowed |= {grpc.StatusCode.DEADLINE_EXCEEDED}
        status = answer(lambda: next(channel.unary_stream(path)(data, timeout=0.2), None))
    else:
        status = answer(lambda: channel.unary_unary(path)(data, timeout=300))
    assert status in allowed, (method, status)


@pytest.mark.parametrize("method", METHODS)
@FUZZ
@given(data=strategies.binary(max_size=200))
def test_random_bytes_are_survived(channel, method, data):
    raw(channel, method, data)


json_values = strategies.recursive(
    strategies.none()
    | strategies.booleans()
    | strategies.integers()
    | strategies.floats()
    | strategies.text(strategies.characters()),
    lambda inner: strategies.lists(inner, max_size=3) | strategies.dictionaries(strategies.text(), inner, max_size=3),
    max_leaves=8,
)


@FUZZ
@given(value=json_values, where=strategies.integers(0, 30), data=strategies.data())
def test_fuzzed_configs_are_refused_or_taken_but_never_break_the_list(channel, kit, value, where, data):
    document = kit.document(64)
    places: list[tuple[dict[str, Any], str]] = []

    def walk(node: Any) -> None:
        for key, item in node.items():
            places.append((node, key))
            if isinstance(item, dict):
                walk(item)

    walk(document)
    node, key = places[where % len(places)]
    node[key] = value
    stub = TrainerStub(channel)
    request = pb.SubmitRunRequest(config_json=json.dumps(document).encode(errors="replace"))

    def submit() -> None:
        for run in stub.SubmitRun(request, timeout=300).runs:
            stub.CancelRun(pb.RunId(run_id=run.run_id), timeout=300)

    assert answer(submit) in (grpc.StatusCode.OK, grpc.StatusCode.INVALID_ARGUMENT)
    stub.ListRuns(pb.ListRunsRequest(), timeout=300)


WORKER = ("metadata", "worker", "config")
BAD_VALUES: dict[str, tuple[tuple[str, ...], Any]] = {
    "nan": ((*WORKER, "total_timesteps"), float("nan")),
    "infinity": ((*WORKER, "extras", "algo_params", "gamma"), float("inf")),
    "unknown key": (("surprise",), 1),
    "unknown setting": ((*WORKER, "extras", "algo_params", "surprise"), 1),
    "unknown algorithm": ((*WORKER, "algo"), "../../etc/passwd"),
    "another module": (("metadata", "worker", "module"), "os"),
    "wrong type": ((*WORKER, "seed"), "1"),
    "huge number": ((*WORKER, "total_timesteps"), 10**30),
    "very huge number": ((*WORKER, "total_timesteps"), 10**400),
    "lone surrogate": (("run_name",), "\ud800"),
    "many cpus": (("resources",), {"cpus": 10**9}),
    "many gpus": (("resources",), {"gpus": 64}),
    "long": (("run_name",), "x" * 2_000_000),
}
BAD_BYTES = {
    "empty": b"",
    "no json": b"{",
    "no object": b"[1]",
    "no text": b"\xff\xfe\x00",
    "deep": b'{"a":' * 100_000,
}


@pytest.mark.parametrize("name", [*BAD_BYTES, *BAD_VALUES])
def test_bad_configs_get_a_reason(channel, kit, name):
    if name in BAD_BYTES:
        data = BAD_BYTES[name]
    else:
        path, value = BAD_VALUES[name]
        document = node = kit.document(64)
        for key in path[:-1]:
            node = node[key]
        node[path[-1]] = value
        data = json.dumps(document).encode()
    stub = TrainerStub(channel)
    assert refusal(stub.SubmitRun, pb.SubmitRunRequest(config_json=data)) is grpc.StatusCode.INVALID_ARGUMENT
    replies: list[pb.ValidateRunReply] = []
    validate = answer(lambda: replies.append(stub.ValidateRun(pb.ValidateRunRequest(config_json=data), timeout=300)))
    assert validate is grpc.StatusCode.INVALID_ARGUMENT or (replies[0].problems and not replies[0].ok)


@pytest.mark.parametrize(
    "run_id", ["", "../x", "..", "x" * 100_000, "01K9CG05J5Y0FFQMT1T920EZK2/..", "\0", "\u202e", "💣"]
)
@pytest.mark.parametrize("method", ID_METHODS)
def test_hostile_ids_are_refused(channel, run_id, method):
    call = getattr(TrainerStub(channel), method)
    assert refusal(call, pb.RunId(run_id=run_id)) is grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize("method", ID_METHODS)
def test_unknown_ids_are_not_found(channel, method):
    call = getattr(TrainerStub(channel), method)
    assert refusal(call, pb.RunId(run_id=new_run_id())) is grpc.StatusCode.NOT_FOUND


def test_a_payload_of_100_mb_is_refused(channel):
    request = pb.SubmitRunRequest(config_json=b" " * 100_000_000)
    # Beyond what our own channels send, as an attacker's would.
    path = "/mosaic.v1.Trainer/SubmitRun"
    options = [("grpc.max_send_message_length", -1)]
    with grpc.insecure_channel(f"unix:{channel.daemon.home.socket}", options=options) as big:
        with pytest.raises(grpc.RpcError) as caught:
            big.unary_unary(path)(request.SerializeToString(), timeout=300)
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    TrainerStub(channel).GetHealth(pb.Empty(), timeout=300)


def test_odd_requests_get_a_reason(channel):
    stub = TrainerStub(channel)
    refusal(stub.ListRuns, pb.ListRunsRequest(states=["nonsense"]))
    refusal(stub.ListRuns, pb.ListRunsRequest(text="%" * 100_000))
    assert not stub.ListRuns(pb.ListRunsRequest(text="'; DROP TABLE runs; --", page_token="\0%_"), timeout=300).runs
    assert (
        refusal(stub.SubmitRun, pb.SubmitRunRequest(config_json=b"{}", client_key="k" * 1000)).name
        == "INVALID_ARGUMENT"
    )


def test_too_many_streams_are_refused_and_calls_still_answered(channel, kit):
    stub = TrainerStub(channel)
    streams = [stub.WatchRuns(pb.WatchRunsRequest()) for _ in range(230)]
    try:
        assert stub.GetHealth(pb.Empty(), timeout=300).pid
        kit.eventually(lambda: sum(stream.done() for stream in streams) >= 30, what="refusals")
        assert {stream.code().name for stream in streams if stream.done()} == {"RESOURCE_EXHAUSTED"}
    finally:
        for stream in streams:
            stream.cancel()
