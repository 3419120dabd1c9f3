"""The security table: who may call, and that a key which came with a submit is written nowhere."""

import hashlib
import os
import shutil
import socket
import stat
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import psutil
import pytest

from mosaic.errors import ConfigError
from mosaic.rpc import trainer_pb2 as pb
from mosaic.rpc.channel import open_channel
from mosaic.rpc.client import Client
from mosaic.rpc.locate import DaemonUnavailable
from mosaic.rpc.trainer_methods import TrainerStub

KEY = "secret0123456789abcdefsecret0123456789abcd"
VARIABLES = (
    *("WANDB_API_KEY", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "MLFLOW_TRACKING_TOKEN", "MLFLOW_TRACKING_PASSWORD"),
    "MOSAIC_LLM_API_KEY",
)
LEAKY = f"""
import hashlib, os, sys, time
import gymnasium
from gymnasium.envs.classic_control import CartPoleEnv

class Leaky(CartPoleEnv):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        print("keys", *(name for name in {VARIABLES} if name in os.environ), flush=True)
        key = os.environ.get("MOSAIC_LLM_API_KEY", "")
        print("digest", hashlib.sha256(key.encode()).hexdigest(), flush=True)

    def step(self, action):
        time.sleep(0.005)  # it goes on until it is cancelled: the processor is for the others
        return super().step(action)

gymnasium.register("Leaky-v0", entry_point=Leaky, max_episode_steps=500)
"""


def leaky(document: dict[str, Any]) -> dict[str, Any]:
    document["environment"]["env_id"] = document["metadata"]["worker"]["config"]["env_id"] = "leaky:Leaky-v0"
    return document


def session(**extras: Any) -> dict[str, Any]:
    """A play session in which a language model may be put on a seat, so that its worker needs the key of one."""
    play = {"mode": "play", "actors": {"agent_0": "random"}, "video_mode": "off", "interactive": True, **extras}
    worker = {"module": "mosaic.play", "config": {"env_id": "", "seed": 1, "extras": play}}
    return leaky({"environment": {}, "artifacts": {}, "metadata": {"worker": worker}})


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


def status_of(call) -> grpc.StatusCode:
    with pytest.raises(grpc.RpcError) as caught:
        call()
    return caught.value.code()


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_no_other_user_reaches_the_socket_or_the_files(shared):
    assert mode_of(shared.home.socket) == 0o600
    assert mode_of(shared.home.trainer) == 0o700
    assert mode_of(shared.home.runs) == 0o700
    assert mode_of(shared.home.lock) == 0o600


@pytest.fixture(scope="module")
def tcp(module_daemons):
    daemon = module_daemons("--no-warm", "--listen", f"127.0.0.1:{free_port()}").start()
    daemon.address = daemon.client.health().address.split()[1]
    return daemon


def test_tcp_needs_the_token_even_on_loopback(tcp):
    assert mode_of(tcp.home.token) == 0o600
    token = tcp.home.token.read_text().strip()
    assert len(token) >= 32
    with grpc.insecure_channel(tcp.address) as channel:
        stub = TrainerStub(channel)
        refused = [None, "", token, f"Bearer {token[:-1]}", f"Bearer {token}x", f"bearer {token}", "Bearer "]
        for value in refused:
            given = {"metadata": [] if value is None else [("authorization", value)], "timeout": 10}
            assert status_of(partial(stub.ListRuns, pb.ListRunsRequest(), **given)) is grpc.StatusCode.UNAUTHENTICATED
            stream = stub.WatchRuns(pb.WatchRunsRequest(), **given)
            assert status_of(partial(next, stream)) is grpc.StatusCode.UNAUTHENTICATED
        stub.ListRuns(pb.ListRunsRequest(), metadata=[("authorization", f"Bearer {token}")], timeout=300)
    with Client(tcp.address, home=tcp.home) as client:
        assert client.health().pid == tcp.process.pid


def test_a_call_on_a_closed_connection_with_a_token_is_told_so(tcp):
    """gRPC ended the process with SIGSEGV: a window that was closed in the middle of a call, for one."""
    client = Client(tcp.address, home=tcp.home)
    client.close()
    with pytest.raises(DaemonUnavailable, match="closed"):
        client.algorithms()


def test_the_token_is_compared_in_constant_time():
    import inspect

    from mosaic.trainer.serving import interceptor

    assert "hmac.compare_digest" in inspect.getsource(interceptor._bears)


def test_a_client_never_sends_its_token_beyond_this_machine_in_the_clear(shared):
    with pytest.raises(ConfigError, match="ssh -L"):
        open_channel("192.0.2.1:50055", home=shared.home)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")
def test_tls_with_token_beyond_loopback(daemons, tmp_path):
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject]
    subprocess.run([*command, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    port = free_port()
    flags = ("--listen", f"0.0.0.0:{port}", "--certificate", str(certificate), "--key", str(key))
    daemon = daemons("--no-warm", *flags).start()
    with Client(f"localhost:{port}", home=daemon.home, certificate=certificate) as client:
        assert client.health().pid == daemon.process.pid
    with grpc.secure_channel(f"localhost:{port}", grpc.ssl_channel_credentials(certificate.read_bytes())) as channel:
        assert (
            status_of(partial(TrainerStub(channel).GetHealth, pb.Empty(), timeout=300))
            is grpc.StatusCode.UNAUTHENTICATED
        )
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        unencrypted = partial(TrainerStub(channel).GetHealth, pb.Empty(), timeout=3)
        assert status_of(unencrypted) in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


def everything_on_disk(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


def search_path(folder: Path) -> dict[str, str]:
    return {"PYTHONPATH": f"{folder}:{os.environ.get('PYTHONPATH', '')}", "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.mark.parametrize("warm", [True, False])
def test_a_key_reaches_the_process_that_needs_it_and_nothing_else(daemons, kit, tmp_path, warm):
    (tmp_path / "leaky.py").write_text(LEAKY)
    # The user's own keys are in the daemon's environment, and one comes with the submit.
    environment = {**dict.fromkeys(VARIABLES, KEY), **search_path(tmp_path), "WANDB_MODE": "offline"}
    daemon = daemons(*([] if warm else ["--no-warm"]), environment=environment).start()
    client = daemon.client
    if warm:
        kit.eventually(lambda: client.health().warm_workers, 300, what="a warm worker")
    document = leaky(kit.document(kit.ENDLESS, extras={"wandb_api_key": KEY, "track_wandb": not warm}))
    document["artifacts"]["wandb"] = {"enabled": not warm}
    document["metadata"]["ui"] = {"form": {"wandb_api_key": KEY}}
    validation = client.validate(document)
    assert validation.ok, validation.output
    trained, played = client.submit(document)[0], client.submit(session(llm_api_key=KEY))[0]
    for run in (trained, played):
        daemon.until(run.run_id, "running")
    if not warm:
        exporter = kit.eventually(lambda: process_of("mosaic.track", daemon.home.root), what="the exporter")
        assert {name for name in VARIABLES if name in exporter.environ()} == {"WANDB_API_KEY"}
    lines = [" ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"])]
    assert not [line for line in lines if KEY in line]
    replies = [client.list(), client.metrics(trained.run_id), validation, client.health()]
    for run in (trained, played):
        replies += [list(client.logs(run.run_id)), list(client.logs(run.run_id, stream="stderr"))]
        client.cancel(run.run_id)
        replies += [daemon.until(run.run_id, "cancelled", "finished"), list(client.watch_events(run.run_id))]
    assert KEY not in repr(replies)
    assert everything_on_disk(daemon.home.root) == []
    of_trained, of_played = (daemon.home.run(run.run_id).stdout.read_text() for run in (trained, played))
    assert "keys\n" in of_trained
    assert not [name for name in VARIABLES if name in of_trained]
    assert "keys MOSAIC_LLM_API_KEY\n" in of_played
    assert hashlib.sha256(KEY.encode()).hexdigest() in of_played


def process_of(module: str, home: Path) -> psutil.Process | None:
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if module in words and any(str(home) in word for word in words):
            return process
    return None


def test_a_key_that_the_worker_prints_in_its_last_words_is_hidden(daemons, tmp_path):
    source = LEAKY.replace("key = ", "raise RuntimeError('no ' + os.environ['MOSAIC_LLM_API_KEY']); key = ")
    (tmp_path / "leaky.py").write_text(source)
    daemon = daemons("--no-warm", environment=search_path(tmp_path)).start()
    ended = daemon.until(daemon.client.submit(session(llm_api_key=KEY))[0].run_id, "failed")
    assert "[hidden]" in ended.reason + repr(ended.stderr_tail)
    assert KEY not in repr(ended)
    assert everything_on_disk(daemon.home.root) == []
    assert KEY.encode() not in b"".join(daemon.client.logs(ended.run_id, stream="stderr"))
