"""No rpc tells anything of a file outside of a run, whatever links, pipes and devices lie in its directory.

Each probe is planted twice: once it leads to a file that exists, with words and sizes of its own, once to one that does
not. All that a client can ask of the two runs must be the same answer, to the byte.
"""

import contextlib
import json
import os
import re
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from planted_runs import Artifact, file_in, plant

from mosaic.rpc import trainer_pb2 as pb
from mosaic.rpc.channel import open_channel
from mosaic.rpc.trainer_methods import TrainerStub
from mosaic.spec import episode_file
from mosaic.spec.episode_file import EpisodeHead
from mosaic.spec.events import Event, Warned, encode
from mosaic.spec.run_dir import RunDir, new_run_id

CANARY = "canary-0123456789"
Probe = Callable[[RunDir, Path], None]
KNOWN = [
    "events.jsonl",
    "analytics.json",
    "run.json",
    "config.json",
    "worker.json",
    "logs/cleanrl.stdout.log",
    "logs/cleanrl.stderr.log",
    "episodes/episode-000000.jsonl",
    "wandb/export.json",
    "trackio/export.json",
    "mlflow/export.json",
    "eval_summary.json",
    "play_summary.json",
    "runs/x/ppo.cleanrl_model",
    "videos/a.mp4",
    "tensorboard/events.out.tfevents.1",
    "checkpoints/step-5",
    "worker.lock",
    "wandb/export.lock",
    "play.sock",
    "notes.txt",
]
"""Names that the daemon itself looks at, and some that a manifest may mention."""
FOLDERS = ["logs", "episodes", "wandb", "mlflow", "videos", "tensorboard", "checkpoints", "runs"]
NAMES = [
    *KNOWN,
    *FOLDERS,
    "deep/er/file.txt",
    "../outside",
    "/etc/passwd",
    "../../../../../../etc/passwd",
    ".",
    "",
    "a\0b",
    "x" * 5000,
]


def link(name: str) -> Probe:
    def make(run_dir: RunDir, outside: Path) -> None:
        path = run_dir.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.symlink_to(outside / "target" / name)
        os.utime(path, (1.7e9, 1.7e9), follow_symlinks=False)

    return make


def folder_link(name: str) -> Probe:
    def make(run_dir: RunDir, outside: Path) -> None:
        shutil.rmtree(run_dir.root / name, ignore_errors=True)
        (run_dir.root / name).symlink_to(outside / "target" / name)

    return make


def mentioned(path: str, kind: Any = "log") -> Probe:
    """In the manifest; `{}` is the folder outside, `{up}` the way to it."""

    def make(run_dir: RunDir, outside: Path) -> None:
        up = os.path.relpath(outside, run_dir.root)
        text = json.loads(run_dir.manifest.read_text())
        text["artifacts"].append({"kind": kind, "path": path.format(outside, up=up), "label": "planted"})
        run_dir.manifest.write_text(json.dumps(text))

    return make


def both(*probes: Probe) -> Probe:
    def make(run_dir: RunDir, outside: Path) -> None:
        for probe in probes:
            probe(run_dir, outside)

    return make


KINDS = ("log", "policy", "video", "tensorboard", "checkpoint", "wandb", "fastlane", "episodes", "script")
PROBES: dict[str, Probe] = {
    **{f"link {name}": both(mentioned(name), link(name)) for name in KNOWN},
    **{f"folder {name}": both(folder_link(name), mentioned(f"{name}/x")) for name in FOLDERS},
    **{f"absolute {kind}": mentioned("{}/target/notes.txt", kind) for kind in KINDS},
    **{f"dots {kind}": mentioned("{up}/target/notes.txt", kind) for kind in KINDS},
    **{f"through {kind}": both(folder_link("deep"), mentioned("deep/er/file.txt", kind)) for kind in KINDS},
    "policy link": both(link("runs/x/ppo.cleanrl_model"), mentioned("runs/x/ppo.cleanrl_model", "policy")),
    "a link to a link": both(link("notes.txt"), lambda run, _: (run.root / "second").symlink_to("notes.txt")),
}


def write_outside(folder: Path, run_dir: RunDir) -> None:
    """What the links of the first twin lead to: valid files of each kind, with words of their own."""
    for name in [*KNOWN, "deep/er/file.txt"]:
        path = folder / "target" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{CANARY} {name}\n")
    target = RunDir(folder / "target" / run_dir.run_id)
    shutil.copytree(run_dir.root, target.root, symlinks=True)
    for name in ("run.json", "analytics.json", "config.json"):
        text = (target.root / name).read_text().replace("CartPole-v1", CANARY)
        (folder / "target" / name).write_text(text)
    (folder / "target" / "events.jsonl").write_text(encode(Event(1, 1.7e9, Warned(message=CANARY))) + "\n")
    head = EpisodeHead(
        run_id=run_dir.run_id, episode=1, env_id=CANARY, seed=1, seats={"player": "random"}, versions={}, digest="x"
    )
    (folder / "target" / "episodes/episode-000000.jsonl").write_text(episode_file.encode(head) + "\n")
    (folder / "target" / "wandb/export.json").write_text(json.dumps({"state": "exporting", "why": CANARY}))
    metadata = {"format": "mosaic-policy-1", "algo": CANARY, "env_id": CANARY, "args": "{}", "global_step": "1"}
    header = json.dumps({"__metadata__": metadata}).encode()
    policy = folder / "target" / "runs/x/ppo.cleanrl_model"
    policy.write_bytes(len(header).to_bytes(8, "little") + header)


@pytest.fixture(scope="module")
def planted(module_daemons, tmp_path_factory):
    """A daemon that finds both twins of each probe, and runs full of pipes and devices, at its start."""
    daemon = module_daemons("--no-warm")
    daemon.twins, daemon.awkward = {}, {}
    for name, probe in PROBES.items():
        first = new_run_id()
        second = first[:-1] + ("0" if first[-1] != "0" else "1")
        there, gone = (tmp_path_factory.mktemp(word) for word in ("there", "gone!"))
        for run_id, outside in ((first, there), (second, gone)):
            run_dir = plant(daemon.home, run_id=run_id)
            if outside is there:
                write_outside(outside, run_dir)
            probe(run_dir, outside)
        daemon.twins[name] = (first, second)
    for name in KNOWN:
        run_dir = plant(daemon.home, Artifact(kind="log", path=name), Artifact(kind="policy", path=name))
        path = run_dir.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        os.mkfifo(path)
        daemon.awkward[f"pipe {name}"] = run_dir.run_id
    with contextlib.suppress(PermissionError):
        run_dir = plant(daemon.home, Artifact(kind="log", path="endless"), Artifact(kind="policy", path="endless"))
        for path in (run_dir.stdout, run_dir.stderr, run_dir.root / "endless"):
            path.unlink(missing_ok=True)
            os.mknod(path, 0o20600, os.makedev(1, 5))  # As /dev/zero.
        daemon.awkward["devices"] = run_dir.run_id
    daemon.healthy = plant(daemon.home, Artifact(kind="log", path="logs/cleanrl.stdout.log"))
    file_in(daemon.healthy, "deep/er/file.txt")
    daemon.start()
    with open_channel(f"unix:{daemon.home.socket}") as channel:
        daemon.stub = TrainerStub(channel)
        yield daemon
        assert daemon.process.poll() is None
        assert "rpc.bug" not in daemon.log.read_text()


def told(call: Callable[[], Any]) -> str:
    try:
        return repr(call())
    except grpc.RpcError as error:
        if error.code() in (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.INTERNAL):
            raise
        return f"{error.code()} {error.details()}"


def everything_told(stub: Any, run_id: str) -> dict[str, str]:
    """All that a client can ask of a run, without what tells one run from another."""
    only, within = pb.RunId(run_id=run_id), {"timeout": 60}
    answers = {"GetRun": told(lambda: stub.GetRun(only, **within))}
    for method in ("ListArtifacts", "ListFiles", "ListTags"):
        answers[method] = told(lambda method=method: getattr(stub, method)(only, **within))
    answers["ListEpisodes"] = told(lambda: stub.ListEpisodes(pb.ListEpisodesRequest(run_id=run_id), **within))
    answers["GetMetrics"] = told(lambda: stub.GetMetrics(pb.GetMetricsRequest(run_id=run_id), **within))
    policies = stub.ListPolicies(pb.Empty(), **within).policies
    answers["ListPolicies"] = repr([policy for policy in policies if policy.run_id == run_id])
    for seq in (0, 3):
        request = pb.WatchEventsRequest(run_id=run_id, after_seq=seq)
        answers[f"WatchEvents {seq}"] = told(lambda request=request: list(stub.WatchEvents(request, **within)))
    for stream, offset in (("stdout", 0), ("stderr", 0), ("stdout", -5)):
        request = pb.StreamLogsRequest(run_id=run_id, stream=stream, offset=offset)
        answers[f"{stream} {offset}"] = told(lambda request=request: list(stub.StreamLogs(request, **within)))
    for name in [*NAMES, "second"]:
        request = pb.ReadArtifactRequest(run_id=run_id, path=name)
        answers[f"read {name}"] = told(lambda request=request: list(stub.ReadArtifact(request, **within)))
    frames = pb.StreamFramesRequest(run_id=run_id)
    answers["StreamFrames"] = told(lambda: list(stub.StreamFrames(frames, **within)))
    play = pb.PlayCommand(run_id=run_id, json=b'{"do":"state"}')
    answers["Play"] = told(lambda: list(stub.Play(iter([play]), **within)))
    # The moment at which the daemon wrote down an end is in run.json, with as many digits as it happens to have.
    own = r'revision: \d+\n|ended_at\W+[\d.]+|path: "run.json"(\s+label: "planted")?\s+bytes: \d+'
    return {name: re.sub(own, "", text) for name, text in answers.items()}


@pytest.mark.parametrize("name", PROBES)
def test_nothing_is_told_of_what_lies_outside(planted, name):
    first, second = planted.twins[name]
    there = everything_told(planted.stub, first)
    gone = everything_told(planted.stub, second)
    for question, answer in there.items():
        assert CANARY not in answer, question
        outside = re.sub(r"there\d+", "gone!0", answer).replace(first, second)
        assert outside == re.sub(r"gone!\d+", "gone!0", gone[question]), question


def test_pipes_and_devices_hold_no_call_up(planted):
    for name, run_id in planted.awkward.items():
        answers = everything_told(planted.stub, run_id)
        assert "\\000" not in "".join(answers.values()), name
    assert planted.stub.GetHealth(pb.Empty(), timeout=60).pid == planted.process.pid


def test_files_of_the_run_itself_are_told(planted):
    """The probes ask what a client may know: without a link, the same questions are answered."""
    answers = everything_told(planted.stub, planted.healthy.run_id)
    assert "a line of its log" in answers["stdout 0"]
    assert "a line of its stderr" in answers["stderr 0"]
    assert "inside" in answers["read deep/er/file.txt"]
    assert "deep/er/file.txt" in answers["ListFiles"]
    assert "bytes: 18" in answers["ListArtifacts"]
    assert "completed" in answers["WatchEvents 0"]


def test_the_socket_of_another_program_is_not_spoken_to(planted, tmp_path):
    first, _ = planted.twins["link play.sock"]
    run_dir = planted.home.run(first)
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(tmp_path / "other.sock"))
        other.listen(1)
        other.settimeout(0.2)
        run_dir.play_socket.unlink()
        run_dir.play_socket.symlink_to(tmp_path / "other.sock")
        play = pb.PlayCommand(run_id=first, json=b'{"do":"state"}')
        assert "FAILED_PRECONDITION" in told(lambda: list(planted.stub.Play(iter([play]), timeout=60)))
        with pytest.raises(TimeoutError):
            other.accept()


def test_the_list_of_all_episodes_survives_a_link(planted):
    told_of_all = planted.stub.ListEpisodes(pb.ListEpisodesRequest(), timeout=60)
    assert CANARY not in repr(told_of_all)
