"""Screenshots of the window for the docs, from real short runs: `make shots` writes docs/pictures/*.png."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import numpy as np
from PIL import Image
from PySide6.QtCore import QSize
from PySide6.QtWidgets import QApplication

from mosaic.gui import app
from mosaic.gui.models.link import Link
from mosaic.gui.tabs.metrics import MetricsTab
from mosaic.gui.theme import Scheme, Tokens
from mosaic.spec.run_dir import Home

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
MOSAIC = Path(sys.executable).with_name("mosaic")
LARGE, SMALL = QSize(1600, 960), QSize(1280, 720)
TRAINED = (
    ("dqn", "--env-id=CartPole-v1", "--total-timesteps=30000", "--seed=1"),
    ("ppo", "--env-id=Acrobot-v1", "--total-timesteps=150000", "--seed=1"),
    ("ppo", "--env-id=CartPole-v1", "--total-timesteps=200000", "--seed=1"),
    ("ppo", "--env-id=CartPole-v1", "--total-timesteps=200000", "--seed=2"),
    ("ppo", "--env-id=CartPole-v1", "--total-timesteps=200000", "--seed=3"),
)
FAILING = ("ppo", "--env-id=CartPole-v1", "--total-timesteps=100000", "--learning-rate=1e30", "--seed=4")
LIVE = ("ppo", "--env-id=LunarLander-v3", "--total-timesteps=2000000", "--seed=1")
LIVE_STEPS = 100_000
TIMEOUT_S = 120.0
SETTLE_S = 2.0
SCHEMES: Sequence[Scheme] = ("dark", "light")


def main() -> int:
    os.environ |= {"QT_QPA_PLATFORM": "offscreen", "QT_SCALE_FACTOR": "1", "QT_FONT_DPI": "96"}
    PICTURES.mkdir(parents=True, exist_ok=True)
    application = app.make_application()
    with tempfile.TemporaryDirectory(prefix="mosaic-") as folder:
        os.environ["MOSAIC_HOME"] = folder
        home = Home.resolve()
        with_window(application, home, take_empty)
        for flags in (*TRAINED, FAILING):
            print("training", *flags, flush=True)
            mosaic("train", *flags, "--follow")
        mosaic("train", *LIVE, "--detach")
        try:
            with_window(application, home, take)
        finally:
            mosaic("cancel", "@last")
            mosaic("follow", "@last")
            mosaic("daemon", "stop")
    return 0


def mosaic(*words: str) -> None:
    """One of these runs is meant to fail, so the exit code is not looked at: the pictures show what came of it."""
    subprocess.run([MOSAIC, *words], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def with_window(application: QApplication, home: Home, act: Callable[[QApplication, app.Opened], None]) -> None:
    opened = app.open_window(application, home, Link(home), theme="dark")
    opened.window.show()
    opened.feed.start()
    try:
        act(application, opened)
    finally:
        opened.close()


def take_empty(application: QApplication, opened: app.Opened) -> None:
    shoot(application, opened, "empty-dark", SMALL)


def take(application: QApplication, opened: app.Opened) -> None:
    window, records = opened.window, opened.studio.runs.records

    def ids(env_id: str) -> list[str]:
        return [run.run_id for run in records() if run.env_id == env_id and run.algo == "ppo" and not run.reason]

    wait(application, lambda: any(run.env_id == "LunarLander-v3" and run.global_step > LIVE_STEPS for run in records()))
    window.runs.select(ids("CartPole-v1"))
    for scheme in SCHEMES:
        opened.theme.use(scheme)
        shoot(application, opened, f"studio-{scheme}", LARGE)
        shoot(application, opened, f"studio-{scheme}-1280", SMALL)
    opened.theme.use("dark")
    window.runs.select(ids("LunarLander-v3"))
    shoot(application, opened, "live-dark", LARGE)
    window.centre.setCurrentWidget(window.tabs["Overview"])
    shoot(application, opened, "overview-dark", LARGE)
    window.runs.select([run.run_id for run in records() if run.reason])
    opened.theme.use("light")
    shoot(application, opened, "overview-light-1280", SMALL)


def shoot(application: QApplication, opened: app.Opened, name: str, size: QSize) -> None:
    opened.window.resize(size)
    run_for(application, SETTLE_S)
    grid = cast(MetricsTab, opened.window.tabs["Metrics"]).grid
    wait(application, lambda: all(card.chart for card in grid.cards() if card.is_seen))
    path = PICTURES / f"{name}.png"
    opened.window.grab().save(str(path))
    with Image.open(path) as picture:
        small = in_256_colours(picture.convert("RGB"), opened.theme.tokens)
    small.save(path, optimize=True)
    print(f"{path.name}: {path.stat().st_size // 1024} KiB", flush=True)


def in_256_colours(picture: Image.Image, tokens: Tokens) -> Image.Image:
    """A third of the size, every colour of the theme exact: Pillow alone blends rare ones, like a red dot, away."""
    exact = [word for value in vars(tokens).values() for word in ([value] if isinstance(value, str) else value)]
    frequent = picture.quantize(256 - len(exact), dither=Image.Dither.NONE).convert("RGB").getcolors(256) or []
    table = np.array(
        [[*bytes.fromhex(word[1:])] for word in exact] + [colour for _, colour in frequent], dtype=np.int32
    )
    pixels = np.asarray(picture, dtype=np.int32)
    packed, places = np.unique(pixels @ [1 << 16, 1 << 8, 1], return_inverse=True)
    colours = np.stack([packed >> 16, packed >> 8 & 255, packed & 255], axis=1)
    nearest = np.array([((table - colour) ** 2).sum(axis=1).argmin() for colour in colours], dtype=np.uint8)
    small = Image.fromarray(nearest[places].reshape(pixels.shape[:2]), "P")
    small.putpalette(table.astype(np.uint8).tobytes())
    return small


def wait(application: QApplication, until: Callable[[], bool]) -> None:
    end = time.monotonic() + TIMEOUT_S
    while not until():
        if time.monotonic() > end:
            raise TimeoutError(f"the runs did not get there in {TIMEOUT_S:.0f} s")
        run_for(application, 0.1)


def run_for(application: QApplication, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        application.processEvents()
        time.sleep(0.01)


if __name__ == "__main__":
    sys.exit(main())
