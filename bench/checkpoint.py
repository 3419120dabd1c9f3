"""`python -m bench.checkpoint`: what digests add to the time of a checkpoint, and how fast each hash is here.

Checkpoints are written by the worker's own writer, from the copy in memory to the synced name, with digests and without
in turn, so that whatever else the machine does meets both: the state of a real PPO run, a replay buffer of vectors in
one file, and one of pictures in pages of which a few have changed. It wants a machine with a core to spare.

A small checkpoint takes milliseconds, of which the disk's own times differ by more than a digest takes. So the time
within the digests is measured as well; the smaller of the two counts (of a large file the digest is computed beside the
writing, and its time within is not waited for).
"""

import argparse
import contextlib
import hashlib
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Generator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import xxhash

from cleanrl_worker.sdk.checkpoints import checkpoint
from cleanrl_worker.sdk.checkpoints.checkpoint import BackgroundWriter, Header
from cleanrl_worker.sdk.checkpoints.paged_array import PagedArray
from cleanrl_worker.sdk.replay import ReplayBuffer
from mosaic.spec.files import digests
from mosaic.spec.run_dir import Home, RunDir, new_run_id
from mosaic.spec.run_list import all_runs

TARGET = 1.02
SPACE = gym.spaces.Box(-1, 1, (376,), np.float32)


def main() -> int:
    words = argparse.ArgumentParser(prog="python -m bench.checkpoint", description=__doc__.partition("\n")[0])
    words.add_argument("--pairs", type=int, default=15, help="checkpoints with and without digests (default 15)")
    words.add_argument("--folder", type=Path, help="where to write (default: a temporary folder)")
    flags = words.parse_args()
    print(f"hashes of 64 MiB in memory, MiB/s: {_hash_rates()}")
    worst = 0.0
    with tempfile.TemporaryDirectory(dir=flags.folder) as folder:
        for name, state, change in (_ppo(Path(folder)), _vectors(), _pictures()):
            run_dir = RunDir(Path(folder) / new_run_id())
            run_dir.create()
            withs, withouts, within_s = _compare(run_dir, state, change, flags.pairs)
            low, middle, high = _ratio(withs, withouts)
            share = within_s / statistics.median(withouts)
            worst = max(worst, min(middle, 1 + share))
            took_ms = [1000 * statistics.median(each) for each in (withs, withouts)]
            print(
                f"{name}: {took_ms[0]:.1f} ms with digests, {took_ms[1]:.1f} ms without;"
                f" ratio of neighbours {middle:.3f} (quartiles {low:.3f} to {high:.3f}, n={len(withs)});"
                f" within digests {1000 * within_s:.3f} ms, {share:.1%}"
            )
    return 0 if worst <= TARGET else 1


def _hash_rates() -> str:
    data = os.urandom(64 * 2**20)
    hashes: dict[str, Callable[[bytes], Any]] = {
        "xxh3_128": xxhash.xxh3_128,
        "sha256": hashlib.sha256,
        "blake2b": hashlib.blake2b,
        "sha1": hashlib.sha1,
        "md5": hashlib.md5,
        "crc32": zlib.crc32,
    }
    rates = {name: 64 / min(_seconds(partial(one, data)) for _ in range(3)) for name, one in hashes.items()}
    return ", ".join(f"{name} {rate:,.0f}" for name, rate in rates.items())


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _ratio(ones: Sequence[float], others: Sequence[float]) -> list[float]:
    """Quartiles of the ratios of neighbours."""
    return statistics.quantiles([one / other for one, other in zip(ones, others, strict=True)], n=4)


def _ppo(folder: Path) -> tuple[str, Any, Callable[[], None]]:
    """What a run of 8 environments saved."""
    command = [sys.executable, "-m", "cleanrl_worker.cli", "--algo", "ppo", "--num-envs", "8", "--quiet"]
    variables = {**os.environ, "MOSAIC_HOME": str(folder / "home")}
    subprocess.run([*command, "--total-timesteps", "16384"], env=variables, check=True, stdout=subprocess.DEVNULL)
    [run_dir] = all_runs(Home(folder / "home"))
    latest = checkpoint.latest(run_dir)
    assert latest is not None
    size = sum(file.stat().st_size for file in latest.iterdir())
    return f"ppo, {size / 1000:.0f} kB", checkpoint.load(latest, algo="ppo")[1], lambda: None


def _vectors() -> tuple[str, Any, Callable[[], None]]:
    buffer = ReplayBuffer(100_000, 1, SPACE, gym.spaces.Discrete(4))
    generator = np.random.default_rng(1)
    for _ in range(100_000):
        row = generator.random(376, np.float32)
        buffer.add(row[None], row[None], np.zeros(1), np.zeros(1), np.zeros(1))
    size = sum(value.nbytes for value in buffer.state().values() if isinstance(value, np.ndarray))
    return f"a replay buffer of vectors, {size / 1e6:.0f} MB", {"replay": buffer.state()}, lambda: None


def _pictures() -> tuple[str, Any, Callable[[], None]]:
    """50,000 frames of Atari; 2,500 are new at each checkpoint."""
    frames = PagedArray((50_000, 84 * 84), np.uint8)
    generator = np.random.default_rng(1)
    for row in range(50_000):
        frames.write(row, generator.integers(0, 255, 84 * 84, np.uint8))

    def change() -> None:
        for row in range(2_500):
            frames.write(row, np.roll(frames.array[row], 1))

    return (
        f"a replay buffer of pictures, {frames.array.nbytes / 1e6:.0f} MB, a twentieth new",
        {"frames": frames},
        change,
    )


def _compare(
    run_dir: RunDir, state: Any, change: Callable[[], None], pairs: int
) -> tuple[list[float], list[float], float]:
    """Seconds with digests and without, and how many of them pass within digests."""
    writer = BackgroundWriter(run_dir)
    steps = itertools.count(1)

    def once() -> float:
        step = next(steps)
        change()
        header = Header(algo="bench", args={}, global_step=step, mean_return=None)

        def save() -> None:
            writer.start(header, state, ready=lambda: None, done=lambda _: None)
            writer.wait()

        wall_s = _seconds(save)
        assert writer.error is None, writer.error
        checkpoint.remove(run_dir, [one for one in checkpoint.list_steps(run_dir) if one < step])
        return wall_s

    once()
    withs: list[float] = []
    withouts: list[float] = []
    within: list[float] = []
    for pair in range(pairs):
        # Each goes first every other time.
        for digested in (True, False) if pair % 2 else (False, True):
            with contextlib.nullcontext() if digested else _no_digests():
                (withs if digested else withouts).append(once())
        with _timed_digests() as spent:
            once()
        within.append(sum(spent))
    return withs, withouts, statistics.median(within)


@contextlib.contextmanager
def _timed_digests() -> Generator[list[float]]:
    """Seconds of each call of what makes digests."""
    add, seal = digests.Tally.add, digests.seal
    spent: list[float] = []

    def timed(work: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            began = time.perf_counter()
            try:
                return work(*arguments)
            finally:
                spent.append(time.perf_counter() - began)

        return call

    digests.Tally.add, digests.seal = timed(add), timed(seal)
    try:
        yield spent
    finally:
        digests.Tally.add, digests.seal = add, seal


@contextlib.contextmanager
def _no_digests() -> Generator[None]:
    add, seal = digests.Tally.add, digests.seal
    digests.Tally.add = lambda *_: None
    digests.seal = lambda text, *_: text
    try:
        yield
    finally:
        digests.Tally.add, digests.seal = add, seal


if __name__ == "__main__":
    raise SystemExit(main())
