"""Who links to the daemon: the agent of a start that may go on, and no one else, however it tries."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from patience import looks

from mosaic import __version__
from mosaic.agent.link_to_daemon import DaemonLink, LinkBroken
from mosaic.errors import ConfigError
from mosaic.relay.file_states import FileStates
from mosaic.relay.sent_files import SentFiles
from mosaic.rpc import agent_pb2 as wire
from mosaic.spec.processes import lease_file
from mosaic.spec.run_dir import Home, new_run_id
from mosaic.trainer.agents import starts, watched_frames
from mosaic.trainer.agents.agent_listener import DISK_THREADS, AgentListener
from mosaic.trainer.agents.agents import LONGEST, Agents
from mosaic.trainer.agents.leases import OldStart, Terms
from mosaic.trainer.agents.watched_frames import WatchedFrames


class Rig:
    """A listener with one run of one start."""

    def __init__(self, folder: Path) -> None:
        self.home = Home(folder / "home")
        self.home.create()
        self.now = 1000.0
        self.run_id = new_run_id()
        self.run_dir = self.home.run(self.run_id)
        self.run_dir.create()
        self.agents = Agents(self.home, Terms(lease_s=60, grace_s=30), lambda: self.now)
        self.start = self.begin(1)
        self.socket = folder / "agents.sock"
        self.listener = AgentListener(self.agents, WatchedFrames(), self.socket)
        self.listener.start()
        self.links: list[DaemonLink] = []

    def begin(self, epoch: int) -> starts.Start:
        return self.agents.begin(self.run_id, epoch, engine="ssh", place="node", assignment={"module": "x"})

    def link(self, **hello: object) -> tuple[DaemonLink, list[wire.ToAgent]]:
        """An agent's link, and what it hears."""
        heard: list[wire.ToAgent] = []
        token = str(hello.pop("token", self.start.file.token))
        link = DaemonLink(f"unix:{self.socket}", token, heard.append)
        self.links.append(link)
        usual = {"run_id": self.run_id, "epoch": 1, "host": "n", "version": __version__, "started": True}
        link.open(wire.Hello(**usual | hello))
        return link, heard

    def close(self) -> None:
        for link in self.links:
            link.close()
        self.listener.close()


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    made = Rig(tmp_path)
    yield made
    made.close()


def until(link: DaemonLink, is_so) -> None:
    for _ in looks(120):
        if is_so():
            return
        link.check()
    raise AssertionError("not in time")


def refusal(link: DaemonLink) -> LinkBroken:
    with pytest.raises(LinkBroken) as caught:
        until(link, lambda: False)
    return caught.value


def kinds(heard: list[wire.ToAgent]) -> list[str | None]:
    return [message.WhichOneof("said") for message in heard]


def test_an_agent_is_welcomed_with_its_lease_and_its_files(rig: Rig):
    rig.run_dir.events.write_bytes(b'{"seq": 1}\n')
    link, heard = rig.link(started=False)
    until(link, lambda: "all_brought" in kinds(heard))
    welcome = heard[0].welcome
    assert (welcome.lease_s, welcome.grace_s) == (60, 30)
    assert [state.path for state in welcome.files] == ["events.jsonl"]
    assert heard[1].piece.data == b'{"seq": 1}\n'
    assert rig.agents.leases.was_granted(rig.run_id, 1)


@pytest.mark.parametrize("how", ["token", "older", "unknown", "over", "version", "path"])
def test_who_may_not_link_is_refused_and_gets_no_lease(rig: Rig, how: str):
    options: dict[str, object] = {
        "token": {"token": "x" * 43},
        "older": {"epoch": 1},
        "unknown": {"run_id": new_run_id()},
        "over": {},
        "version": {"version": "0.0.1", "started": False},
        "path": {"run_id": "../../x"},
    }[how]
    epoch = 2 if how == "older" else 1
    if how == "older":
        rig.start = rig.begin(2)
    if how == "over":
        rig.agents.may_go_on = lambda _run_id, _epoch: False
    link, heard = rig.link(**options)
    assert refusal(link).refused
    assert kinds(heard) == []
    assert not rig.agents.leases.was_granted(rig.run_id, epoch)


def test_a_start_that_was_begun_in_one_folder_is_begun_in_no_other(rig: Rig):
    """The disk of a node is gone with what was started there, or its name leads to another machine now."""
    link, heard = rig.link(started=False, folder_id="a")
    until(link, lambda: "all_brought" in kinds(heard))
    again, heard = rig.link(started=False, folder_id="a")
    until(again, lambda: "all_brought" in kinds(heard))
    for started in (False, True):
        other, heard = rig.link(started=started, folder_id="b")
        assert refusal(other).refused
        assert kinds(heard) == []
    assert starts.read(rig.home, rig.run_id) == rig.start.file
    assert rig.start.file.begun_by == "a"


def test_what_an_older_start_still_sends_changes_nothing(rig: Rig):
    link, heard = rig.link()
    until(link, lambda: heard)
    rig.now += 1000
    rig.start = rig.begin(2)
    link.send(wire.FromAgent(piece=wire.FilePiece(path="events.jsonl", data=b"old\n", how="grow")))
    assert refusal(link).refused
    assert not rig.run_dir.events.exists()
    late, _ = rig.link(epoch=1)
    assert refusal(late).refused


def test_a_second_stream_of_one_agent_takes_the_place_of_the_first(rig: Rig):
    first, heard = rig.link()
    until(first, lambda: heard)
    second, news = rig.link()
    until(second, lambda: news)
    refusal(first)
    second.send(wire.FromAgent(piece=wire.FilePiece(path="events.jsonl", data=b"new\n", how="grow")))
    until(second, lambda: "taken" not in kinds(news) and rig.run_dir.events.exists())
    assert rig.run_dir.events.read_bytes() == b"new\n"


def test_a_start_ends_only_when_both_have_the_same_files(rig: Rig, tmp_path: Path):
    node = tmp_path / "node"
    node.mkdir()
    (node / "events.jsonl").write_bytes(b'{"seq": 1}\n')
    states = FileStates(node).all()
    link, heard = rig.link()
    until(link, lambda: heard)
    link.send(wire.FromAgent(ended=wire.Ended(exit_code=0, files=states)))
    assert "not everything is here" in str(refusal(link))
    assert rig.start.ended is None
    link, heard = rig.link()
    until(link, lambda: heard)
    sent = SentFiles(node, link.send)
    sent.begin(heard[0].welcome.files)
    sent.look(final=True)
    link.send(wire.FromAgent(ended=wire.Ended(exit_code=0, files=states)))
    until(link, lambda: "done" in kinds(heard))
    assert rig.start.ended is not None
    # One that did not hear so may forget it, too.
    again, _ = rig.link()
    assert refusal(again).refused
    assert rig.agents.leases.is_free(rig.run_id)
    later = Agents(rig.home, Terms(), lambda: rig.now)
    found = later.find(rig.run_id, 1)
    assert found is not None
    assert found.ended == wire.Ended(exit_code=0)
    assert later.leases.is_free(rig.run_id)
    assert rig.run_dir.events.read_bytes() == b'{"seq": 1}\n'


def test_what_a_node_says_at_length_is_kept_short(rig: Rig):
    """It becomes the reason of the run: megabytes of it would fit into no message with a list of runs."""
    link, heard = rig.link(host="n" * 2**20)
    until(link, lambda: heard)
    link.send(wire.FromAgent(ended=wire.Ended(problem="no\n" * 2**20, kernel="\x1b[2J" + "k" * 2**20)))
    until(link, lambda: "done" in kinds(heard))
    ended = rig.start.ended
    assert ended is not None
    for said in (rig.start.host, ended.problem, ended.kernel):
        assert len(said) < 3 * LONGEST
        assert said.isprintable()


def test_a_later_daemon_knows_the_start_and_its_token(rig: Rig):
    later = Agents(rig.home, Terms(), lambda: rig.now)
    assert later.admit(rig.run_id, 1, rig.start.file.token).file == rig.start.file
    file = rig.home.starts / f"{rig.run_id}.json"
    assert file.stat().st_mode & 0o077 == 0
    file.write_text("{")
    later = Agents(rig.home, Terms(), lambda: rig.now)
    with pytest.raises(ConfigError, match="not JSON"):
        later.find(rig.run_id, 1)
    file.unlink()
    assert later.find(rig.run_id, 1) is None


def test_an_agent_whose_start_cannot_be_read_now_comes_again(rig: Rig):
    rig.agents.forget(rig.start)
    (rig.home.starts / f"{rig.run_id}.json").write_text("{")
    link, _ = rig.link()
    assert not refusal(link).refused


def test_an_agent_that_links_before_all_runs_are_known_comes_again(rig: Rig):
    rig.agents.is_ready = lambda: False
    rig.agents.may_go_on = lambda _run_id, _epoch: False
    link, heard = rig.link()
    broken = refusal(link)
    assert "UNAVAILABLE" in str(broken)
    assert not broken.refused
    assert kinds(heard) == []


@contextlib.contextmanager
def busy_disk(rig: Rig) -> Iterator[None]:
    """No thread for disks is free."""
    free = threading.Event()
    for _ in range(DISK_THREADS):
        rig.listener._executor.submit(free.wait)
    try:
        yield
    finally:
        free.set()


def test_a_living_worker_gets_its_lease_and_renewals_before_the_disk_has_answered(rig: Rig):
    with busy_disk(rig):
        link, heard = rig.link()
        until(link, lambda: heard)
        assert (heard[0].granted.number, heard[0].granted.lease_s, heard[0].granted.grace_s) == (0, 60, 30)
        link.send(wire.FromAgent(piece=wire.FilePiece(path="events.jsonl", data=b"x\n", how="grow")))
        link.send(wire.FromAgent(renew=wire.Renew(number=7)))
        until(link, lambda: len(heard) > 1)
        assert heard[1].granted.number == 7
    until(link, rig.run_dir.events.exists)
    assert kinds(heard) == ["granted", "granted", "welcome"]


def test_a_start_that_is_judged_while_its_files_are_read_gets_no_lease_and_no_worker(rig: Rig):
    with busy_disk(rig):
        link, heard = rig.link(started=False, folder_id="a")
        until(link, lambda: rig.listener._links)
        with rig.start.lock:
            rig.start.over = True
        rig.agents.forget(rig.start)
    assert refusal(link).refused
    assert kinds(heard) == []
    assert not rig.agents.leases.was_granted(rig.run_id, 1)
    assert starts.read(rig.home, rig.run_id) is None
    with pytest.raises(OldStart):
        rig.agents.begun(rig.start, "a")
    assert starts.read(rig.home, rig.run_id) is None


@pytest.mark.parametrize("path", ["/etc/hostname", "../x", "run.json", "events.jsonl"])
def test_an_end_names_no_file_outside_of_the_run_and_no_pipe(rig: Rig, path: str):
    os.mkfifo(rig.run_dir.events)
    link, heard = rig.link()
    until(link, lambda: "welcome" in kinds(heard))
    link.send(wire.FromAgent(ended=wire.Ended(files=[wire.FileState(path=path)])))
    said = str(refusal(link))
    assert "files are missing" in said if path == "events.jsonl" else f"'{path}' does not travel" in said


def test_two_readers_of_a_start_get_the_same_one(rig: Rig, monkeypatch: pytest.MonkeyPatch):
    later, found = Agents(rig.home, Terms(), lambda: rig.now), list[starts.Start]()
    read = starts.read

    def link() -> None:
        start = later.find(rig.run_id, 1)
        assert start is not None
        later.begun(start, "a")
        found.append(start)

    other = threading.Thread(target=link)

    def slowly(home: Home, run_id: str) -> starts.StartFile | None:
        file = read(home, run_id)
        if other.ident is None:
            other.start()
            other.join(0.3)  # It is through by then unless it has to wait for us.
        return file

    monkeypatch.setattr(starts, "read", slowly)
    mine = later.find(rig.run_id, 1)
    other.join()
    assert mine is not None
    assert found[0] is mine is later.find(rig.run_id, 1)
    assert mine.file.begun_by == "a"


def test_frames_that_no_viewer_takes_do_not_pile_up():
    frames = WatchedFrames()
    viewer = frames._viewers[1] = watched_frames._Viewer("run")
    for number in range(100):
        frames.take("run", wire.WatchedFrame(viewer=1, problem=str(number)))
    frames.lost("run")
    waiting = [viewer.frames.get_nowait() for _ in range(viewer.frames.qsize())]
    assert len(waiting) == watched_frames.MOST
    assert waiting[-2] is not None
    assert waiting[-2].problem == "99"
    assert waiting[-1] is None


def test_the_socket_is_for_its_owner_alone_and_takes_nothing_but_a_hello(rig: Rig):
    assert rig.socket.stat().st_mode & 0o077 == 0
    with grpc.insecure_channel(f"unix:{rig.socket}") as channel:
        call = channel.stream_stream(
            "/mosaic.v1.Agents/Link",
            request_serializer=wire.FromAgent.SerializeToString,
            response_deserializer=wire.ToAgent.FromString,
        )
        with pytest.raises(grpc.RpcError) as caught:
            list(call(iter([wire.FromAgent(renew=wire.Renew(number=1))]), timeout=60))
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT  # type: ignore[attr-defined]
        submit = channel.unary_unary("/mosaic.v1.Trainer/GetHealth")
        with pytest.raises(grpc.RpcError) as caught:
            submit(b"", timeout=60)
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED  # type: ignore[attr-defined]


WORKER = """
import signal, sys, time
from mosaic.spec.processes import lease_file
stopped = []
def stop(number, _):
    stopped.append(number)
    signal.signal(number, signal.SIG_DFL)
    print("saved", flush=True)
signal.signal(signal.SIGTERM, stop)
lease_file.keep_to_it()
print("at work", flush=True)
while not (stopped and "obeys" in sys.argv):
    time.sleep(0.05)
"""


@pytest.mark.parametrize(("how", "code"), [("obeys", 0), ("hangs", -signal.SIGKILL)])
def test_a_worker_whose_lease_runs_out_saves_once_and_is_gone_after_its_grace(tmp_path: Path, how: str, code: int):
    lease = tmp_path / "lease"
    lease_file.write(lease, until=lease_file.now() + 1000, grace_s=1.0)
    process = subprocess.Popen(
        [sys.executable, "-c", WORKER, how],
        env={**os.environ, lease_file.VARIABLE: str(lease)},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "at work\n"
        assert process.poll() is None
        lease_file.write(lease, until=lease_file.now() + 0.1, grace_s=1.0)
        assert process.stdout.read() == "saved\n"
        assert process.wait(120) == code


def test_a_lease_that_is_gone_has_run_out(tmp_path: Path):
    assert lease_file.read(tmp_path / "none") == (0.0, 0.0)
    (tmp_path / "folder").mkdir()
    assert lease_file.read_again(tmp_path / "folder", (5.0, 1.0)) == (5.0, 1.0)
    (tmp_path / "short").write_bytes(b"1234")
    assert lease_file.read(tmp_path / "short") == (0.0, 0.0)
    shutil.rmtree(tmp_path)
