"""`python -m bench.other_machine --engine ssh`: a run there beside one here, with the daemon of this home.

Seconds from submit to the first step, live frames a second, and what frames cost the learner, each alternated.
"""

import argparse
import contextlib
import statistics
import threading
import time
from typing import Any

from mosaic.rpc.client import Client

LONG = 500_000_000
WATCH_S = 6.0
ROUNDS = 4


def document(engine: str) -> dict[str, Any]:
    worker = {
        "algo": "ppo",
        "env_id": "CartPole-v1",
        "total_timesteps": LONG,
        "extras": {"algo_params": {"num_envs": 4}},
    }
    return {
        "run_name": f"bench, {engine}",
        "environment": {"env_id": "CartPole-v1"},
        "artifacts": {"tensorboard": {"enabled": False}},
        "resources": {"engine": engine},
        "metadata": {"worker": {"config": worker}},
    }


def begin(client: Client, engine: str) -> tuple[str, float]:
    """A run that goes on, and the seconds until its first steps were heard of."""
    at = time.monotonic()
    [run] = client.submit(document(engine))
    while client.get(run.run_id).global_step == 0:
        time.sleep(0.02)
    return run.run_id, time.monotonic() - at


def frames_per_s(client: Client, run_id: str, **wishes: float) -> float:
    with contextlib.closing(client.frames(run_id, **wishes)) as frames:  # type: ignore[arg-type]
        next(frames)
        began, count = time.monotonic(), 0
        while time.monotonic() - began < WATCH_S:
            next(frames)
            count += 1
    return count / (time.monotonic() - began)


def steps_per_s(client: Client, run_id: str) -> float:
    before, at = client.get(run_id).global_step, time.monotonic()
    time.sleep(WATCH_S)
    return (client.get(run_id).global_step - before) / (time.monotonic() - at)


def watched_share(client: Client, run_id: str) -> float:
    """Speed with a viewer of 15 frames a second, against that without."""
    alone, over = steps_per_s(client, run_id), threading.Event()
    with contextlib.closing(client.frames(run_id, fps=15)) as frames:
        viewer = threading.Thread(target=lambda: [next(frames) for _ in iter(over.is_set, True)])
        viewer.start()
        watched = steps_per_s(client, run_id)
        over.set()
        viewer.join()
    return watched / alone


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--engine", default="ssh")
    flags = parser.parse_args()
    engines = ("local", flags.engine)
    client, runs = Client(), dict[str, str]()
    try:
        for _ in range(3):
            for engine in engines:
                if engine in runs:
                    client.cancel(runs[engine])
                runs[engine], took = begin(client, engine)
                print(f"{engine}: {took:.1f} s from submit to the first steps", flush=True)
        for budget in (0.05, 0.2):
            found = {engine: [] for engine in engines}
            for _ in range(ROUNDS):
                for engine in engines:
                    found[engine].append(frames_per_s(client, runs[engine], fps=30, budget=budget))
            told = ", ".join(f"{engine} {statistics.median(rates):.1f}" for engine, rates in found.items())
            print(f"live frames a second with a budget of {budget:g}: {told}", flush=True)
        shares = [watched_share(client, runs[flags.engine]) for _ in range(ROUNDS)]
        print(f"speed while 15 frames a second are watched: {statistics.median(shares):.2f} of that without a viewer")
    finally:
        for run_id in runs.values():
            client.cancel(run_id)


if __name__ == "__main__":
    main()
