"""Code out of a run directory never runs, also where the run lies in an allowed folder; their list is kept whole."""

import fcntl
import os
import threading
from pathlib import Path

import pytest

from mosaic.cli.daemon.connection import BadArguments
from mosaic.cli.train import own_algorithm_files
from mosaic.errors import ConfigError
from mosaic.scripts import code_gate, own_algorithms
from mosaic.scripts.allowed_folders import Allowed
from mosaic.spec.run_dir import Home

WHOLE = """from cleanrl_worker.sdk import Run
class Args: ...
ACTIONS = 'discrete'
def train(run, args): ...
def load(file): ...
"""
RUN = "01K9CG05J5Y0FFQMT1T920EZK2"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("MOSAIC_HOME", str(tmp_path / "home"))
    return Home(tmp_path / "home")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "algos"
    made.mkdir()
    (made / "my_p.py").write_text(WHOLE)
    return made


@pytest.fixture
def allowed(home: Home, folder: Path) -> Allowed:
    found = Allowed(home)
    found.add(folder)
    return found


def code_in_a_run(folder: Path, name: str, *, run: str = "out", marker: str = "events.jsonl") -> Path:
    copies = folder / run / "source" / "abcd1234"
    copies.mkdir(parents=True)
    if marker:
        (folder / run / marker).touch()
    (copies / name).write_text(WHOLE)
    return copies / name


@pytest.mark.parametrize(
    ("run", "marker"),
    [("out", "events.jsonl"), ("out", "run.json"), ("out", "analytics.json"), (RUN, "")],
)
def test_a_run_in_an_allowed_folder_brings_no_algorithm(allowed: Allowed, folder: Path, run: str, marker: str) -> None:
    file = code_in_a_run(folder, "theirs.py", run=run, marker=marker)
    (folder / "link.py").symlink_to(file)
    code_in_a_run(folder / "deep", "my_p.py", run=run, marker=marker)
    assert [(one.name, one.problem) for one in own_algorithms.known(allowed)] == [("my_p", "")]
    assert code_gate.algorithm("my_p", allowed).file == folder / "my_p.py"
    for path in (file, folder / "link.py"):
        with pytest.raises(ConfigError, match=f"lies in the run directory {folder / run}, and nothing there may run"):
            allowed.real_path(path)


def test_a_run_or_its_copies_cannot_be_allowed(allowed: Allowed, tmp_path: Path) -> None:
    file = code_in_a_run(tmp_path, "theirs.py")
    for folder in (tmp_path / "out", file.parent.parent, file.parent):
        with pytest.raises(ConfigError, match=f"lies in the run directory {tmp_path / 'out'}"):
            allowed.add(folder)


def test_code_is_not_copied_into_an_allowed_folder(allowed: Allowed, folder: Path) -> None:
    assert allowed.folders() == [folder]
    with pytest.raises(BadArguments, match=f"lies in {folder}, where code may run at once.*give a folder elsewhere"):
        own_algorithm_files.copy(["some-run", str(folder / "sub")])
    assert not (folder / "sub").exists()


def test_two_that_allow_a_folder_at_once_lose_none(home: Home, allowed: Allowed, folder: Path, tmp_path: Path) -> None:
    """The second waits until the first has written."""
    (tmp_path / "second").mkdir()
    (tmp_path / "third").mkdir()
    descriptor = os.open(home.trainer / "scripts.lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    waiting = threading.Thread(target=allowed.add, args=(tmp_path / "second",))
    waiting.start()
    waiting.join(0.2)
    assert waiting.is_alive()
    assert allowed.folders() == [folder]
    os.close(descriptor)
    waiting.join()
    adding = [threading.Thread(target=Allowed(home).add, args=(tmp_path / name,)) for name in ("second", "third") * 5]
    for thread in adding:
        thread.start()
    for thread in adding:
        thread.join()
    assert sorted(allowed.folders()) == [folder, tmp_path / "second", tmp_path / "third"]


def test_a_copy_that_is_not_text_is_named(home: Home) -> None:
    run_dir = home.run(RUN)
    path = code_in_a_run(home.runs, "theirs.py", run=run_dir.run_id)
    path.write_bytes(b"# caf\xe9\n")
    with pytest.raises(BadArguments, match=r"theirs.py cannot be copied: 'utf-8' codec can't decode"):
        list(own_algorithm_files._kept(run_dir, "theirs.py"))  # pyright: ignore[reportPrivateUsage]
