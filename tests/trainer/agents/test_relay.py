"""Files of a run that change as a worker changes them arrive byte for byte, also where links break at any message."""

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic.relay import relayed_files
from mosaic.relay.file_states import FileStates
from mosaic.relay.received_files import ReceivedFiles, RelayBroken
from mosaic.relay.sent_files import PIECE_BYTES, SentFiles, whole_file
from mosaic.rpc import agent_pb2 as wire


class Broken(Exception):
    """The link is gone."""


class Wire:
    """Takes messages to the other side at once; breaks when its messages are used up."""

    def __init__(self, there: Path) -> None:
        self.files = ReceivedFiles(there)
        self.left = -1
        self.paths: list[str] = []

    def send(self, message: wire.FromAgent) -> None:
        if self.left == 0:
            raise Broken
        self.left -= 1
        # As on the wire: nothing is shared.
        message = wire.FromAgent.FromString(message.SerializeToString())
        match message.WhichOneof("said"):
            case "piece":
                self.paths.append(message.piece.path)
                self.files.take(message.piece)
            case "folder":
                self.files.commit(message.folder)
            case _:
                self.files.remove(message.gone.path)


class Pair:
    """A node and the daemon, each with a folder of the run."""

    def __init__(self, folder: Path) -> None:
        self.here, self.there = folder / "here", folder / "there"
        self.here.mkdir(parents=True)
        self.there.mkdir()
        self.link()

    def link(self) -> None:
        self.wire = Wire(self.there)
        self.sent = SentFiles(self.here, self.wire.send)
        self.sent.begin(FileStates(self.there).all())

    def write(self, path: str, data: bytes) -> None:
        place = self.here / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.with_name(f".{place.name}.tmp").write_bytes(data)
        place.with_name(f".{place.name}.tmp").rename(place)

    def append(self, path: str, data: bytes) -> None:
        place = self.here / path
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("ab") as file:
            file.write(data)

    def checkpoint(self, step: int, data: bytes, *, linked_to: int | None = None) -> None:
        aside = self.here / f"checkpoints/.step-{step}.tmp"
        aside.mkdir(parents=True)
        (aside / "state.json").write_bytes(b"%d" % step)
        (aside / "arrays.safetensors").write_bytes(data)
        if linked_to is not None:
            os.link(self.here / f"checkpoints/step-{linked_to}/page-0.safetensors", aside / "page-0.safetensors")
        else:
            (aside / "page-0.safetensors").write_bytes(data * 2)
        aside.rename(self.here / f"checkpoints/step-{step}")

    def relay(self) -> None:
        while self.sent.look(final=True):
            pass

    def check_equal(self) -> None:
        assert content(self.there) == content(self.here)
        assert not (self.there / ".relay").exists() or not any(p.is_file() for p in (self.there / ".relay").rglob("*"))


def content(root: Path) -> dict[str, bytes]:
    return {path: (root / path).read_bytes() for path in relayed_files.paths(root)}


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path)


def test_every_kind_of_file_arrives(pair: Pair):
    pair.append("events.jsonl", b'{"seq": 1}\n{"seq": 2}\n')
    pair.append("logs/cleanrl.stdout.log", b"")
    pair.append("tensorboard/events.out.tfevents.1", os.urandom(3 * PIECE_BYTES + 7))
    pair.write("analytics.json", b"{}")
    pair.write("runs/label/ppo.cleanrl_model", os.urandom(2 * PIECE_BYTES))
    pair.write("config.json", b"")
    pair.checkpoint(512, os.urandom(PIECE_BYTES + 1))
    pair.relay()
    pair.check_equal()
    pair.append("events.jsonl", b'{"seq": 3}\n')
    pair.write("analytics.json", b'{"more": 1}')
    pair.checkpoint(1024, b"x", linked_to=512)
    shutil.rmtree(pair.here / "checkpoints/step-512")
    pair.relay()
    pair.check_equal()
    assert not (pair.there / "checkpoints/step-512").exists()


def test_only_what_is_new_is_sent_and_a_part_of_a_line_waits(pair: Pair):
    pair.append("events.jsonl", b'{"seq": 1}\n{"se')
    assert pair.sent.look()
    assert (pair.there / "events.jsonl").read_bytes() == b'{"seq": 1}\n'
    pair.append("events.jsonl", b'q": 2}\n')
    pair.sent.look()
    assert (pair.there / "events.jsonl").read_bytes() == b'{"seq": 1}\n{"seq": 2}\n'
    pair.wire.paths.clear()
    assert not pair.sent.look()
    assert pair.wire.paths == []


def test_a_line_longer_than_a_piece_arrives(pair: Pair):
    pair.append("events.jsonl", b"x" * (3 * PIECE_BYTES) + b"\ny\nz")
    pair.sent.look()
    assert (pair.there / "events.jsonl").stat().st_size == 3 * PIECE_BYTES + 3
    pair.relay()
    pair.check_equal()


def test_a_part_of_a_line_that_the_next_attempt_cuts_off_is_cut_off_there_too(pair: Pair):
    pair.append("events.jsonl", b'{"seq": 1}\n{"seq": 2, "half')
    pair.relay()
    pair.check_equal()
    (pair.here / "events.jsonl").write_bytes(b'{"seq": 1}\n')
    pair.append("events.jsonl", b'{"seq": 2, "of another attempt": 1}\n')
    pair.link()
    pair.relay()
    pair.check_equal()


def test_a_checkpoint_is_there_whole_or_not_at_all_and_after_its_events(pair: Pair):
    pair.append("events.jsonl", b'{"seq": 1}\n')
    pair.checkpoint(512, os.urandom(4 * PIECE_BYTES))
    for left in range(40):
        pair.link()
        pair.wire.left = left
        try:
            pair.sent.look()
        except Broken:
            assert not (pair.there / "checkpoints").exists() or list((pair.there / "checkpoints").iterdir()) == []
            continue
        break
    assert left > 8
    assert (pair.there / "events.jsonl").read_bytes() == b'{"seq": 1}\n'
    pair.check_equal()


def test_pages_that_two_checkpoints_share_travel_once(pair: Pair):
    pair.checkpoint(1, os.urandom(PIECE_BYTES))
    pair.relay()
    pair.checkpoint(2, b"", linked_to=1)
    pair.relay()
    pair.check_equal()
    pages = [pair.there / f"checkpoints/step-{step}/page-0.safetensors" for step in (1, 2)]
    assert pages[0].samefile(pages[1])


def test_a_page_that_is_shared_no_more_leaves_the_older_checkpoint_as_it_was(pair: Pair):
    """A checkpoint that was being sent is saved once more under its name: its file was linked, and is new now."""
    old, new = "checkpoints/step-1/page", "checkpoints/step-2/page"
    pair.write(old, b"old page")
    pair.sent.look()
    pair.wire.send(wire.FromAgent(piece=wire.FilePiece(path=new, how="folder", same_as=old)))
    pair.write(new, b"new")
    pair.sent.look()
    assert (pair.there / old).read_bytes() == b"old page"
    assert (pair.there / new).read_bytes() == b"new"


def test_what_went_away_while_there_was_no_link_goes_away(pair: Pair):
    pair.checkpoint(1, b"a")
    pair.write("eval_summary.json", b"[]")
    pair.relay()
    shutil.rmtree(pair.here / "checkpoints/step-1")
    (pair.here / "eval_summary.json").unlink()
    pair.link()
    pair.relay()
    pair.check_equal()


def test_what_is_the_daemons_and_what_was_never_brought_stays(pair: Pair):
    for path in ("run.json", "worker.lock", "wandb/export.json", "logs/wandb.log", f"videos/{'x' * 3}/a.mp4"):
        (pair.there / path).parent.mkdir(parents=True, exist_ok=True)
        (pair.there / path).write_bytes(b"ours")
        pair.write(path.replace("a.mp4", "b.mp4"), b"theirs")
    pair.link()
    pair.relay()
    for path in ("run.json", "worker.lock", "wandb/export.json", "logs/wandb.log", f"videos/{'x' * 3}/a.mp4"):
        assert (pair.there / path).read_bytes() == b"ours"
    assert (pair.there / f"videos/{'x' * 3}/b.mp4").read_bytes() == b"theirs"


@pytest.mark.parametrize(
    "path",
    [
        "run.json",
        "../x",
        "/etc/passwd",
        "logs/../../x",
        "a/./b",
        "worker.lock",
        ".hidden",
        "a/.b",
        "",
        "logs/wandb.log",
    ],
)
def test_names_that_do_not_travel_are_refused(pair: Pair, path: str):
    for how in ("grow", "whole", "folder"):
        with pytest.raises(RelayBroken):
            pair.wire.files.take(wire.FilePiece(path=path, data=b"x", how=how, last=True))
    with pytest.raises(RelayBroken):
        pair.wire.files.remove(path)


def test_links_are_not_followed(pair: Pair, tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (pair.there / "tensorboard").symlink_to(outside)
    (pair.there / "events.jsonl").symlink_to(outside / "file")
    for path in ("tensorboard/x", "events.jsonl"):
        with pytest.raises(RelayBroken):
            pair.wire.files.take(wire.FilePiece(path=path, data=b"x", how="grow"))
    assert list(outside.iterdir()) == []


def test_a_gap_a_wrong_digest_and_a_folder_that_lacks_a_file_are_refused(pair: Pair):
    files = pair.wire.files
    with pytest.raises(RelayBroken, match="0 bytes here"):
        files.take(wire.FilePiece(path="events.jsonl", offset=5, data=b"x", how="grow"))
    with pytest.raises(RelayBroken, match="as it was sent"):
        files.take(wire.FilePiece(path="analytics.json", data=b"x", how="whole", last=True, digest="0" * 32))
    assert not (pair.there / "analytics.json").exists()
    with pytest.raises(RelayBroken, match="not whole"):
        files.commit(wire.FolderDone(path="checkpoints/step-1", files=[wire.FileState(path="checkpoints/step-1/a")]))


def test_a_run_is_brought_to_a_node_whole(pair: Pair, tmp_path: Path):
    pair.append("events.jsonl", b'{"seq": 1}\n')
    pair.checkpoint(512, os.urandom(PIECE_BYTES + 1))
    pair.write("analytics.json", b"{}")
    node = tmp_path / "node"
    node.mkdir()
    files = ReceivedFiles(node)
    states = FileStates(pair.here).all()
    for state in states:
        for piece in whole_file(pair.here, state.path):
            files.take(piece)
    folder = [state for state in states if state.path.startswith("checkpoints/")]
    files.commit(wire.FolderDone(path="checkpoints/step-512", files=folder))
    files.close()
    assert content(node) == content(pair.here)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["event", "part", "log", "whole", "checkpoint", "drop", "cut", "look", "break", "link"]),
        st.integers(0, 5000),
    ),
    max_size=40,
)


@given(STEPS)
def test_whatever_a_worker_writes_and_whenever_the_link_breaks_both_end_equal(
    tmp_path_factory: pytest.TempPathFactory, history: list[tuple[str, int]]
):
    pair, steps = Pair(tmp_path_factory.mktemp("pair")), list[int]()
    for what, number in history:
        events = pair.here / "events.jsonl"
        if what == "event":
            pair.append("events.jsonl", b'{"n": %d}\n' % number)
        elif what == "part":
            pair.append("events.jsonl", b'{"n": %d' % number)
        elif what == "cut" and events.exists():
            data = events.read_bytes()
            events.write_bytes(data[: data.rfind(b"\n") + 1])
        elif what == "log":
            pair.append("logs/cleanrl.stdout.log", b"y" * number)
        elif what == "whole":
            pair.write("analytics.json", b"z" * number)
        elif what == "checkpoint":
            steps.append(steps[-1] + 1 if steps else 1)
            pair.checkpoint(steps[-1], b"w" * number)
        elif what == "drop" and steps:
            shutil.rmtree(pair.here / f"checkpoints/step-{steps.pop(0)}")
        elif what == "look":
            pair.sent.look()
        elif what == "break":
            pair.wire.left = number % 4
            try:
                pair.sent.look()
                pair.wire.left = -1
            except Broken:
                pair.link()
        elif what == "link":
            pair.link()
    pair.relay()
    pair.check_equal()


def test_a_folder_that_is_removed_while_it_is_listed_is_left_out(pair: Pair, monkeypatch: pytest.MonkeyPatch):
    pair.append("events.jsonl", b"x\n")
    pair.checkpoint(512, b"x")
    doomed, scandir = pair.here / "checkpoints/step-512", os.scandir

    def scan(path: str | Path) -> object:
        if Path(path) == doomed and doomed.exists():
            for name in ("state.json", "arrays.safetensors", "page-0.safetensors"):
                (doomed / name).unlink()
            doomed.rmdir()
        return scandir(path)

    monkeypatch.setattr(os, "scandir", scan)
    assert relayed_files.paths(pair.here) == ["events.jsonl"]
    pair.relay()
    pair.check_equal()


def test_a_checkpoint_that_is_removed_while_it_is_sent_is_not_there_in_part(pair: Pair):
    pair.checkpoint(512, b"x")
    send = pair.sent._send

    def remove_then_send(message: wire.FromAgent) -> None:
        # The last file, which is not being sent yet, goes: as where a worker removes the folder now.
        (pair.here / "checkpoints/step-512/arrays.safetensors").unlink(missing_ok=True)
        send(message)

    pair.sent._send = remove_then_send
    pair.sent.look()
    assert not (pair.there / "checkpoints/step-512").exists()


def test_a_folder_aside_that_is_a_link_is_not_written_through(tmp_path: Path):
    outside, root = tmp_path / "outside", tmp_path / "run"
    outside.mkdir()
    root.mkdir()
    (root / ".relay").symlink_to(outside)
    files = ReceivedFiles(root)
    files.take(wire.FilePiece(path="checkpoints/step-1/a", data=b"x", how="folder"))
    assert list(outside.iterdir()) == []
    assert not (root / ".relay").is_symlink()


@pytest.mark.parametrize("path", ["../x", "/etc/hostname", "pipe", "link"])
def test_a_state_is_told_of_plain_files_of_the_run_alone(tmp_path: Path, path: str):
    root = tmp_path / "run"
    root.mkdir()
    (tmp_path / "x").write_text("x")
    os.mkfifo(root / "pipe")
    (root / "link").symlink_to(tmp_path / "x")
    assert FileStates(root).of([path]) == []
