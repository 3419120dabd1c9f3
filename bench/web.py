"""`python -m bench.web`: what `mosaic web` costs and how quick it is, in a real Chromium (Debian: chromium-driver).

A home of 1,000 runs, and a run that learns in eight environments. Rates and latencies are of this machine as it is:
what else runs on it slows them down. Exit code 1 if a figure misses its target.
"""

import gzip
import os
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import psutil
from selenium.webdriver import Chrome

from bench.chromium import chromium, served, until
from bench.home_scale import make_home
from mosaic.rpc.client import Client
from mosaic.spec.run_dir import Home
from mosaic.web.binned_curve import BinnedCurve

RUNS = 1000
POINTS = 1_000_000
LOOKS = 5
WATCHED_S = 10.0
DRAWN_S = 4.0
CURVES = 8
RETURN = "charts/episodic_return"
PAINT_S, POINT_S, GRID_FPS, DRAWN_FPS = 1.0, 1.0, 15.0, 30.0
MEMORY_MB, BUNDLE_KB, DAEMON_SHARE = 100.0, 200.0, 0.02
BUNDLE = Path(__file__).resolve().parent.parent / "src/mosaic/web/bundle"
DRAW = """
const [seconds, done] = arguments;
const canvas = document.querySelector('.chart canvas');
const box = canvas.getBoundingClientRect();
const start = performance.now();
let frames = 0;
function move() {
  frames++;
  const at = {clientX: box.left + 80 + (frames * 7) % (box.width - 100), clientY: box.top + 60, bubbles: true};
  canvas.dispatchEvent(new PointerEvent('pointermove', at));
  if (performance.now() - start < seconds * 1000) requestAnimationFrame(move);
  else done(frames * 1000 / (performance.now() - start));
}
requestAnimationFrame(move);
"""


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="mosaic-") as folder:
        os.environ["MOSAIC_HOME"] = folder
        home = Home(Path(folder))
        home.create()
        make_home(home, RUNS, 20)
        with Client(home=home) as client, served() as (server, link), chromium() as browser:
            daemon = psutil.Process(client.health().pid)
            try:
                lines = list(measured(client, daemon, server, link, browser))
            finally:
                client.shutdown()
    for what, value, target, is_good in lines:
        print(f"{what:58} {value:>16}   target {target:12} {'ok' if is_good else 'MISSED'}")
    return int(not all(is_good for *_, is_good in lines))


def measured(
    client: Client, daemon: psutil.Process, server: psutil.Process, link: str, browser: Chrome
) -> Iterator[tuple[str, str, str, bool]]:
    packed = sum(len(gzip.compress(file.read_bytes())) for file in BUNDLE.iterdir()) / 1000
    yield "bundle, packed", f"{packed:.0f} kB", f"≤ {BUNDLE_KB:.0f} kB", packed <= BUNDLE_KB

    page = link.partition("/enter")[0]
    browser.get(link)
    until(lambda: len(client.list(limit=RUNS)) == RUNS)
    mark = "return performance.getEntriesByName('runs')[0]?.startTime"
    paints: list[float] = []
    for _ in range(LOOKS):
        browser.get(f"{page}/?look={time.time()}")
        until(lambda: browser.execute_script("return document.querySelector('.table-view')?.dataset.total"))
        paints.append(until(lambda: browser.execute_script(mark)) / 1000)
    paint = float(np.median(paints))
    yield f"first rows of {RUNS:,} runs, median of {LOOKS}", f"{paint:.2f} s", f"≤ {PAINT_S} s", paint <= PAINT_S

    [run] = client.train("ppo", env_id="CartPole-v1", total_timesteps=10**9, settings={"num_envs": 8})
    until(lambda: client.get(run.run_id).global_step > 20_000)
    alone = cpu_share(daemon)
    browser.get(f"{page}/run/{run.run_id}")
    painted = "return Number(document.querySelector('.frames-part')?.dataset.painted ?? 0)"
    until(lambda: browser.execute_script(painted) > 3)
    before, began = browser.execute_script(painted), time.monotonic()
    watched = cpu_share(daemon)
    fps = (browser.execute_script(painted) - before) / (time.monotonic() - began)
    direct = frames_of(client, run.run_id)
    shown = f"{fps:.1f} frames/s (a client of gRPC beside it {direct:.1f})"
    yield "live grid of 8, over the one connection", shown, f"≥ {GRID_FPS:.0f}", fps >= GRID_FPS
    looked = float(np.percentile(latencies(client, run.run_id, browser), 95))
    yield "a point, from its record to the page, p95", f"{looked:.2f} s", f"≤ {POINT_S} s", looked <= POINT_S
    browser.get(f"{page}/?x=1")
    time.sleep(1)
    table = cpu_share(daemon)
    more = table - alone
    yield (
        "daemon's share of a core more while the table is open",
        f"{more:+.1%} (alone {alone:.1%}; run page with grid and curves {watched:.1%})",
        f"≤ {DAEMON_SHARE:.0%}",
        more <= DAEMON_SHARE,
    )
    client.cancel(run.run_id)
    client.wait(run.run_id)

    curve, x = BinnedCurve(), np.arange(float(POINTS))
    started = time.process_time()
    for piece in np.array_split(x, 10):
        curve.add(piece, np.sin(piece))
    taken = time.process_time() - started
    yield f"a curve of {POINTS:,} points taken in, CPU", f"{taken:.2f} s", "–", True
    seeds = client.train("ppo", env_id="CartPole-v1", total_timesteps=60_000, seeds=range(1, CURVES + 1))
    client.wait(*(one.run_id for one in seeds))
    words = "&".join(f"run={one.run_id}" for one in seeds)
    browser.get(f"{page}/compare?{words}")
    until(lambda: browser.execute_script("return document.querySelector('.charts')?.dataset.whole"))
    browser.set_script_timeout(60)
    drawn: float = browser.execute_async_script(DRAW, DRAWN_S)
    yield (
        f"{CURVES} curves under a moving cross hair",
        f"{drawn:.0f} frames/s",
        f"≥ {DRAWN_FPS:.0f}",
        drawn >= DRAWN_FPS,
    )
    memory = server.memory_info().rss / 1e6
    yield "memory of the process, after all of this", f"{memory:.0f} MB", f"≤ {MEMORY_MB:.0f} MB", memory <= MEMORY_MB


def latencies(client: Client, run_id: str, browser: Chrome) -> list[float]:
    """Of each point that came to the page meanwhile: the page says how many it had, and when."""
    seen: list[tuple[float, int]] = []
    end = time.monotonic() + WATCHED_S
    script = "return Number(document.querySelector('.charts')?.dataset.rows ?? 0)"
    while time.monotonic() < end:
        seen.append((time.time(), int(browser.execute_script(script))))
        time.sleep(0.02)
    times = client.metrics(run_id, tags=[RETURN])[RETURN].times
    found: list[float] = []
    for (_, before), (now, after) in pairwise(seen):
        found += [now - times[row] for row in range(before, min(after, len(times))) if before]
    return found


def frames_of(client: Client, run_id: str) -> float:
    """Without a page: what the worker and the daemon give."""
    stream, came = client.frames(run_id, mode="grid", fps=30), 0
    end = time.monotonic() + WATCHED_S
    for _ in stream:
        came += 1
        if time.monotonic() > end:
            break
    stream.close()
    return came / WATCHED_S


def cpu_share(process: psutil.Process) -> float:
    def used() -> float:
        times = process.cpu_times()
        return times.user + times.system

    before, began = used(), time.monotonic()
    time.sleep(WATCHED_S)
    return (used() - before) / (time.monotonic() - began)


if __name__ == "__main__":
    raise SystemExit(main())
