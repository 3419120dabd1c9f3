"""Screenshots of the window for the docs, from real short runs: `make shots` writes docs/pictures/*.png."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from PIL import Image
from PySide6.QtCore import QSize
from PySide6.QtWidgets import QApplication, QWidget

from mosaic.gui import app
from mosaic.gui.models.daemon.daemon_link import DaemonLink
from mosaic.gui.models.form.notes import NOTE, Note
from mosaic.gui.tabs.live import LiveTab
from mosaic.gui.tabs.play import PlayTab
from mosaic.gui.theme import Scheme, Tokens
from mosaic.installation import install_line
from mosaic.run_table.arrangement import Arrangement
from mosaic.spec.run_dir import Home
from shots_of_play import SCENES

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
MOSAIC = Path(sys.executable).with_name("mosaic")
LARGE, SMALL = QSize(1600, 960), QSize(1280, 720)
TRAINED = (
    ("dqn", "--env-id=CartPole-v1", "--total-timesteps=30000", "--label=dqn cartpole"),
    ("ppo", "--env-id=Acrobot-v1", "--total-timesteps=150000", "--label=acrobot", "--track-wandb"),
    ("ppo", "--env-id=CartPole-v1", "--total-timesteps=200000", "--seeds=1-3", "--label=cartpole", "--capture-video"),
    ("ppo", "--env-id=CartPole-v1", "--total-timesteps=100000", "--learning-rate=1e30", "--label=far too fast"),
)
"""The last one is meant to fail."""
SAVED = 5
"""Policies of these: each run but the last one saves one."""
EVALUATED = ("cartpole, seed 1", "cartpole, seed 2", "cartpole, seed 3")
LIVE = ("ppo", "--env-id=LunarLander-v3", "--total-timesteps=3000000", "--num-envs=8", "--label=lander")
LIVE_STEPS = 60_000
TIMEOUT_S = 180.0
SETTLE_S = 2.5
SCHEMES: Sequence[Scheme] = ("dark", "light")


def main() -> int:
    os.environ |= {"QT_QPA_PLATFORM": "offscreen", "QT_SCALE_FACTOR": "1", "QT_FONT_DPI": "96", "WANDB_MODE": "offline"}
    # A warning names the file that it is about, by a path of this machine.
    os.environ["PYTHONWARNINGS"] = "ignore"
    # An exporter that gives way to everything else would not be done when its picture is taken.
    os.environ["MOSAIC_EXPORT_NICE"] = "0"
    if "/" in (line := install_line("web")):
        raise SystemExit(
            f"the pictures would show paths of this machine ({line}): run 'make shots' in its own checkout"
        )
    PICTURES.mkdir(parents=True, exist_ok=True)
    application = app.make_application()
    with tempfile.TemporaryDirectory(prefix="mosaic-") as folder:
        os.environ["MOSAIC_HOME"] = folder
        home = Home.resolve()
        try:
            with_window(application, home, take_empty)
            for flags in TRAINED:
                print("training", *flags, flush=True)
                mosaic("train", *flags, "--follow")
            mosaic("evaluate", *EVALUATED, "--episodes=200")
            wait(application, lambda: is_exported(home))
            mosaic("train", *LIVE, "--detach")
            with_window(application, home, take)
            with_window(application, home, take_play)
        finally:
            # By name: the last run is one of Play by now, and a worker outlives its daemon.
            mosaic("cancel", "lander")
            mosaic("follow", "lander")
            mosaic("daemon", "stop")
    return 0


def mosaic(*words: str) -> None:
    """One of these runs is meant to fail, so the exit code is not looked at: the pictures show what came of it."""
    subprocess.run([MOSAIC, *words], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def with_window(application: QApplication, home: Home, act: Callable[[QApplication, app.Opened], None]) -> None:
    opened = app.open_window(application, home, DaemonLink(home), theme="dark")
    opened.window.resize(LARGE)
    opened.window.show()
    opened.start()
    try:
        act(application, opened)
    finally:
        opened.close()


def take_empty(application: QApplication, opened: app.Opened) -> None:
    wait(application, lambda: bool(opened.window.form.form.fields))
    for scheme in SCHEMES:
        opened.theme.use(scheme)
        shoot(application, opened, f"first-{scheme}", SMALL)


def take(application: QApplication, opened: app.Opened) -> None:
    window, records = opened.window, opened.studio.runs.records

    def runs(label: str, kind: str = "train") -> list[str]:
        return [run.run_id for run in records() if run.label.startswith(label) and run.kind == kind]

    wait(application, lambda: any(run.label == "lander" and run.global_step > LIVE_STEPS for run in records()))
    for scheme in SCHEMES:
        opened.theme.use(scheme)
        for size, name in ((LARGE, "studio"), (SMALL, "studio-1280")):
            window.resize(size)
            window.reset_layout()
            opened.studio.select(runs("lander"))
            shoot(application, opened, f"{name}-{scheme}", size)
        take_explained(application, opened, scheme)
        window.resize(LARGE)
        window.reset_layout()
        for title, label, size in (
            ("Metrics", "cartpole", SMALL),
            ("Evaluate", "cartpole", SMALL),
            ("W&B", "acrobot", SMALL),
            ("Overview", "far too fast", SMALL),
            ("Artifacts", "cartpole", SMALL),
            ("Log", "lander", SMALL),
            ("Dry runs", "lander", SMALL),
        ):
            window.resize(size)
            window.reset_layout()
            opened.studio.select(runs(label, "policy_eval" if title == "Evaluate" else "train"))
            if title == "Dry runs":
                window.form.dry_run.click()
                wait(application, lambda: newest_note(opened).outcome != "running")
                # A refused one, with its reason in the form, would be in all pictures after it.
                assert newest_note(opened).outcome == "ok", newest_note(opened).output
            window.bench.bring_up(title)
            if title == "Overview":
                # The log of a run that failed has paths of this machine.
                for below in ("Log", "Dry runs"):
                    window.bench.docks[below].close()
            shoot(
                application,
                opened,
                f"{title.lower().replace('w&b', 'wandb').replace('dry runs', 'notes')}-{scheme}",
                size,
            )
        take_policies(application, opened, runs(EVALUATED[0]), scheme)
        take_table(application, opened, runs("cartpole"), scheme)
    opened.theme.use("dark")
    palette = window.menus.open_palette()
    palette.typed.setText("pa")
    run_for(application, SETTLE_S)
    keep(palette, "palette-dark", opened.theme.tokens)
    palette.close()


def take_explained(application: QApplication, opened: app.Opened, scheme: Scheme) -> None:
    """What the agent sees, beside the tiles of the run that learns."""
    live = opened.window.tabs["Live view"]
    assert isinstance(live, LiveTab)
    live.toggle_explained()
    wait(application, lambda: live.overlay.isVisible())
    shoot(application, opened, f"sees-{scheme}", SMALL)
    live.toggle_explained()


def take_policies(application: QApplication, opened: app.Opened, run_ids: Sequence[str], scheme: Scheme) -> None:
    """The dialog with the policy of a run chosen: what was detected of it is filled in."""
    opened.window.load_policy()
    dialog = opened.window.policies
    assert dialog is not None
    listed = dialog.evaluation_actions.policies
    wait(application, lambda: len(listed.policies) == SAVED)
    dialog.picker.choose([policy.path for policy in listed.policies if policy.run_id in run_ids])
    run_for(application, SETTLE_S)
    keep(dialog, f"policies-{scheme}", opened.theme.tokens)
    dialog.close()


def take_table(application: QApplication, opened: app.Opened, run_ids: Sequence[str], scheme: Scheme) -> None:
    """Grouped by algorithm, with some runs of a group selected."""
    window, table = opened.window, opened.window.table
    window.resize(LARGE)
    window.reset_layout()
    window.switch_table()
    columns = (
        "label",
        "state",
        "env",
        "seed",
        "learning_rate",
        "return",
        "charts/episodic_return.auc",
        "steps",
        "time",
    )
    table.show_arrangement(Arrangement(columns=columns, sort="return", downwards=True, group="algo"))
    opened.studio.select(run_ids)
    wait(application, lambda: not table.values.missing)
    shoot(application, opened, f"table-{scheme}", LARGE)
    window.switch_table()


def is_exported(home: Home) -> bool:
    states = [json.loads(path.read_text())["state"] for path in home.runs.glob("*/wandb/export.json")]
    return states == ["offline"]


def newest_note(opened: app.Opened) -> Note:
    notes = opened.studio.notes
    note = notes.data(notes.index(0), NOTE)
    assert isinstance(note, Note)
    return note


def take_play(application: QApplication, opened: app.Opened) -> None:
    tab, records = opened.window.tabs["Play"], opened.studio.runs.records
    assert isinstance(tab, PlayTab)
    wait(application, lambda: bool(tab.play.offer.actors and records()))
    policy = next(run.run_id for run in records() if run.label == EVALUATED[0] and run.kind == "train")
    opened.window.resize(SMALL)
    opened.window.reset_layout()
    opened.window.bench.bring_up("Play")
    for below in ("Log", "Dry runs"):
        opened.window.bench.docks[below].close()
    for name, prepare in SCENES.items():
        prepare(tab, lambda until: wait(application, until), policy)
        for scheme in SCHEMES:
            opened.theme.use(scheme)
            shoot(application, opened, f"{name}-{scheme}", SMALL)


def shoot(application: QApplication, opened: app.Opened, name: str, size: QSize) -> None:
    opened.window.resize(size)
    run_for(application, SETTLE_S)
    wait(application, lambda: is_drawn(opened))
    keep(opened.window, name, opened.theme.tokens)


def is_drawn(opened: app.Opened) -> bool:
    """Whether the live view, where it is seen, has every environment: a grid fills up tile by tile."""
    tab = opened.window.tabs["Live view"]
    assert isinstance(tab, LiveTab)
    picture = tab.live.picture() if tab.seen.now else None
    return picture is None or all(tile.episode_length for tile in picture.head.tiles)


def keep(widget: QWidget, name: str, tokens: Tokens) -> None:
    path = PICTURES / f"{name}.png"
    widget.grab().save(str(path))
    with Image.open(path) as picture:
        small = in_256_colours(picture.convert("RGB"), tokens)
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
