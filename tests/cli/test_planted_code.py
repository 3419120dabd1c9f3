"""No code out of a run directory, the home or the current folder ever runs, whatever a user does with a run."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mosaic.spec.run_dir import Home

MOSAIC = Path(sys.executable).parent / "mosaic"


@pytest.fixture
def marker(
    mosaic: Callable[..., Any], planted: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """With planted files in the home and in the current folder; a user's search path with an empty entry."""
    home, here = Home.resolve(), tmp_path / "here"
    here.mkdir()
    before = set(home.root.iterdir()), set(home.trainer.iterdir())
    made = planted(home.root, home.trainer, here)
    monkeypatch.chdir(here)
    yield made
    for folder, known in zip((home.root, home.trainer), before, strict=True):
        for path in set(folder.iterdir()) - known:
            if path.name == "mosaic" or path.name == "cleanrl_worker":
                shutil.rmtree(path)
            elif path.suffix == ".py":
                path.unlink()


@pytest.fixture
def imported(mosaic: Callable[..., Any], marker: Path, planted: Callable[..., Path], finished: str) -> str:
    """A run of another home, which asks for a cold worker and for processes for its environments."""
    out = Path("copy").absolute()
    assert mosaic("export", finished, str(out)).code == 0
    planted(out)
    fresh = f"{finished[:-1]}{'0' if finished[-1] != '0' else '1'}"
    record = json.loads((out / "run.json").read_text())
    (out / "run.json").write_text(json.dumps(record | {"run_id": fresh, "cpus": 2, "label": "planted"}))
    config = json.loads((out / "config.json").read_text())
    config["run_name"] = "planted"
    worker = config["metadata"]["worker"]["config"]
    worker["total_timesteps"] += 1000
    worker["extras"]["env_backend"] = "async"
    (out / "config.json").write_text(json.dumps(config))
    said = mosaic("import", str(out), "--json")
    assert said.code == 0, said.err
    assert said.objects[0]["run_id"] == fresh
    assert (Home.resolve().run(fresh).root / "numpy.py").exists()
    return fresh


def test_a_planted_file_in_an_imported_run_never_runs(
    mosaic: Callable[..., Any], imported: str, marker: Path, until: Callable[..., None], state: Callable[[str], str]
) -> None:
    said = mosaic("resume", imported)
    assert said.code == 0, said.err
    until(lambda: state(imported) in ("finished", "failed", "lost"))
    log = mosaic("logs", imported, "--stderr").out
    assert not marker.exists(), marker.read_text()
    assert state(imported) == "finished", log
    assert mosaic("evaluate", imported, "--episodes", "2").code == 0
    publish = mosaic("publish", imported, "--dry-run", "folder", "--episodes", "1", "--repo", "me/")
    assert publish.code == 0, publish.err
    assert mosaic("export", imported, "again.zip").code == 0
    assert not marker.exists(), marker.read_text()


def test_a_planted_file_runs_in_no_verb_of_the_current_folder(
    mosaic: Callable[..., Any], finished: str, marker: Path
) -> None:
    played = mosaic("play", "CartPole-v1", "--actor", f"policy:{finished}", "--json")
    assert played.code == 0, played.err
    run_id = played.objects[-1]["run_id"]
    replay = mosaic("replay", f"{run_id}/1", "--video", "film.gif")
    assert replay.code == 0, replay.err
    assert not marker.exists(), marker.read_text()


def test_a_scripted_actor_is_refused_with_the_command_that_allows_it(
    mosaic: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "my code"
    folder.mkdir()
    (folder / "x.py").write_text("def select_action(view): return 0\n")
    said = mosaic("play", "CartPole-v1", "--actor", "scripted:./my code/x.py")
    assert said.code == 2
    assert said.err.endswith(f"to allow it: mosaic scripts add '{folder}'\n")
    assert mosaic("play", "CartPole-v1", "--actor", "scripted:./none.py").err.endswith(f"no file {tmp_path}/none.py\n")
    assert mosaic("scripts", "add", str(folder)).code == 0
    assert mosaic("play", "CartPole-v1", "--actor", "scripted:./my code/x.py").code == 0
    assert mosaic("scripts", "remove", str(folder)).code == 0


def test_a_planted_file_does_not_run_in_tensorboard(finished: str, marker: Path, until: Callable[..., None]) -> None:
    process = subprocess.Popen([MOSAIC, "tensorboard", finished], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"http://")
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert not marker.exists(), marker.read_text()


def test_the_command_itself_imports_nothing_from_the_current_folder(mosaic: Callable[..., Any], marker: Path) -> None:
    for package in ("mosaic", "cleanrl_worker"):
        # With `python -m` these are found before the code of ours that could refuse them.
        shutil.rmtree(package)
    subprocess.run([MOSAIC, "runs"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([sys.executable, "-m", "mosaic.cli", "runs"], check=True, stdout=subprocess.DEVNULL, env=_plain())
    assert not marker.exists(), marker.read_text()


def _plain() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def test_a_painter_imports_nothing_from_its_run(
    mosaic: Callable[..., Any], endless: str, marker: Path, planted: Callable[..., Path]
) -> None:
    planted(Home.resolve().run(endless).root)
    said = mosaic("frame", endless, "picture.png")
    assert said.code == 0, said.err
    assert not marker.exists(), marker.read_text()
