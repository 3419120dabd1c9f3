"""Every rpc with hostile values in every field, by the descriptor: a reason, never "internal"; the daemon lives."""

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor
from run_directories import healthy_lines, make_run, write_policy

from mosaic.errors import MosaicError
from mosaic.rpc import trainer_pb2 as pb
from mosaic.rpc.channel import open_channel
from mosaic.rpc.trainer_methods import TrainerStub
from mosaic.spec.processes import process_identity

METHODS = [method for method in pb.DESCRIPTOR.services_by_name["Trainer"].methods if method.name != "Shutdown"]
NOT_REASONS = {grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.UNAVAILABLE}
DEEP = 100_000
STREAM_S = 0.15
"""A stream that was accepted waits for what comes next."""


class Target:
    """A daemon with one whole run, and requests against it."""

    def __init__(self, daemon: Any, channel: Any, document: Callable[..., dict[str, Any]]) -> None:
        self.daemon = daemon
        self.document = document
        self.stub = TrainerStub(channel)
        run_dir = make_run(daemon.home, 1, healthy_lines())
        self.run_id = run_dir.run_id
        self.policy = str(write_policy(run_dir.root / "runs/x/ppo.cleanrl_model"))
        for name, header in (("deep", b'{"a":' + b"[" * DEEP), ("list", b"{}[]"), ("text", b'{"__metadata__":"x"}')):
            write_policy(run_dir.root / f"runs/{name}/ppo.cleanrl_model", header=header)
        write_policy(run_dir.root / "runs/args/ppo.cleanrl_model", args="[" * DEEP)

    def texts(self) -> list[str]:
        folder = self.policy.removesuffix("x/ppo.cleanrl_model")
        policies = [f"{folder}{name}/ppo.cleanrl_model" for name in ("x", "deep", "list", "text", "args")]
        hostile = [
            "",
            "\0",
            "/\0",
            "..",
            "../..",
            "/",
            "/dev/zero",
            "~nobody",
            "x" * 5000,
            "/" + "x/" * 2000,
            "%s%n",
            "💣\u202e",
        ]
        return [*hostile, "[" * DEEP, *policies, folder, self.run_id, f"{self.run_id}\0", "stdout", "single"]

    def documents(self) -> list[bytes]:
        who = json.loads(json.dumps(vars(process_identity.identify(1))))
        numbers = [who | {"pid": 2**70}, who | {"attempt": 2**70}, who | {"pid": -1}, who | {"start_time": 1e400}]
        deep = [b"[" * DEEP, b'{"a":' * DEEP, b'{"metadata":' + b"[" * 150 + b"]" * 150 + b"}"]
        return [
            b"",
            b"\0",
            b"\xff\xfe",
            b"{}",
            b"null",
            *deep,
            *self.configs(),
            *(json.dumps(n).encode() for n in numbers),
        ]

    def configs(self) -> Iterator[bytes]:
        """Run configs that are whole but for one hostile name, path or key."""
        hostile = ["\0.py", "/x\0.py", "/" + "x" * 5000 + ".py", "~nobody/x.py", "ppo\0", "../x.py"]
        for changes in (*({"algo": name} for name in hostile), {"extras": {"wandb_api_key": "a\0b"}}):
            document = self.document(64)
            document["metadata"]["worker"]["config"] |= changes
            yield json.dumps(document).encode()
        evaluation = {"mode": "policy_eval", "policy_path": "/x\0", "eval_batch_size": 1}
        document = self.document(64)
        document["metadata"]["worker"]["config"] |= {"algo": "", "extras": evaluation}
        yield json.dumps(document).encode()

    def values(self, field: FieldDescriptor) -> list[Any]:
        match field.type:
            case FieldDescriptor.TYPE_STRING:
                return self.texts()
            case FieldDescriptor.TYPE_BYTES:
                return self.documents()
            case FieldDescriptor.TYPE_UINT64:
                return [1, 2**53 + 1, 2**63, 2**64 - 1]
            case FieldDescriptor.TYPE_INT64:
                return [1, -1, -(2**63), 2**63 - 1]
            case FieldDescriptor.TYPE_UINT32:
                return [1, 2**32 - 1]
            case FieldDescriptor.TYPE_INT32:
                return [-(2**31), 2**31 - 1]
            case FieldDescriptor.TYPE_FLOAT | FieldDescriptor.TYPE_DOUBLE:
                return [-1.0, 3e38, float("nan"), float("inf")]
            case FieldDescriptor.TYPE_BOOL:
                return [True]
            case _:
                return []

    def requests(self, method: MethodDescriptor) -> Iterator[Any]:
        """One field hostile at a time: alone, and beside the id of a run that is there."""
        make: Callable[..., Any] = getattr(pb, method.input_type.name)
        names = [field.name for field in method.input_type.fields]
        known = [{}, {"run_id": self.run_id}] if "run_id" in names else [{}]
        yield make()
        for field, base in itertools.product(method.input_type.fields, known):
            if field.message_type is not None and field.message_type.GetOptions().map_entry:
                for value in (1, 2**64 - 1):
                    yield make(**base, **{field.name: {"\0": value, "charts/episodic_return": value}, "max_rows": 9})
                continue
            if field.message_type is not None and not field.is_repeated:
                yield from (
                    make(**base, **{field.name: getattr(pb, field.message_type.name)(**{part.name: value})})
                    for part in field.message_type.fields
                    for value in (self.values(part) if not part.is_repeated else [[each] for each in self.values(part)])
                )
                continue
            if field.message_type is not None:
                inner = [pb.EventLine(seq=seq, json=data) for seq in (0, 2**64 - 1) for data in (b"", b"[" * DEEP)]
                yield from (make(**base, **{field.name: [message]}) for message in inner)
                continue
            for value in self.values(field):
                yield make(**base | {field.name: [value] if field.is_repeated else value})

    def answer(self, method: MethodDescriptor, request: Any) -> grpc.StatusCode:
        call = getattr(self.stub, method.name)
        sent = iter([request]) if method.client_streaming else request
        try:
            if not method.server_streaming:
                call(sent, timeout=120)
                return grpc.StatusCode.OK
            stream = call(sent, timeout=STREAM_S)
            for _ in itertools.islice(stream, 3):
                pass
            stream.cancel()
        except grpc.RpcError as error:
            return error.code()
        return grpc.StatusCode.OK


@pytest.fixture(scope="module")
def target(module_daemons: Callable[..., Any], kit: Any) -> Iterator[Target]:
    daemon = module_daemons("--no-warm", "--cpus", "1").start()
    with open_channel(f"unix:{daemon.home.socket}") as channel:
        yield Target(daemon, channel, kit.document)
    assert daemon.process.poll() is None


@pytest.mark.parametrize("method", METHODS, ids=[method.name for method in METHODS])
def test_hostile_values_in_every_field_get_a_reason(target: Target, method: MethodDescriptor, kit: Any) -> None:
    if method.name != "DeleteRun":
        kit.eventually(lambda: target.run_id in {run.run_id for run in target.daemon.client.list()}, what="the run")
    for request in target.requests(method):
        if getattr(request, "run_id", "") == target.run_id and method.name == "DeleteRun":
            continue
        status = target.answer(method, request)
        assert status not in NOT_REASONS, (method.name, str(request)[:200])
    assert target.stub.GetHealth(pb.Empty(), timeout=120).pid == target.daemon.process.pid
    assert target.run_id in {run.run_id for run in target.stub.ListRuns(pb.ListRunsRequest(), timeout=120).runs}
    assert "rpc.bug" not in target.daemon.log.read_text()


def test_a_page_of_large_records_comes_in_pieces(target: Target, kit: Any) -> None:
    """Labels are bounded, what a config says is not: a page must fit into a message whatever its runs are called."""
    for number in range(2, 8):
        run_dir = make_run(target.daemon.home, number, healthy_lines())
        data = json.loads(run_dir.record.read_bytes())
        run_dir.record.write_text(json.dumps(data | {"notes": "x" * 6_000_000}))
    client = target.daemon.client
    ids = [f"01K9CG05J5Y0FFQMT1{number:08d}" for number in range(1, 8)]

    def are_there() -> bool:
        try:
            return all(client.get(run_id) for run_id in ids)
        except MosaicError:  # Not found yet.
            return False

    kit.eventually(are_there, what="the runs")
    assert {run.run_id for run in client.list()} == set(ids)
