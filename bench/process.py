"""Each measurement in a process of its own: one thread, an empty home that is deleted afterwards."""

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench import ours
from bench.settings import args_of, spec_of
from mosaic.spec.events import Episode, decode
from mosaic.spec.files.spool_reader import LineReader
from mosaic.spec.run_dir import Home, RunDir

ROOT = Path(__file__).resolve().parent.parent


class Workshop(ExitStack):
    """A folder, temporary if none is given, and commands run in it, from the sources at `root`."""

    def __init__(self, folder: Path | None = None, *, root: Path = ROOT) -> None:
        super().__init__()
        self.root = root
        self.folder = folder or Path(self.enter_context(tempfile.TemporaryDirectory(prefix="mosaic-bench-")))
        self.folder.mkdir(parents=True, exist_ok=True)
        self.result = self.folder / "result.json"
        self.home = Home(self.folder / "home")

    @property
    def places(self) -> dict[str, str]:
        """Variables that name this home and these sources, also where another tree is installed."""
        # What an earlier tree needs besides may lie on the path that was given.
        path = (str(self.root), str(self.root / "src"), os.environ.get("PYTHONPATH", ""))
        return {"MOSAIC_HOME": str(self.home.root), "PYTHONPATH": os.pathsep.join(filter(None, path))}

    def run(self, words: list[str]) -> dict[str, float]:
        """Wall and processor time of a whole command, from its start to its exit."""
        threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        environment = os.environ | threads | self.places
        start, cpu_start = time.perf_counter(), _children_cpu_s()
        done = subprocess.run(
            [sys.executable, "-m", *words],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        seconds, cpu_s = time.perf_counter() - start, _children_cpu_s() - cpu_start
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(words)}\nended with {done.returncode}:\n{done.stderr[-3000:]}")
        return {"wall_s": seconds, "cpu_s": cpu_s}

    def measured(self) -> dict[str, Any]:
        return json.loads(self.result.read_text())

    def episodes(self) -> dict[str, list[float] | list[int]]:
        """Of the one run in this home, in order: their returns, and the steps at which they ended."""
        (run_dir,) = self.home.runs.iterdir()
        bodies = [decode(line).body for line in LineReader(RunDir(run_dir).events).new_lines()]
        found = [body for body in bodies if isinstance(body, Episode)]
        return {"returns": [float(body.episodic_return) for body in found], "ends": [b.global_step for b in found]}


def end_cleanly() -> None:
    """A SIGTERM raises, so that the child is ended and its folder deleted."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def _children_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def our_words(algo: str, settings: Mapping[str, Any], options: Mapping[str, Any], *, cuda: bool = False) -> list[str]:
    return ["--algo", algo, "--cuda" if cuda else "--no-cuda", *ours.flags(settings), *ours.flags(options)]


def our_loop(algo: str, settings: Mapping[str, Any], options: Mapping[str, Any], warmup_steps: int) -> dict[str, Any]:
    with Workshop() as shop:
        shop.run(["bench.ours", str(shop.result), str(warmup_steps), *our_words(algo, settings, options)])
        return shop.measured() | shop.episodes()


def our_long_run(algo: str, settings: Mapping[str, Any], folder: Path, *, cuda: bool) -> dict[str, Any]:
    """The episodes of a run that lives in `folder` until it is complete; one that was interrupted is resumed."""
    with Workshop(folder) as shop:
        begun = sorted(shop.home.runs.glob("*/config.json"))
        words = ["--resume", str(begun[0].parent)] if begun else our_words(algo, settings, {}, cuda=cuda)
        shop.run(["cleanrl_worker.cli", "--quiet", *words])
        return shop.episodes()


def our_command(algo: str, settings: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, float]:
    with Workshop() as shop:
        return shop.run(["cleanrl_worker.cli", *our_words(algo, settings, options)])


def sb3_loop(algo: str, settings: Mapping[str, Any], warmup_steps: int) -> dict[str, Any]:
    with Workshop() as shop:
        words = [str(shop.result), str(warmup_steps), json.dumps(spec_of(algo, dict(settings)))]
        shop.run(["bench.sb3", *words])
        return shop.measured()


def plain_loop(algo: str, settings: Mapping[str, Any], warmup_steps: int) -> dict[str, Any]:
    with Workshop() as shop:
        spec = json.dumps(asdict(args_of(algo, dict(settings))))
        shop.run([f"bench.plain_{algo}", str(shop.result), str(warmup_steps), spec])
        return shop.measured()


def sb3_command(algo: str, settings: Mapping[str, Any]) -> dict[str, float]:
    with Workshop() as shop:
        words = [str(shop.result), "0", json.dumps(spec_of(algo, dict(settings))), str(shop.folder / "model.zip")]
        return shop.run(["bench.sb3", *words])
