"""Promise of the security table: only processes of the daemon's own user, and root's, are answered on its unix socket.

The file modes keep others out already; here they are loosened, as by a clumsy `chmod -R 777`.
"""

import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import grpc
import pytest
from planted_runs import plant

from mosaic.rpc import trainer_pb2 as pb
from mosaic.rpc.channel import open_channel
from mosaic.rpc.trainer_methods import TrainerStub

STRANGER = 65534
OWNER = 65533
CALLER = """
import os, socket, sys
import grpc
from mosaic.rpc import trainer_pb2 as pb
from mosaic.rpc.trainer_methods import TrainerStub

path, uid, way = sys.argv[1], int(sys.argv[2]), sys.argv[3]
os.setgroups([])
os.setgid(uid)
os.setuid(uid)
if way == "call":
    channel = grpc.insecure_channel(f"unix:{path}")
    try:
        print("pid", TrainerStub(channel).GetHealth(pb.Empty(), timeout=120).pid)
    except grpc.RpcError as error:
        print("refused", error.code().name, error.details())
elif way == "send and leave":
    # Not one byte of its request may be read, however soon it is gone.
    for _ in range(200):
        with socket.socket(socket.AF_UNIX) as sent:
            sent.connect(path)
            try:
                sent.sendall(bytes.fromhex(sys.argv[4]))
            except OSError:
                pass
    print("left")
"""
OWNED = """
import os, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
import grpc
from mosaic.rpc import trainer_pb2 as pb
from mosaic.rpc.trainer_methods import answer_with
from mosaic.trainer.serving.local_socket import LocalSocket

class Service:
    def GetHealth(self, request, context):
        return pb.Health(pid=os.getpid())

uid = int(sys.argv[2])
os.setgroups([])
os.setgid(uid)
os.setuid(uid)
server = grpc.server(ThreadPoolExecutor(4))
answer_with(Service(), server)
local = LocalSocket(Path(sys.argv[1]), server)
server.start()
local.start()
print("ready", flush=True)
sys.stdin.read()
"""

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="needs root to become another user")


def as_user(uid: int, path: Path, way: str = "call", *more: str) -> str:
    command = [sys.executable, "-c", CALLER, str(path), str(uid), way, *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def loosened(module_daemons):
    """A daemon whose socket every user of the machine can reach."""
    root = Path(tempfile.mkdtemp(prefix="mosaic-peer-", dir="/tmp"))
    daemon = module_daemons("--no-warm", root=root)
    daemon.planted = plant(daemon.home)
    daemon.start()
    root.chmod(0o777)
    for path in [daemon.home.trainer, *daemon.home.trainer.iterdir()]:
        path.chmod(0o777)
    yield daemon
    daemon.close()
    shutil.rmtree(root)


def test_another_user_is_refused_and_the_log_says_so(loosened):
    said = as_user(STRANGER, loosened.home.socket)
    assert said.startswith("refused UNAVAILABLE"), said
    told = [line for line in loosened.log.read_text().splitlines() if "peer.refused" in line]
    assert len(told) == 1
    assert str(STRANGER) in told[0]


def test_our_own_user_is_answered_beside_refused_ones(loosened):
    with open_channel(f"unix:{loosened.home.socket}") as channel:
        stub = TrainerStub(channel)
        assert stub.GetHealth(pb.Empty(), timeout=120).pid == loosened.process.pid
        assert as_user(STRANGER, loosened.home.socket).startswith("refused")
        assert stub.GetHealth(pb.Empty(), timeout=120).pid == loosened.process.pid


def test_nothing_of_a_request_is_carried_out_for_a_stranger_who_leaves_at_once(loosened, kit):
    """A whole SetLabel in one write, then the connection is closed: a check that comes later would miss it."""
    run_id = loosened.planted.run_id
    request = whole_request(loosened, pb.SetLabelRequest(run_id=run_id, label="changed"))
    loosened.client.set_label(run_id, label="mine")
    assert as_user(STRANGER, loosened.home.socket, "send and leave", request.hex()) == "left\n"
    assert loosened.client.get(run_id).label == "mine"
    # The same bytes from our own user are a request that is carried out: the probe is a real one.
    with socket.socket(socket.AF_UNIX) as sent:
        sent.connect(str(loosened.home.socket))
        sent.sendall(request)
        kit.eventually(lambda: loosened.client.get(run_id).label == "changed", what="what our own user asked for")


def whole_request(daemon, request) -> bytes:
    """What a client writes for a SetLabel, recorded by a socket between it and the daemon."""
    folder = Path(tempfile.mkdtemp(prefix="mosaic-peer-", dir="/tmp"))
    try:
        with socket.socket(socket.AF_UNIX) as between:
            between.bind(str(folder / "between.sock"))
            between.listen(1)
            with grpc.insecure_channel(f"unix:{folder}/between.sock") as channel:
                call = TrainerStub(channel).SetLabel.future(request, timeout=60)
                taken, _ = between.accept()
                return recorded(taken, daemon, call)
    finally:
        shutil.rmtree(folder)


def recorded(taken: socket.socket, daemon, call) -> bytes:
    said = b""
    with taken, socket.socket(socket.AF_UNIX) as onward:
        onward.connect(str(daemon.home.socket))
        while not call.done():
            for source, sink in ((taken, onward), (onward, taken)):
                source.settimeout(0.05)
                try:
                    data = source.recv(1 << 16)
                except TimeoutError:
                    continue
                said += data if source is taken else b""
                sink.sendall(data)
    assert call.result().label == "changed"
    return said


def test_root_may_call_the_daemon_of_another_user():
    """Root can read and stop everything of that user anyway. The socket alone: the interpreter may be root's own."""
    folder = Path(tempfile.mkdtemp(prefix="mosaic-peer-", dir="/tmp"))
    os.chown(folder, OWNER, OWNER)
    path = folder / "daemon.sock"
    command = [sys.executable, "-c", OWNED, str(path), str(OWNER)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            with open_channel(f"unix:{path}") as channel:
                assert TrainerStub(channel).GetHealth(pb.Empty(), timeout=120).pid == process.pid
            assert [stat.S_IMODE(path.stat().st_mode), *folder.iterdir()] == [0o600, path]
            folder.chmod(0o777)
            path.chmod(0o777)
            assert as_user(OWNER, path) == f"pid {process.pid}\n"
            assert as_user(STRANGER, path).startswith("refused")
        finally:
            process.kill()
            shutil.rmtree(folder)
