"""Config files of the worker: a run config, or the bare worker config inside one."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

from cleanrl_worker.sdk.command import algorithm_catalogue
from mosaic import config
from mosaic.errors import ConfigError, Problem
from mosaic.scripts.script import is_script
from mosaic.spec import run_config
from mosaic.spec.processes.life_lock import INHERITED
from mosaic.spec.run_config import Artifacts, Environment, Metadata, TrainRunConfig, Worker, WorkerConfig

OUTSIDE = ("env_id", "total_timesteps", "seed")
"""Settings of an algorithm that stand beside `algo_params` in the JSON."""


def read_document(path: Path) -> TrainRunConfig:
    """A run config, or a bare worker config made into one; all that is wrong with it in one error."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ConfigError([Problem("", f"cannot be read: {error.strerror}")], what=str(path)) from error
    data, secrets = run_config.take_secrets(config.loads(text, what=str(path)))
    if not os.environ.get(INHERITED):
        # A worker of the daemon has a config that was looked at when it was submitted.
        run_config.refuse_secrets(data, what=str(path))
    # Where the exporter of a stand-alone run looks for them.
    os.environ.update(secrets)
    bare = "metadata" not in data and "environment" not in data
    document, problems = None, dict[str, Problem]()
    try:
        document = around(run_config.parse_worker(data)) if bare else run_config.parse(data)
    except ConfigError as error:
        problems = {problem.path: problem for problem in error.problems}
    worker = data if bare else _descend(data, "metadata", "worker", "config")
    for problem in _problems_of_settings(worker):
        place = f"{'' if bare else 'metadata.worker.config.'}{problem.path}"
        problems.setdefault(place, Problem(place, problem.message))
    if document is None or problems:
        raise _told(problems.values(), path)
    return document


def _told(problems: Iterable[Problem], path: Path) -> ConfigError:
    """To the author of the file, where in it; a user of the daemon knows flags, and not the file that it writes."""
    if not os.environ.get(INHERITED):
        return ConfigError(problems, what=str(path))
    return ConfigError([Problem(run_config.flag_of(one.path), one.message) for one in problems], what="run config")


def _problems_of_settings(worker: Any) -> Iterator[Problem]:
    """Broken rules of the algorithm, also where the rest of the document is broken too."""
    match worker:
        case {"algo": str(algo), "extras": {"algo_params": dict(settings)}} if _has_settings(algo):
            outside = {name: worker[name] for name in OUTSIDE if name in worker}
            for name in OUTSIDE:
                if name in settings:
                    yield Problem(f"extras.algo_params.{name}", f"stands beside extras, as '{name}'")
            try:
                config.from_json(algorithm_catalogue.load(algo).Args, settings | outside)
            except ConfigError as error:
                for problem in error.problems:
                    inside = "" if problem.path in OUTSIDE else "extras.algo_params."
                    yield Problem((inside + problem.path).rstrip("."), problem.message)
        case _:
            return


def _has_settings(algo: str) -> bool:
    return bool(algo) and not is_script(algo) and algorithm_catalogue.is_known(algo)


def _descend(data: object, *keys: str) -> object:
    for key in keys:
        data = cast("dict[str, object]", data).get(key) if isinstance(data, dict) else None
    return data


def around(worker: WorkerConfig) -> TrainRunConfig:
    return TrainRunConfig(
        environment=Environment(env_id=worker.env_id),
        artifacts=Artifacts(),
        metadata=Metadata(worker=Worker(config=worker)),
    )
