"""`make wheel-check`: build wheel and sdist, install the wheel where no checkout is, and use it there.

Installed with pip from the package index: a clean environment, as a user has it, with the window's extra. With --borrow
the environment is empty but for the wheel and borrows all other packages from this one, so that nothing is downloaded.
"""

import argparse
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = "cleanrl_worker/docs"
SCRIPT = """
import gymnasium as gym

env = gym.make("CartPole-v1")
env.reset(seed=1)
for step in range(200):
    _, _, terminated, truncated, _ = env.step(step % 2)
    if terminated or truncated:
        env.reset()
"""
WINDOW = """
import sys
from PySide6.QtCore import QTimer
from PySide6.QtGui import QFontDatabase
from mosaic.gui import app, assets

made = app.open_window

def open_and_close(*words, **options):
    opened = made(*words, **options)

    def look():
        known = opened.window.form.train_actions.catalogue.algorithms
        if "ppo" in known:
            print(len(known["ppo"].docs.splitlines()), "Inter" in QFontDatabase.families(),
                  "JetBrains Mono" in QFontDatabase.families(), assets.pixmap(opened.theme, "play").isNull())
            opened.timer.stop()
            opened.window.close()

    opened.timer = QTimer(interval=50, timeout=look)
    opened.timer.start()
    return opened

app.open_window = open_and_close
sys.exit(app.main([]))
"""
WITHOUT_MINARI = """
import sys
from importlib import util
from mosaic.cli import main

found = util.find_spec
util.find_spec = lambda name, package=None: None if name == "minari" else found(name, package)
sys.exit(main(["export-minari", "@last", "--dataset", "a/b-v0"]))
"""
LACKING: dict[tuple[str, ...], str] = {
    ("train", "ppo_continuous_action", "--env-id", "HalfCheetah-v5"): "mujoco",
    ("train", "dqn", "--env-id", "LunarLander-v3", "--dry-run"): "box2d",
    ("train", "ppo_atari"): "atari",
    ("train", "ppo", "--env-id", "MiniGrid-Empty-5x5-v0"): "minigrid",
    ("train", "ppo", "--env-backend", "envpool"): "envpool",
    ("train", "ppo", "--track-wandb"): "wandb",
    ("play", "butterfly/pistonball-v6", "--actor", "random"): "pettingzoo",
    ("play", "FrozenLake-v1", "--actor", "bdi"): "bdi",
    ("publish", "@last"): "hub",
    ("track", "@last", "--to", "mlflow"): "mlflow",
    ("envs", "atari"): "atari",
}
"""Commands that a clean installation refuses, and the extra that they need."""


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--borrow", action="store_true", help="take the packages of this environment; no network")
    borrow = bool(words.parse_args().borrow)
    with tempfile.TemporaryDirectory(prefix="mosaic-wheel-") as name:
        folder = Path(name)
        wheel, sdist = build(ROOT, folder / "dist")
        check_contents(wheel, sdist, folder / "unpacked")
        python = install(wheel, folder / "environment", borrow=borrow)
        for file in (wheel, sdist):
            print(f"{file.name}: {file.stat().st_size / 2**20:.1f} MiB")
        if not borrow:
            print(subprocess.run(["du", "-sh", folder / "environment"], capture_output=True, text=True).stdout, end="")
        use(python, folder / "elsewhere", borrow=borrow)
    print("ok: the wheel stands alone")
    return 0


def build(source: Path, into: Path) -> tuple[Path, Path]:
    """By the build backend that is installed: nothing is fetched."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(into)]
    subprocess.run(command, cwd=source, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
    (wheel,), (sdist,) = into.glob("*.whl"), into.glob("*.tar.gz")
    return wheel, sdist


def check_contents(wheel: Path, sdist: Path, unpacked: Path) -> None:
    """Every file of the packages and every page is in the wheel; the sdist makes the same wheel."""
    inside = set(zipfile.ZipFile(wheel).namelist())
    wanted = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*") if is_source(path)}
    wanted |= {f"{PAGES}/{page.name}" for page in (ROOT / "docs" / "algorithms").glob("*.md")}
    assert wanted <= inside, f"not in the wheel: {sorted(wanted - inside)}"
    with tarfile.open(sdist) as archive:
        archive.extractall(unpacked, filter="data")
    again, _ = build(next(unpacked.iterdir()), unpacked / "dist")
    assert set(zipfile.ZipFile(again).namelist()) == inside, "the sdist makes another wheel"


def is_source(path: Path) -> bool:
    return path.is_file() and "__pycache__" not in path.parts


def install(wheel: Path, environment: Path, *, borrow: bool) -> Path:
    """The interpreter of a new environment that has the wheel."""
    venv.create(environment, with_pip=False, symlinks=True)
    python = environment / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check", "install", "-q"]
    if not borrow:
        pins = ["-c", str(ROOT / "constraints.txt")]
        subprocess.run([*pip, *pins, f"mosaic-rl[gui] @ {wheel.as_uri()}"], check=True)
        return python
    subprocess.run([*pip, "--no-deps", "--no-index", str(wheel)], check=True)
    # After the wheel: pip would take the checkout's own metadata for an installed mosaic-rl. Lines of a .pth file add
    # folders only; the .pth files in those, one of which leads to the checkout, are not read.
    borrowed = [folder for folder in sys.path if folder.endswith("site-packages")]
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "borrowed.pth").write_text("\n".join(borrowed) + "\n")
    return python


def use(python: Path, folder: Path, *, borrow: bool) -> None:
    """As a user would: from a folder that knows nothing of the checkout."""
    folder.mkdir()
    (folder / "mine.py").write_text(SCRIPT)
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MOSAIC_"))}
    variables |= {"MOSAIC_HOME": str(folder / "home"), "QT_QPA_PLATFORM": "offscreen", "NO_COLOR": "1"}
    variables["PATH"] = f"{python.parent}{os.pathsep}{variables['PATH']}"

    def run(*words: str) -> str:
        done = subprocess.run(words, cwd=folder, env=variables, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, f"{' '.join(words[:3])} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
        return done.stdout

    place = run(str(python), "-c", "import mosaic, cleanrl_worker; print(mosaic.__file__, cleanrl_worker.__file__)")
    assert all(Path(word).is_relative_to(python.parent.parent) for word in place.split()), place
    try:
        assert "Solved" in run("mosaic", "demo", "--episodes", "2")
        for page in sorted((ROOT / "docs" / "algorithms").glob("ppo*.md")):
            assert run("mosaic", "algos", page.stem) == page.read_text().rstrip() + "\n", f"another page of {page.stem}"
        lines = len((ROOT / "docs" / "algorithms" / "ppo.md").read_text().splitlines())
        shown = run(str(python), "-c", WINDOW)
        assert shown == f"{lines} True True False\n", f"the window showed {shown}"
        run("mosaic", "scripts", "add", str(folder))
        run("mosaic", "train", "--script", str(folder / "mine.py"), "--follow")
        assert "mine.py" in run("mosaic", "runs")
        check_missing_extra([str(python), "-c", WITHOUT_MINARI], "minari", folder, variables)
        for words, extra in () if borrow else LACKING.items():
            check_missing_extra(["mosaic", *words], extra, folder, variables)
    finally:
        run("mosaic", "daemon", "stop")


def check_missing_extra(command: list[str], extra: str, folder: Path, variables: dict[str, str]) -> None:
    """It ends with 3, and the line that it prints is one for this environment."""
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, timeout=600)
    line = f" needs the extra '{extra}': python -m pip install 'mosaic-rl[{extra}]'\n"
    assert (done.returncode, done.stderr[-len(line) :]) == (3, line), done


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    raise SystemExit(main())
