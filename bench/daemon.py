"""`python -m bench.daemon`: start latency, memory, ingest, queries and isolation of the trainer daemon.

Every number is printed with its target. The isolation is in steps for each second of CPU time that the worker got, so
that other programs on the machine matter little; `--part NAME` measures one part.
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

import psutil

from mosaic.rpc import trainer_pb2 as pb
from mosaic.rpc.channel import open_channel
from mosaic.rpc.client import Client
from mosaic.rpc.locate import running_address
from mosaic.rpc.trainer_pb2_grpc import TrainerStub
from mosaic.spec import identity, run_record
from mosaic.spec.run_dir import Home, new_run_id
from mosaic.spec.run_record import Placed
from mosaic.spec.states import TERMINAL, RunState

STARTS = 7
INGEST_EVENTS = 100_000
VALUES = 10
LISTED = 1000
POINTS = 1_000_000
WINDOW_S = 6.0
WINDOWS = 4


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


def events_of(home: Home, run_id: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in home.run(run_id).events.read_bytes().splitlines()]


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
                first = next(event for event in events_of(home, run.run_id) if event["kind"] == "episode")
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
    identity.write_self(run_dir.worker, attempt=1)
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
    """Windows in alternation: the daemon at work with nobody watching; stopped, with 20 watchers that do not read."""
    home = Home(root / "isolation")
    with daemon(home, "--no-warm") as (client, pid):
        run = client.submit(document(1_000_000_000))[0]
        worker = wait_for(lambda: (r := client.get(run.run_id)).state == RunState.RUNNING and r.pid)
        time.sleep(2)
        rates: dict[str, list[float]] = {"alone": [], "hindered": []}
        for _ in range(WINDOWS):
            rates["alone"].append(steps_per_cpu_s(home, run.run_id, worker))
            with open_channel(f"unix:{home.socket}") as channel:
                stub: Any = TrainerStub(channel)
                streams = [stub.WatchEvents(pb.WatchEventsRequest(run_id=run.run_id)) for _ in range(20)]
                for stream in streams:
                    next(stream)
                os.kill(pid, signal.SIGSTOP)
                rates["hindered"].append(steps_per_cpu_s(home, run.run_id, worker))
                os.kill(pid, signal.SIGCONT)
                for stream in streams:
                    stream.cancel()
        alone, hindered = (statistics.median(rates[name]) for name in ("alone", "hindered"))
        report("steps a CPU second, daemon at work", alone, "steps/s", "")
        report("the same, daemon stopped, 20 watchers that do not read", 100 * hindered / alone, "%", "95 … 105")
        client.cancel(run.run_id)
        wait_for(lambda: client.get(run.run_id).state in TERMINAL)


def steps_per_cpu_s(home: Home, run_id: str, worker: int) -> float:
    def now() -> tuple[int, float]:
        step = next(event["global_step"] for event in reversed(events_of(home, run_id)) if "global_step" in event)
        times = psutil.Process(worker).cpu_times()
        return step, times.user + times.system

    first = now()
    time.sleep(WINDOW_S)
    last = now()
    return (last[0] - first[0]) / (last[1] - first[1])


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
