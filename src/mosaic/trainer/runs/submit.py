"""Accepting runs: a document becomes records and directories, complete on disk before a client is told."""

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mosaic import config
from mosaic.config import JsonObject
from mosaic.errors import ConfigError, MosaicError, Problem
from mosaic.near_names import near_names
from mosaic.rpc.codec import to_message
from mosaic.scripts.script import is_script
from mosaic.spec import policy_facts, run_config, run_record, ulid
from mosaic.spec.actors import split
from mosaic.spec.catalogue import extras
from mosaic.spec.files.shared_files import share, sync_folder, write_atomically
from mosaic.spec.run_config import PlayExtras, PolicyEvalExtras, TrainExtras, TrainRunConfig
from mosaic.spec.run_dir import Home, new_run_id
from mosaic.spec.run_record import Placed, RunRecord, tags_in, with_tags
from mosaic.trainer.engines import ENGINES, UnknownEngine
from mosaic.trainer.engines.engine import EngineOf
from mosaic.trainer.runs.schedule import Slots
from mosaic.trainer.runs.worker_table import WORKERS

MAX_SEEDS = 1000
MAX_KEY = 200
MAX_CPUS = 4096
PLAY_PRIORITY = 1000


class CallerGone(MosaicError):
    """A call whose client does not wait for its answer any more."""

    def __init__(self) -> None:
        super().__init__("the client has given up; nothing was done")


@dataclass(frozen=True)
class Accepted:
    """One run of a submit, checked, not yet on disk."""

    record: RunRecord
    """Without an id, which it gets in the order of acceptance."""
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
    refuse_code: Callable[[TrainRunConfig], None],
    sees_pixels: Callable[[str], bool],
    misfits_of: Callable[[TrainRunConfig], Sequence[Problem]],
    engine_of: EngineOf,
    default_engine: str = "local",
) -> list[Accepted]:
    """Every run that this submit makes, or ConfigError with all that is wrong with it."""
    clean, secrets = run_config.take_secrets(document)
    run_config.refuse_secrets(clean)
    parsed = run_config.parse(clean)
    _check_request(parsed, seeds, client_key)
    if misfits := engine_of(parsed.resources.engine).misfits(parsed, slots):
        raise ConfigError(misfits, what="submit")
    with_tags(Placed(run_id=""), add=tags_in(parsed.tags))
    refuse_code(parsed)
    refuse_missing(parsed, sees_pixels=sees_pixels)
    problems = [*_problems_of_settings(parsed, settings_of), *misfits_of(parsed)]
    if problems:
        raise ConfigError(problems, what=_command_of(parsed))
    group = new_run_id() if len(seeds) > 1 else ""
    accepted: list[Accepted] = []
    for seed in seeds or [_own_seed(parsed)]:
        own = _with_seed(clean, seed, name=parsed.run_name, many=len(seeds) > 1)
        record = _record(run_config.parse(own), own, group=group, client_key=client_key, priority=priority)
        record = replace(record, engine=parsed.resources.engine or default_engine)
        _check_sendable(record)
        accepted.append(Accepted(record, own, secrets))
    return accepted


def still_missing(accepted: Sequence[Accepted], known: Sequence[RunRecord]) -> list[Accepted]:
    """What a submit that was cut off by a kill has not made yet; nothing, for one that was answered."""
    there = {record.seed for record in known}
    group = known[0].group if known else ""
    missing = [item for item in accepted if item.record.seed not in there]
    return [replace(item, record=replace(item.record, group=group or item.record.group)) for item in missing]


def write(home: Home, accepted: Sequence[Accepted], *, after: str) -> list[RunRecord]:
    """Directories, configs and records on disk, all or none; the records with their ids, higher than `after`."""
    written: list[RunRecord] = []
    try:
        for item in accepted:
            after = next_id(after)
            written.append(replace(item.record, run_id=after, run_dir=str(home.run(after).root)))
            _write_one(home, written[-1], json.dumps(item.document, indent=1) + "\n")
        sync_folder(home.runs)
    except BaseException:
        take_back(home, written)
        raise
    return written


def _write_one(home: Home, record: RunRecord, text: str) -> None:
    run_dir = home.run(record.run_id)
    run_dir.create()
    config_file = home.config(record.run_id)
    write_atomically(config_file, text)
    if record.kind == "policy_eval":
        share(config_file, home.config(record.run_id, policy=True))
        sync_folder(home.configs)
    # The worker replaces it by the config with all settings.
    share(config_file, run_dir.config)
    # Last: a directory without it is not a run. It syncs the names in that directory.
    run_record.write(run_dir, record.placed)


def take_back(home: Home, records: Sequence[RunRecord]) -> None:
    """Leave nothing of runs that could not be accepted: a refused submit must not begin after a restart."""
    for record in records:
        home.run(record.run_id).record.unlink(missing_ok=True)
        shutil.rmtree(home.run(record.run_id).root, ignore_errors=True)
        for policy in (False, True):
            home.config(record.run_id, policy=policy).unlink(missing_ok=True)


def next_id(after: str) -> str:
    """A run id that sorts after all before it, whatever the wall clock says: the queue is in order of acceptance."""
    fresh = new_run_id()
    return fresh if fresh > after else ulid.after(after)


def _check_request(parsed: TrainRunConfig, seeds: Sequence[int], client_key: str) -> None:
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
    if parsed.resources.cpus > MAX_CPUS:
        problems.append(Problem("--cpus", f"must be at most {MAX_CPUS}"))
    engine = parsed.resources.engine
    if engine and engine not in ENGINES:
        problems.append(Problem("--engine", str(UnknownEngine(engine, near_names(engine, ENGINES)))))
    if problems:
        raise ConfigError(problems, what="submit")


def _problems_of_settings(parsed: TrainRunConfig, settings_of: Callable[[str], type[Any]]) -> Sequence[Problem]:
    """Broken rules of the algorithm, in the words of its flags."""
    worker = parsed.metadata.worker.config
    if not isinstance(worker.extras, TrainExtras):
        return ()
    outside = {"env_id": worker.env_id, "total_timesteps": worker.total_timesteps, "seed": worker.seed}
    settings = settings_of(worker.algo)
    try:
        config.from_json(settings, worker.extras.algo_params | outside)
    except ConfigError as error:
        return config.as_flags_of(settings, error, what="").problems
    return ()


def _command_of(parsed: TrainRunConfig) -> str:
    """What a user would have typed to get this run."""
    worker = parsed.metadata.worker.config
    words = {"train": f"train {worker.algo}", "policy_eval": "evaluate", "play": "play"}
    return f"mosaic {words[worker.extras.mode]}"


def _check_sendable(record: RunRecord) -> None:
    """What no message can carry is refused here, not found out by each client that lists it later."""
    try:
        to_message(record)
    except ValueError as error:
        raise ConfigError([Problem("", f"cannot be represented: {error}")], what="run config") from error


def _own_seed(parsed: TrainRunConfig) -> int:
    """What the run begins with, so that lists show it."""
    worker = parsed.metadata.worker.config
    override = worker.extras.seed_override if isinstance(worker.extras, PolicyEvalExtras) else None
    return worker.seed if override is None else override


def _with_seed(document: JsonObject, seed: int, *, name: str, many: bool) -> JsonObject:
    own: Any = deepcopy(document)
    own["metadata"]["worker"]["config"]["seed"] = seed
    if many:
        own["run_name"] = f"{name}, seed {seed}" if name else ""
    return own


def _record(parsed: TrainRunConfig, document: JsonObject, *, group: str, client_key: str, priority: int) -> RunRecord:
    worker = parsed.metadata.worker.config
    kind = worker.extras.mode
    # A script is known by its file name; where it lies is in the config.
    algo = Path(worker.algo).name if is_script(worker.algo) else worker.algo
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"))
    label = parsed.run_name or f"{algo or kind} {worker.env_id} s{worker.seed}"
    return RunRecord(
        run_id="",
        kind=kind,
        label=label,
        notes=worker.extras.notes,
        tags=with_tags(Placed(run_id=""), add=tags_in(parsed.tags)),
        algo=algo,
        env_id=worker.env_id,
        seed=worker.seed,
        group=group,
        # A user waits in front of it: it stands before all that are queued.
        priority=max(priority, PLAY_PRIORITY) if kind == "play" else priority,
        cpus=parsed.resources.cpus,
        gpus=parsed.resources.gpus,
        total_timesteps=worker.total_timesteps if isinstance(worker.extras, TrainExtras) else 0,
        config_digest=hashlib.sha256(canonical.encode()).hexdigest(),
        client_key=client_key,
        submitted_at=time.time(),
    )


def refuse_missing(document: TrainRunConfig, *, sees_pixels: Callable[[str], bool]) -> None:
    """MissingExtra for the first extra that is missing. A script is looked at elsewhere: it chooses its environment."""
    worker = document.metadata.worker.config
    options = worker.extras
    if not is_script(worker.algo) and (needed := extras.of_environment(worker.env_id)) is not None:
        needed.require(f"'{worker.env_id}'")
    if isinstance(options, TrainExtras):
        _of_training(document, options, sees_pixels)
    elif isinstance(options, PolicyEvalExtras):
        if options.eval_trust and Path(options.policy_path).suffix == ".zip":
            extras.SB3.require("a Stable-Baselines3 zip")
        if worker.algo in extras.ALGORITHMS:
            extras.ALGORITHMS[worker.algo].require(f"a policy of '{worker.algo}'")
    else:
        _of_play(options)


def _of_training(document: TrainRunConfig, options: TrainExtras, sees_pixels: Callable[[str], bool]) -> None:
    worker = document.metadata.worker.config
    if options.env_backend == "envpool":
        extras.ENVPOOL.require("the envpool backend")
    if not is_script(worker.algo) and sees_pixels(worker.algo):
        extras.PICTURES.require(f"{worker.algo}, which makes pictures 84×84,")
    if worker.algo in extras.ALGORITHMS:
        extras.ALGORITHMS[worker.algo].require(f"the algorithm '{worker.algo}'")
    for (algo, setting), extra in extras.SETTINGS.items():
        if worker.algo == algo and options.algo_params.get(setting) is True:
            extra.require(f"--{setting}")
    for tracker, extra in extras.TRACKERS.items():
        if getattr(options, f"track_{tracker}") or (tracker == "wandb" and document.artifacts.wandb.enabled):
            extra.require(f"--track-{tracker}")
    if is_script(worker.algo) and options.algo_params.get("track") is True:
        extras.TRACKERS["wandb"].require("the script's --track")


def _of_play(options: PlayExtras) -> None:
    for actor in options.actors.values():
        name, argument = split(actor)
        if name in extras.ACTORS:
            extras.ACTORS[name].require(f"the actor '{name}'")
        if name == "policy" and (algo := _trained_by(Path(argument))) in extras.ALGORITHMS:
            extras.ALGORITHMS[algo].require(f"a policy of '{algo}'")


def _trained_by(path: Path) -> str:
    """Empty for what is not a policy file: the worker says what it is."""
    try:
        return policy_facts.read(path).algo if path.is_file() else ""
    except MosaicError:
        return ""
