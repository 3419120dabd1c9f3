"""Screenshots of the window for the docs, from real short runs: `make shots` writes docs/pictures/*.png."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ.setdefault("QT_SCALE_FACTOR", "1")
os.environ.setdefault("QT_FONT_DPI", "96")

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QApplication

from mosaic.gui import app
from mosaic.gui.tabs.log import LogTab
from mosaic.spec.run_dir import Home

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
MOSAIC = Path(sys.executable).with_name("mosaic")
LARGE, SMALL = QSize(1600, 960), QSize(1280, 720)
FINISHED = (
    ("ppo", "--env-id=CartPole-v1", "--total-timesteps=150000", "--seed=1"),
    ("ppo", "--env-id=CartPole-v1", "--total-timesteps=150000", "--seed=2"),
    ("ppo", "--env-id=CartPole-v1", "--total-timesteps=150000", "--seed=3", "--learning-rate=0.001"),
    ("dqn", "--env-id=CartPole-v1", "--total-timesteps=30000", "--seed=1"),
)
FAILING = ("ppo", "--env-id=CartPole-v1", "--total-timesteps=100000", "--learning-rate=1e30")
LIVE = ("ppo", "--env-id=LunarLander-v3", "--total-timesteps=5000000", "--seed=1")
LIVE_STEPS = 60_000
TIMEOUT_S = 120.0


def main() -> int:
    PICTURES.mkdir(parents=True, exist_ok=True)
    application = app.make_application()
    with tempfile.TemporaryDirectory(prefix="mosaic-shots-") as folder:
        os.environ["MOSAIC_HOME"] = folder
        home = Home(Path(folder))
        empty = app.open_window(application, home, theme="dark")
        _settle(application, empty)
        _grab(empty, "empty-dark", SMALL, application)
        empty.close()
        for flags in (*FINISHED, FAILING):
            print("training", *flags, flush=True)
            subprocess.run([MOSAIC, "train", *flags], check=flags is not FAILING, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        live = subprocess.Popen([MOSAIC, "train", *LIVE], stdout=subprocess.DEVNULL)
        try:
            _take(application, home)
        finally:
            live.terminate()
            live.wait()
    return 0
