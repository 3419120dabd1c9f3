"""What a user types, with a run that trains on another machine: frames, pause, cancel, engines, refusals."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mosaic.errors import MosaicError
from mosaic.rpc import trainer_pb2 as pb


def mosaic(daemon: Any, *words: str) -> "subprocess.CompletedProcess[str]":
    program = str(Path(sys.executable).parent / "mosaic")
    environment = {**os.environ, "MOSAIC_HOME": str(daemon.home.root)}
    return subprocess.run([program, *words], env=environment, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture(scope="module")
def endless(cluster, kit) -> str:
    """A run on the node that goes on until it is told to end."""
    [run] = cluster.client.submit(kit.document(kit.ENDLESS) | {"resources": {"engine": "ssh"}})
    cluster.until(run.run_id, "running")
    return run.run_id


def test_live_frames_come_over_the_link(cluster, endless, tmp_path):
    """The ring lies in a /dev/shm that this machine does not see."""
    [ring] = [event["path"] for event in cluster.events(endless) if event["kind"] == "fastlane.opened"]
    assert not Path(ring).exists()
    with contextlib.closing(cluster.client.frames(endless, fps=30)) as frames:
        numbers = [next(frames).number for _ in range(20)]
    assert numbers == sorted(set(numbers))
    done = mosaic(cluster, "frame", endless, str(tmp_path / "frame.png"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "frame.png").stat().st_size > 500


def test_a_pause_holds_it_and_continue_lets_it_go_on(cluster, kit, endless):
    client = cluster.client
    client.pause(endless)
    last = kit.eventually(lambda: (a := cluster.check_sequence(endless)) and a)
    assert client.get(endless).state == "paused"
    client.go_on(endless)
    kit.eventually(lambda: cluster.check_sequence(endless) > last + 5, what="further events")


def test_a_cancel_saves_a_checkpoint_that_arrives_here(cluster, kit, node, endless):
    cluster.client.cancel(endless)
    record = cluster.until(endless, "cancelled")
    assert record.reason == "ended by the user after a checkpoint"
    saved = [event for event in cluster.events(endless) if event["kind"] == "checkpoint.saved"]
    assert saved[-1]["reason"] == "stop"
    assert (cluster.home.run(endless).root / saved[-1]["path"] / "state.json").exists()
    assert mosaic(cluster, "verify", endless).returncode == 0
    kit.eventually(lambda: not node.workers(endless) and not node.agents(endless), what="the node to be empty")


def test_engines_tells_what_is_there(cluster):
    done = mosaic(cluster, "engines")
    assert done.returncode == 0, done.stderr
    assert "ssh: ready" in done.stdout
    assert "node: 4 slots of" in done.stdout
    refused = mosaic(cluster, "engines", "shs")
    assert refused.returncode == 2
    assert "did you mean ssh?" in refused.stderr


def test_what_no_host_can_run_is_refused_at_submit(cluster, kit):
    for resources, said in (({"cpus": 9}, "no host has 9 slots"), ({"gpus": 1}, "1 GPUs")):
        with pytest.raises(MosaicError, match=said):
            cluster.client.submit(kit.document(512) | {"resources": {"engine": "ssh", **resources}})


def test_play_and_evaluation_say_that_they_run_here(cluster, kit):
    document = kit.document(512) | {"resources": {"engine": "ssh"}}
    document["metadata"]["worker"]["config"] = {
        "env_id": "CartPole-v1",
        "extras": {"mode": "play", "actors": {"agent_0": "random"}},
    }
    document["metadata"]["worker"]["module"] = "mosaic.play"
    document["environment"]["env_id"] = "CartPole-v1"
    with pytest.raises(MosaicError, match="start a play session on this machine"):
        cluster.client.submit(document)


def test_a_socket_of_clients_is_not_what_the_tunnel_leads_to(cluster, node):
    """Who reads the node's folder reaches the agents' socket, which answers no client."""
    import grpc

    [socket] = [path for path in (node.scratch / "s").glob("*.sock") if path.is_symlink()]
    with grpc.insecure_channel(f"unix:{socket}") as channel:
        call = channel.unary_unary("/mosaic.v1.Trainer/GetHealth", request_serializer=pb.Empty.SerializeToString)
        with pytest.raises(grpc.RpcError) as caught:
            call(pb.Empty(), timeout=60)
    assert caught.value.code() in (grpc.StatusCode.UNIMPLEMENTED, grpc.StatusCode.UNAVAILABLE)  # type: ignore[attr-defined]
