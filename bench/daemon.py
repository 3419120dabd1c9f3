"""`python -m bench.daemon`: start latency, memory, ingest, queries and isolation of the trainer daemon.

Every number is printed with its target; `--part NAME` measures one part. The isolation compares wall-clock speed: it
needs a machine on which nothing else runs.
"""

import argparse
import contextlib
import fcntl
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from mosaic.rpc.client import Client
from mosaic.rpc.locate import running_address
from mosaic.spec import run_record
from mosaic.spec.processes import process_identity
from mosaic.spec.run_dir import Home, RunDir, new_run_id
from mosaic.spec.run_record import Placed
from mosaic.spec.states import TERMINAL, RunState

STARTS = 7
INGEST_EVENTS = 100_000
VALUES = 10
LISTED = 1000
POINTS = 1_000_000
STORM_EVENTS_PER_S = 10_000
TURNS = 2
LAST_STEP = 9_000_000
STRETCHES = {"storm and 20 slow watchers": (500_000, 2_500_000), "daemon stopped": (3_000_000, 8_500_000)}
"""Steps over which speeds are compared; the second takes a minute at 90,000 steps a second."""
HEARTBEAT = "run.heartbeat"


def document(steps: int, seed: int = 1) -> dict[str, Any]:
    worker = {"algo": "ppo", "env_id": "CartPole-v1", "total_timesteps": steps, "seed": seed, "extras": {}}
    return {
        "environment": {"env_id": "CartPole-v1"},
        "artifacts": {"tensorboard": {"enabled": True}},
        "metadata": {"worker": {"config": worker}},
    }


@contextlib.contextmanager
def daemon(home: Home, *flags: str) -> Iterator[tuple[Client, int]]:
    """A daemon of a home, and its pid."""
    home.create()
    command = [sys.executable, "-m", "mosaic.trainer", "--log-file", str(home.root / "daemon.log"), *flags]
    process = subprocess.Popen(command, env={**os.environ, "MOSAIC_HOME": str(home.root)})
    try:
        wait_for(lambda: running_address(home))
        with Client(home=home, start=False) as client:
            client.algorithms()
            yield client, process.pid
    finally:
        process.send_signal(signal.SIGCONT)
        process.terminate()
        process.wait()


def wait_for(look: Callable[[], Any], timeout_s: float = 120.0) -> Any:
    deadline = time.monotonic() + timeout_s
    while not (found := look()):
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.01)
    return found


def read_events(run_dir: RunDir) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run_dir.events.read_bytes().splitlines()]


def report(what: str, value: float, unit: str, target: str) -> None:
    print(f"{what:58} {value:>12,.3f} {unit:14} target {target}")


def p95(samples: list[float]) -> float:
    return sorted(samples)[int(0.95 * (len(samples) - 1))]


def starts(root: Path) -> None:
    """From SubmitRun to the first episode's end, which comes after the first step."""
    medians: dict[str, float] = {}
    for name, flags in (("warm", ()), ("cold", ("--no-warm",))):
        home = Home(root / name)
        with daemon(home, *flags) as (client, _):
            if name == "warm":
                wait_for(lambda client=client: client.health().warm_workers)
            waits: list[float] = []
            for seed in range(STARTS):
                began = time.time()
                run = client.submit(document(4096, seed))[0]
                wait_for(lambda client=client, run=run: client.get(run.run_id).state in TERMINAL)
                first = next(event for event in read_events(home.run(run.run_id)) if event["kind"] == "episode")
                waits.append(first["time"] - began)
            medians[name] = statistics.median(waits)
            report(f"{name} start, submit to first episode, p50 of {STARTS}", medians[name], "s", "warm ≤ 0.7")
            if name == "warm":
                memory(client)
    report("cold / warm", medians["cold"] / medians["warm"], "×", "≥ 10")


def memory(client: Client) -> None:
    run = client.submit(document(1_000_000_000))[0]
    pid = wait_for(lambda: (r := client.get(run.run_id)).state == RunState.RUNNING and r.pid)
    time.sleep(3)
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    kib = next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    report("memory of a CartPole run (PSS)", kib / 1024, "MiB", "≤ 400")
    client.cancel(run.run_id)
    wait_for(lambda: client.get(run.run_id).state in TERMINAL)


def ingest(root: Path) -> None:
    """A spool that grows by a million points at once, with watchers who read it and callers who ask."""
    home = Home(root / "ingest")
    home.create()
    run_dir = home.run(new_run_id())
    run_dir.create()
    process_identity.write_self(run_dir.worker, attempt=1)
    placed = Placed(run_id=run_dir.run_id, state=RunState.RUNNING, pid=os.getpid(), attempt=1, algo="ppo")
    run_record.write(run_dir, placed)
    values = {f"losses/value_{number}": 1.234567 for number in range(VALUES)}
    body = json.dumps(values, separators=(",", ":"))
    start = {"algo": "ppo", "env_id": "", "seed": 1, "total_timesteps": 1, "attempt": 1, "resumed_from_step": None}
    head = json.dumps({"v": 1, "seq": 1, "time": 1.0, "kind": "run.started", **start}, separators=(",", ":"))
    lines = [
        f'{{"v":1,"seq":{seq},"time":{seq}.5,"kind":"scalars","global_step":{seq},"values":{body}}}'
        for seq in range(2, INGEST_EVENTS + 2)
    ]
    with run_dir.life_lock.open("w") as lock, daemon(home, "--no-warm") as (client, _):
        fcntl.flock(lock, fcntl.LOCK_EX)
        run_dir.events.write_text(head + "\n")
        watchers = [threading.Thread(target=lambda: watch(home, run_dir.run_id), daemon=True) for _ in range(5)]
        for watcher in watchers:
            watcher.start()
        asked: list[float] = []
        began = time.monotonic()
        with run_dir.events.open("a") as file:
            file.write("\n".join(lines) + "\n")
        while client.get(run_dir.run_id).last_seq < INGEST_EVENTS + 1:
            before = time.monotonic()
            client.tags(run_dir.run_id)
            asked.append(time.monotonic() - before)
            time.sleep(0.02)
        took = time.monotonic() - began
        total = client.metrics(run_dir.run_id, tags=["losses/value_0"], points=10)["losses/value_0"].total
        assert total == INGEST_EVENTS
        report("ingest, with 5 watchers", INGEST_EVENTS * VALUES / took, "points/s", "≥ 50,000")
        report("ListTags while it ingests, p95", p95(asked) * 1e3, "ms", "")


def watch(home: Home, run_id: str) -> None:
    with contextlib.suppress(Exception), Client(home=home, start=False) as client:
        for _ in client.watch_events(run_id):
            pass


def queries(root: Path) -> None:
    home = Home(root / "queries")
    home.create()
    for number in range(LISTED):
        run_dir = home.run(new_run_id())
        run_dir.create()
        placed = Placed(run_id=run_dir.run_id, state=RunState.FINISHED, label=f"run {number}", algo="ppo", attempt=1)
        run_dir.record.write_text(json.dumps(vars(placed)))
    lines = [
        f'{{"v":1,"seq":{seq},"time":1.5,"kind":"scalars","global_step":{seq},"values":{{"x":{seq * 7919 % 1013}.5}}}}'
        for seq in range(1, POINTS + 1)
    ]
    run_dir.events.write_text("\n".join(lines) + "\n")
    with daemon(home, "--no-warm") as (client, pid):
        for size in (100, LISTED):
            times = [timed(lambda size=size: client.list(limit=size)) for _ in range(40)]
            report(f"ListRuns, {size} of {LISTED} runs, p95", p95(times) * 1e3, "ms", "≤ 50")
        client.metrics(run_dir.run_id, points=2000)
        times = [timed(lambda: client.metrics(run_dir.run_id, tags=["x"], points=2000)) for _ in range(40)]
        report(f"GetMetrics, {POINTS:,} points to 2,000, p95", p95(times) * 1e3, "ms", "≤ 150")
        report("memory of the daemon (RSS)", psutil.Process(pid).memory_info().rss / 2**20, "MiB", "")


def timed(call: Callable[[], Any]) -> float:
    before = time.monotonic()
    call()
    return time.monotonic() - before


def isolation(root: Path) -> None:
    """The same training without a daemon, and under one with a storm of events and 20 watchers that do not read.

    Later the daemon and the watchers are stopped for a minute. The seed is the same, so equal steps are equal work.
    """
    ratios: dict[str, list[float]] = {name: [] for name in STRETCHES}
    for turn in range(TURNS):
        alone = seconds_for_stretches(_train_alone(root / f"alone-{turn}"))
        with_daemon = seconds_for_stretches(_train_hindered(root / f"hindered-{turn}"))
        for name in STRETCHES:
            ratios[name].append(100 * alone[name] / with_daemon[name])
    for name, found in ratios.items():
        each = ", ".join(f"{ratio:.1f}" for ratio in found)
        report(f"steps/s, {name} ({each})", statistics.median(found), "% of alone", "≥ 95")


def seconds_for_stretches(run_dir: RunDir) -> dict[str, float]:
    """How long each stretch of steps took, from the heartbeats."""
    beats = [(event["global_step"], event["time"]) for event in read_events(run_dir) if event["kind"] == HEARTBEAT]
    steps, times = zip(*beats, strict=True)
    return {
        name: float(np.interp(last, steps, times) - np.interp(first, steps, times))
        for name, (first, last) in STRETCHES.items()
    }


def _train_alone(folder: Path) -> RunDir:
    run_dir = Home(folder).run(new_run_id())
    command = [sys.executable, "-m", "cleanrl_worker.cli", "--algo", "ppo", "--env-id", "CartPole-v1", "--quiet"]
    flags = ["--no-cuda", "--total-timesteps", str(LAST_STEP), "--run-dir", str(run_dir.root)]
    subprocess.run([*command, *flags], check=True, stdout=subprocess.DEVNULL, start_new_session=True)
    return run_dir


def _train_hindered(folder: Path) -> RunDir:
    home = Home(folder)
    storm = Storm(home)
    with storm, daemon(home, "--no-warm") as (client, pid):
        run = client.submit(document(LAST_STEP))[0]
        run_dir = home.run(run.run_id)
        wait_for(run_dir.events.exists)
        with slow_watchers(home, run.run_id, storm.run_dir.run_id) as watchers:
            wait_for(lambda: _step_of(run_dir) >= STRETCHES["daemon stopped"][0], timeout_s=600)
            for stopped in (pid, watchers):
                os.kill(stopped, signal.SIGSTOP)
            began = time.monotonic()
            wait_for(lambda: _step_of(run_dir) >= STRETCHES["daemon stopped"][1], timeout_s=600)
            print(
                f"stopped for {time.monotonic() - began:.0f} s, {storm.events:,} events at {storm.rate:,.0f} a second"
            )
            for stopped in (watchers, pid):
                os.kill(stopped, signal.SIGCONT)
        wait_for(lambda: client.get(run.run_id).state in TERMINAL)
    return run_dir


def _step_of(run_dir: RunDir) -> int:
    """Of the newest event near the end of the spool."""
    with run_dir.events.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - 16_384))
        lines = file.read().splitlines()[1:-1]
    return max((json.loads(line).get("global_step", 0) for line in lines), default=0)


class Storm:
    """Another run whose spool grows by ten thousand events a second."""

    def __init__(self, home: Home) -> None:
        home.create()
        self.run_dir = home.run(new_run_id())
        self.events = 0
        self.rate = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)

    def __enter__(self) -> "Storm":
        self.run_dir.create()
        process_identity.write_self(self.run_dir.worker, attempt=1)
        placed = Placed(run_id=self.run_dir.run_id, state=RunState.RUNNING, pid=os.getpid(), attempt=1, algo="ppo")
        run_record.write(self.run_dir, placed)
        self._lock = self.run_dir.life_lock.open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._lock.close()

    def _write(self) -> None:
        began = time.monotonic()
        with self.run_dir.events.open("a") as file:
            while not self._over.wait(0.01):
                due = int((time.monotonic() - began) * STORM_EVENTS_PER_S)
                file.writelines(
                    f'{{"v":1,"seq":{seq},"time":1.5,"kind":"scalars","global_step":{seq},"values":{{"x":1.5}}}}\n'
                    for seq in range(self.events + 1, due + 1)
                )
                file.flush()
                self.events = due
        self.rate = self.events / (time.monotonic() - began)


@contextlib.contextmanager
def slow_watchers(home: Home, *run_ids: str) -> Iterator[int]:
    """The pid of a process with 20 streams of which it reads one message each."""
    code = (
        "import sys, time\n"
        "from mosaic.rpc import trainer_pb2 as pb\n"
        "from mosaic.rpc.channel import open_channel\n"
        "from mosaic.rpc.trainer_methods import TrainerStub\n"
        "stub = TrainerStub(open_channel(sys.argv[1]))\n"
        "streams = [stub.WatchEvents(pb.WatchEventsRequest(run_id=run)) for run in sys.argv[2:] for _ in range(10)]\n"
        "[next(stream) for stream in streams]\n"
        "print('ready', flush=True)\n"
        "time.sleep(3600)\n"
    )
    command = [sys.executable, "-c", code, f"unix:{home.socket}", *run_ids]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield process.pid
        finally:
            process.kill()


PARTS: dict[str, Callable[[Path], None]] = {
    "starts": starts,
    "ingest": ingest,
    "queries": queries,
    "isolation": isolation,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.daemon", description=__doc__)
    parser.add_argument("--part", choices=PARTS, action="append")
    chosen = parser.parse_args().part or list(PARTS)
    print(f"load of this machine, last minute: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory(prefix="mosaic-bench-") as folder:
        for name in chosen:
            PARTS[name](Path(folder))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
