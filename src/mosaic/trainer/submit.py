"""Accepting runs: a document becomes records and directories, complete on disk before anybody is told."""

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from mosaic import config
from mosaic.config import JsonObject
from mosaic.errors import ConfigError, Problem
from mosaic.spec import run_config, run_record
from mosaic.spec.files import sync_folder, write_atomically
from mosaic.spec.run_config import PolicyEvalExtras, TrainExtras, TrainRunConfig
from mosaic.spec.run_dir import Home, new_run_id
from mosaic.spec.run_record import RunRecord
from mosaic.trainer.schedule import Slots
from mosaic.trainer.workers import WORKERS

MAX_SEEDS = 1000
MAX_KEY = 200


@dataclass(frozen=True)
class Accepted:
    """One run of a submit, checked, not yet on disk."""

    record: RunRecord
    document: JsonObject
    """The config, secrets removed."""
    secrets: Mapping[str, str]


def check(
    document: JsonObject,
    *,
    seeds: Sequence[int],
    client_key: str,
    priority: int,
    slots: Slots,
    settings_of: Callable[[str], type[Any]],
) -> list[Accepted]:
    """Every run that this submit makes, or ConfigError with all that is wrong with it."""
    clean, secrets = run_config.take_secrets(document)
    parsed = run_config.parse(clean)
    _check_request(parsed, seeds, client_key, slots)
    _check_settings(parsed, settings_of)
    group = new_run_id() if len(seeds) > 1 else ""
    accepted: list[Accepted] = []
    for seed in seeds or [parsed.metadata.worker.config.seed]:
        own = _with_seed(clean, seed, name=parsed.run_name, many=len(seeds) > 1)
        record = _record(run_config.parse(own), own, group=group, client_key=client_key, priority=priority)
        accepted.append(Accepted(record, own, secrets))
    return accepted


def write(home: Home, accepted: Sequence[Accepted]) -> list[RunRecord]:
    """Directories, configs and records on disk; the records with their places filled in."""
    written: list[RunRecord] = []
    for item in accepted:
        run_dir = home.run(item.record.run_id)
        run_dir.create()
        text = json.dumps(item.document, indent=1) + "\n"
        write_atomically(home.config(item.record.run_id), text)
        if item.record.kind == "policy_eval":
            write_atomically(home.config(item.record.run_id, policy=True), text)
        write_atomically(run_dir.config, text)
        record = replace(item.record, run_dir=str(run_dir.root))
        run_record.write(run_dir, record.placed)
        written.append(record)
    sync_folder(home.runs)
    return written


def _check_request(parsed: TrainRunConfig, seeds: Sequence[int], client_key: str, slots: Slots) -> None:
    worker = parsed.metadata.worker
    kind = worker.config.extras.mode
    problems: list[Problem] = []
    if kind not in WORKERS:
        problems.append(Problem("metadata.worker.config.extras.mode", f"no worker of this version runs '{kind}'"))
    elif worker.module not in WORKERS[kind].accepted:
        names = " or ".join(WORKERS[kind].accepted)
        problems.append(Problem("metadata.worker.module", f"'{worker.module}' does not run '{kind}'; {names} does"))
    if len(seeds) > MAX_SEEDS or len(set(seeds)) != len(seeds):
        problems.append(Problem("seeds", f"must be different from each other, and at most {MAX_SEEDS}"))
    if len(client_key) > MAX_KEY:
        problems.append(Problem("client_key", f"must be at most {MAX_KEY} characters"))
    if parsed.resources.gpus > slots.gpus:
        problems.append(
            Problem("resources.gpus", f"{parsed.resources.gpus:g} asked for, this machine has {slots.gpus}")
        )
    if problems:
        raise ConfigError(problems, what="submit")


def _check_settings(parsed: TrainRunConfig, settings_of: Callable[[str], type[Any]]) -> None:
    worker = parsed.metadata.worker.config
    if isinstance(worker.extras, TrainExtras):
        outside = {"env_id": worker.env_id, "total_timesteps": worker.total_timesteps, "seed": worker.seed}
        what = "metadata.worker.config.extras.algo_params"
        config.from_json(settings_of(worker.algo), worker.extras.algo_params | outside, what=what)


def _with_seed(document: JsonObject, seed: int, *, name: str, many: bool) -> JsonObject:
    own: Any = deepcopy(document)
    own["metadata"]["worker"]["config"]["seed"] = seed
    if many:
        own["run_name"] = f"{name}, seed {seed}" if name else ""
    return own


def _record(parsed: TrainRunConfig, document: JsonObject, *, group: str, client_key: str, priority: int) -> RunRecord:
    worker = parsed.metadata.worker.config
    kind = worker.extras.mode
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"))
    label = parsed.run_name or f"{worker.algo or kind} {worker.env_id} s{worker.seed}"
    return RunRecord(
        run_id=new_run_id(),
        kind=kind,
        label=label,
        notes=worker.extras.notes,
        algo=worker.algo,
        env_id=worker.env_id,
        seed=worker.seed,
        group=group,
        priority=priority,
        cpus=parsed.resources.cpus,
        gpus=parsed.resources.gpus,
        total_timesteps=0 if isinstance(worker.extras, PolicyEvalExtras) else worker.total_timesteps,
        config_digest=hashlib.sha256(canonical.encode()).hexdigest(),
        client_key=client_key,
        submitted_at=time.time(),
    )
