"""Presets: train with each and write what it scored into its file (`python -m bench.presets ppo CartPole-v1`).

A training for each seed, one at a time, in a process with one thread that is forked from one which has imported
everything; what `mosaic train ALGO --env-id ENV --preset NAME --seeds 1-5` trains, bit for bit. A training counts with
the mean return of its last episodes, as in `mosaic stats --last N`. `--defaults` measures the algorithm's default
settings too, with the same seeds and steps. Seeds that were trained before, with the same settings, are files in
var/bench/presets and are not repeated.
"""

import argparse
import hashlib
import importlib
import json
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench import page
from bench.process import Workshop, end_cleanly
from mosaic import __version__, config
from mosaic.spec.environment_settings import spoken
from mosaic.spec.presets import preset_files
from mosaic.spec.presets.preset import Measured, Preset
from mosaic.spec.run_config import (
    Artifacts,
    Metadata,
    Toggle,
    TrainExtras,
    TrainRunConfig,
    Worker,
    WorkerConfig,
)
from mosaic.spec.seed_list import parse_seeds

KEPT = Path(__file__).resolve().parent.parent / "var" / "bench" / "presets"
CONTEXT = multiprocessing.get_context("forkserver")
PAGE = Path(__file__).resolve().parent.parent / "docs" / "presets.md"
LAST = 100


def document_of(preset: Preset, settings: Mapping[str, Any], steps: int, seed: int) -> TrainRunConfig:
    params = {"cuda": False, **settings}
    params.pop("total_timesteps", None)
    # Neither changes the curve.
    extras = TrainExtras(algo_params=params, checkpoint_interval_s=0.0, save_model=False)
    worker = WorkerConfig(algo=preset.algo, env_id=preset.env_id, total_timesteps=steps, seed=seed, extras=extras)
    return TrainRunConfig(
        environment=preset.environment,
        artifacts=Artifacts(tensorboard=Toggle(enabled=False)),
        metadata=Metadata(worker=Worker(config=worker)),
    )


def trained(document: TrainRunConfig) -> dict[str, Any]:
    """Returns of the episodes of a training, of a file if there is one."""
    data = config.to_json(document)
    name = hashlib.sha256(json.dumps([data, __version__], sort_keys=True).encode()).hexdigest()[:16]
    worker = document.metadata.worker.config
    kept = KEPT / f"{worker.algo}-{worker.env_id.replace('/', '_')}-{worker.seed}-{name}.json"
    if kept.exists():
        return json.loads(kept.read_text())
    with Workshop() as shop:
        file = shop.folder / "config.json"
        file.write_text(json.dumps(data))
        began = time.perf_counter()
        process = CONTEXT.Process(target=_train, args=(str(shop.home.root), str(file), str(shop.folder)))
        process.start()
        process.join()
        if process.exitcode != 0:
            raise SystemExit(f"{worker.algo} in {worker.env_id}: {(shop.folder / 'stderr').read_text()[-3000:]}")
        found = {"returns": shop.episodes()["returns"], "seconds": time.perf_counter() - began}
    KEPT.mkdir(parents=True, exist_ok=True)
    partial = kept.with_suffix(".partial")
    partial.write_text(json.dumps(found))
    partial.replace(kept)
    return found


def _train(home: str, file: str, folder: str) -> None:
    os.environ["MOSAIC_HOME"] = home
    for name, descriptor in ((os.devnull, 1), (f"{folder}/stderr", 2)):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT), descriptor)
    raise SystemExit(importlib.import_module("cleanrl_worker.cli").main(["--config", file]))


def measured(preset: Preset, seeds: Sequence[int], last: int, *, defaults: bool) -> Preset:
    steps = int(str(preset.settings["total_timesteps"]))

    def scores(settings: Mapping[str, Any], of: str) -> tuple[float, ...]:
        made: list[float] = []
        for seed in seeds:
            found = trained(document_of(preset, settings, steps, seed))
            made.append(round(statistics.mean(found["returns"][-last:]), 4))
            print(
                f"{preset.algo} {preset.env_id} {of}, seed {seed}: {made[-1]:.4g} over the last {last} of"
                f" {len(found['returns'])} episodes, {found['seconds']:.0f} s",
                flush=True,
            )
        return tuple(made)

    own = scores(preset.settings, preset.name)
    theirs = scores({}, "default") if defaults else ()
    return replace(
        preset,
        measured=Measured(
            seeds=tuple(seeds),
            total_timesteps=steps,
            last_episodes=last,
            scores=own,
            default_scores=theirs,
            version=__version__,
        ),
    )


def row(preset: Preset) -> str:
    """Of the table in docs/presets.md."""
    found = preset.measured
    assert found is not None
    settings = spoken(preset.environment.settings)
    env_id = f"{preset.env_id} ({settings})" if settings else preset.env_id
    default = found.short(found.default_iqm) if found.default_iqm else "–"
    numbers = f"{found.total_timesteps:,} | {len(found.seeds)} | {found.short(found.iqm)} | {default}"
    return f"| {preset.algo} | {env_id} | {numbers} | {found.last_episodes} |"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.presets", description=__doc__)
    parser.add_argument("algo", nargs="?", help="presets of this algorithm only")
    parser.add_argument("env_id", nargs="?", help="and of this environment")
    parser.add_argument("--seeds", help="1-5, or 1,2,7; those of the file if not given, else 1-5")
    parser.add_argument("--last", type=int, help=f"episodes that count; those of the file if not given, else {LAST}")
    parser.add_argument("--defaults", action="store_true", help="measure the default settings too")
    parser.add_argument("--no-write", action="store_true", help="print what they score; leave the files as they are")
    options = parser.parse_args()
    end_cleanly()
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    chosen = [
        (path, preset)
        for path, preset in ((one.path, one.preset) for one in preset_files.shipped())
        if options.algo in (None, preset.algo) and options.env_id in (None, preset.env_id)
    ]
    if not chosen:
        sys.exit(f"no preset for {options.algo} in {options.env_id}; 'mosaic presets' lists them")
    CONTEXT.set_forkserver_preload(
        ["cleanrl_worker.cli", *{f"cleanrl_worker.algorithms.{preset.algo}" for _, preset in chosen}]
    )
    for path, preset in chosen:
        before = preset.measured
        seeds = parse_seeds(options.seeds or "") or list(before.seeds if before else range(1, 6))
        last = options.last or (before.last_episodes if before else LAST)
        found = measured(preset, seeds, last, defaults=options.defaults or bool(before and before.default_scores))
        told = found.measured
        assert told is not None
        default = told.default_iqm
        beside = f"; default {told.text(default)}" if default else ""
        print(f"{preset.algo} {preset.env_id} {preset.name}: IQM {told.text(told.iqm)}, {told.how}{beside}", flush=True)
        if not options.no_write:
            path.write_text(preset_files.text_of(found), encoding="utf-8")
            page.write_rows("## What ships", [row(found)], key_cells=2, page=PAGE)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
