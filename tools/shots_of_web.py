"""Screenshots of `mosaic web` for the docs, from real runs in a real Chromium: writes docs/pictures/web-*.png."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from selenium.webdriver import Chrome

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT))

from bench.chromium import chromium, look, served, until  # noqa: E402

PICTURES = ROOT / "docs" / "pictures"
MOSAIC = Path(sys.executable).with_name("mosaic")
CARTPOLE = ("ppo", "--env-id=CartPole-v1", "--total-timesteps=100000", "--seeds=1-6", "--tag=paper")
TRAINED = (
    ("dqn", "--env-id=CartPole-v1", "--total-timesteps=30000", "--label=dqn cartpole", "--tag=baseline"),
    ("ppo", "--env-id=Acrobot-v1", "--total-timesteps=150000", "--label=acrobot"),
    (*CARTPOLE, "--label=cartpole"),
    (*CARTPOLE, "--label=cartpole, lr 1e-3", "--learning-rate=1e-3"),
)
LIVE = ("ppo", "--env-id=LunarLander-v3", "--total-timesteps=3000000", "--num-envs=8", "--label=lander")
LIVE_STEPS = 60_000
DESKTOP, PHONE = (1400, 900), (390, 844)
SETTLE_S = 2.0


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="mosaic-") as folder:
        os.environ["MOSAIC_HOME"] = folder
        try:
            for flags in TRAINED:
                print("training", *flags, flush=True)
                mosaic("train", *flags, "--follow")
            mosaic("train", *LIVE, "--detach")
            until(lambda: shown("lander")["global_step"] > LIVE_STEPS)
            with served("--allow-control") as (_, link), chromium() as browser:
                take(browser, link)
        finally:
            mosaic("cancel", "lander")
            mosaic("follow", "lander")
            mosaic("daemon", "stop")
    return 0


def take(browser: Chrome, link: str) -> None:
    browser.get(link)
    page = link.partition("/enter")[0]
    seeds = [run["run_id"] for run in listed() if run["label"].startswith("cartpole")]
    compared = "&".join(f"run={run}" for run in seeds)
    ready = "return document.querySelector('.charts')?.dataset.whole"
    painted = "return Number(document.querySelector('.frames-part')?.dataset.painted) > 9"
    scenes = (
        ("table", "/", "return document.querySelectorAll('.rows .row').length > 9"),
        ("run", "/run/lander", painted),
        ("compare", f"/compare?{compared}&by=group&middle=IQM", ready),
        ("form", "/new", "return document.querySelectorAll('.field').length > 20"),
    )
    for scheme in ("dark", "light"):
        for name, path, is_ready in scenes:
            look(browser, *DESKTOP, scheme)
            browser.get(page + path)
            until(lambda is_ready=is_ready: browser.execute_script(is_ready))
            save(browser, f"web-{name}-{scheme}")
    for name, path, is_ready in scenes[:2]:
        look(browser, *PHONE, "dark")
        browser.get(page + path)
        until(lambda is_ready=is_ready: browser.execute_script(is_ready))
        save(browser, f"web-{name}-phone")


def save(browser: Chrome, name: str) -> None:
    time.sleep(SETTLE_S)
    print(name, flush=True)
    (PICTURES / f"{name}.png").write_bytes(browser.get_screenshot_as_png())


def mosaic(*words: str) -> str:
    return subprocess.run([MOSAIC, *words], stdout=subprocess.PIPE, text=True, check=False).stdout


def shown(run: str) -> dict[str, Any]:
    return json.loads(mosaic("show", run, "--json"))


def listed() -> list[dict[str, Any]]:
    return [json.loads(line) for line in mosaic("runs", "--json", "--limit", "0").splitlines()]


if __name__ == "__main__":
    raise SystemExit(main())
