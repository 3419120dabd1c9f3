"""`python -m bench.home_scale`: how the daemon starts in a home of many runs, and in one with a very long run.

Makes the homes itself (`--keep FOLDER` keeps them for another look), starts a real daemon without an index, then again
with one, and prints when it answered, when its index was whole, and what that cost in CPU seconds and memory.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from bench.daemon import report, wait_for
from mosaic.rpc.client import Client
from mosaic.rpc.locate import running_address
from mosaic.rpc.trainer_pb2 import Health
from mosaic.spec import ulid
from mosaic.spec.run_dir import Home, RunDir
from mosaic.spec.run_record import Placed
from mosaic.spec.states import RunState

RUNS = 10_000
EVENTS = 120
LONG_EVENTS = 5_000_000
FIRST_MS = 1_760_000_000_000
TAGS = (
    "losses/value_loss",
    "losses/policy_loss",
    "losses/entropy",
    "losses/old_approx_kl",
    "losses/approx_kl",
    "losses/clipfrac",
    "losses/explained_variance",
    "charts/learning_rate",
    "charts/SPS",
)
LIMIT_S = 900.0


@dataclass(frozen=True)
class Start:
    """One start of a daemon, until its index is whole."""

    answer_s: float
    """To the first answer."""
    answer_cpu_s: float
    """Of the daemon until then: what is left where other programs want the processor too."""
    whole_s: float
    """Until the index was whole."""
    cpu_s: float
    """Of the daemon, until then."""
    rss_mib: float
    peak_mib: float
    slowest_list_s: float
    """Longest ListRuns meanwhile."""
    runs: int


def make_home(home: Home, runs: int, events: int) -> None:
    home.create()
    for number in range(runs):
        run_id = ulid.new((FIRST_MS + 60_000 * number) / 1000)
        write_run(home.run(run_id), number, lines(events, seed=number))


def make_long(home: Home, events: int) -> RunDir:
    home.create()
    run_dir = home.run(ulid.new(FIRST_MS / 1000))
    write_run(run_dir, 0, lines(events, seed=1))
    return run_dir


def write_run(run_dir: RunDir, number: int, events: Iterator[str]) -> None:
    run_dir.logs.mkdir(parents=True)
    placed = Placed(
        run_id=run_dir.run_id,
        state=RunState.FINISHED,
        label=f"run {number}",
        algo="ppo",
        env_id="CartPole-v1",
        seed=number,
        total_timesteps=100_000,
        client_key=f"key-{number}",
        submitted_at=FIRST_MS / 1000 + 60 * number,
        started_at=FIRST_MS / 1000 + 60 * number,
        ended_at=FIRST_MS / 1000 + 60 * number + 50,
        attempt=1,
        exit_code=0,
    )
    run_dir.record.write_text(json.dumps(vars(placed), indent=1))
    run_dir.config.write_text(json.dumps({"run_name": placed.label}))
    manifest = {"v": 1, "run_id": run_dir.run_id, "algo": "ppo", "env_id": "CartPole-v1", "label": placed.label}
    run_dir.manifest.write_text(json.dumps(manifest))
    run_dir.stdout.write_text("done\n")
    with run_dir.events.open("w") as file:
        file.writelines(f"{line}\n" for line in events)


def lines(count: int, *, seed: int) -> Iterator[str]:
    """Of a PPO run: its start, then scalars, episodes and heartbeats, then its end."""
    began = FIRST_MS / 1000 + 60 * seed
    start = {"algo": "ppo", "env_id": "CartPole-v1", "seed": seed, "total_timesteps": 100_000, "attempt": 1}
    yield _line(1, began, "run.started", {**start, "resumed_from_step": None, "host": "here"})
    for seq in range(2, count):
        step, at = 64 * seq, began + seq / 100
        value = (seq * 7919 + seed) % 1013 / 2
        if seq % 4 == 0:
            values = {tag: value / (place + 3) for place, tag in enumerate(TAGS)}
            yield _line(seq, at, "scalars", {"global_step": step, "values": values})
        elif seq % 10 == 1:
            yield _line(seq, at, "run.heartbeat", {"global_step": step, "steps_per_s": 5000.0})
        else:
            episode = {"slot": seq % 4, "episodic_return": value, "episodic_length": 100}
            yield _line(seq, at, "episode", {"global_step": step, **episode})
    yield _line(count, began + count / 100, "run.completed", {"global_step": 64 * count, "stopped": False})


def _line(seq: int, at: float, kind: str, body: dict[str, Any]) -> str:
    head = {"v": 1, "seq": seq, "time": round(at, 3), "kind": kind}
    return json.dumps(head | body, separators=(",", ":"))


def start(home: Home, profile: Path | None = None) -> Start:
    """Start a daemon, wait until its index is whole, and end it."""
    tool = [] if profile is None else ["-m", "cProfile", "-o", str(profile)]
    command = [sys.executable, *tool, "-m", "mosaic.trainer", "--no-warm", "--log-file", str(home.root / "daemon.log")]
    began = time.monotonic()
    with subprocess.Popen(command, env={**os.environ, "MOSAIC_HOME": str(home.root)}) as process:
        daemon = psutil.Process(process.pid)
        try:
            wait_for(lambda: running_address(home), LIMIT_S)
            with Client(home=home, start=False) as client:
                health = client.health()
                answer_s, answer_cpu_s = time.monotonic() - began, sum(daemon.cpu_times()[:2])
                slowest = 0.0
                while not _is_whole(health):
                    before = time.monotonic()
                    client.page(size=100)
                    slowest = max(slowest, time.monotonic() - before)
                    time.sleep(0.5)
                    health = client.health()
                cpu_s = sum(daemon.cpu_times()[:2])
                client.list()  # every record, as a window asks for them
                return Start(
                    answer_s=answer_s,
                    answer_cpu_s=answer_cpu_s,
                    whole_s=time.monotonic() - began,
                    cpu_s=cpu_s,
                    rss_mib=daemon.memory_info().rss / 2**20,
                    peak_mib=_peak_mib(process.pid),
                    slowest_list_s=slowest,
                    runs=sum(health.runs.values()),
                )
        finally:
            process.terminate()


def _is_whole(health: Health) -> bool:
    return health.indexed == health.index_total


def _peak_mib(pid: int) -> float:
    lines_of = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines_of if line.startswith("VmHWM")) / 1024


def show(name: str, found: Start, *, cpu: str = "") -> None:
    report(f"{name}: first answer", found.answer_s, "s", "≤ 1")
    report(f"{name}: CPU until the first answer", found.answer_cpu_s, "s", "")
    report(f"{name}: index whole, {found.runs:,} runs", found.whole_s, "s", "")
    report(f"{name}: CPU until then", found.cpu_s, "s", cpu)
    report(f"{name}: slowest ListRuns meanwhile", found.slowest_list_s, "s", "")
    report(f"{name}: memory then (peak {found.peak_mib:.0f})", found.rss_mib, "MiB", "≤ 250")


def many(root: Path, runs: int, profile: Path | None) -> None:
    home = Home(root / "many")
    if not home.runs.exists():
        make_home(home, runs, EVENTS)
    _forget_index(home)
    show("no index", start(home, profile), cpu="≤ 25")
    show("with its index", start(home), cpu="≤ 2")


def long(root: Path, events: int) -> None:
    home = Home(root / "long")
    if not home.runs.exists():
        make_long(home, events)
    _forget_index(home)
    show(f"one run of {events:,} events, no index", start(home))
    show("the same again", start(home), cpu="≤ 2")


def _forget_index(home: Home) -> None:
    for suffix in ("", "-wal", "-shm"):
        home.index.with_name(home.index.name + suffix).unlink(missing_ok=True)
    subprocess.run(["rm", "-rf", str(home.metrics)], check=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.home_scale", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, help="runs of the home; 0 leaves this part out")
    parser.add_argument("--events", type=int, default=LONG_EVENTS, help="of the long run; 0 leaves this part out")
    parser.add_argument("--keep", type=Path, help="make the homes here, and use them if they are there")
    parser.add_argument("--profile", type=Path, help="write cProfile's numbers of the first start here")
    flags = parser.parse_args()
    print(f"load of this machine, last minute: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory(prefix="mosaic-bench-") as folder:
        root = flags.keep or Path(folder)
        if flags.runs:
            many(root, flags.runs, flags.profile)
        if flags.events:
            long(root, flags.events)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
