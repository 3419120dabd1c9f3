"""What run directories, which are the truth, tell the index: a run without `run.json`, one that was removed."""

import shutil
from dataclasses import replace
from pathlib import Path

from mosaic.errors import ConfigError
from mosaic.log import get_logger
from mosaic.spec import run_list, run_record
from mosaic.spec.run_dir import Home, RunDir
from mosaic.spec.run_record import Placed
from mosaic.spec.states import TERMINAL
from mosaic.trainer.engines.engine import Engine, EngineOf, Handle
from mosaic.trainer.index import salvage
from mosaic.trainer.index.index_store import Store
from mosaic.trainer.index.ingest import RunIngest
from mosaic.trainer.runs import branched_run

DELETED = ".deleted-"

log = get_logger()


class Removed:
    """Runs whose directories a user has removed while the daemon runs."""

    def __init__(self, home: Home, store: Store, engine_of: EngineOf) -> None:
        self._home = home
        self._store = store
        self._engine_of = engine_of
        self._seen = -1
        self._some_live = False

    def take_out(self) -> list[str]:
        """Take them out of the index; which they were. Nearly free while nothing was removed from `runs/`."""
        changed = self._home.runs.stat().st_mtime_ns
        if changed == self._seen and not self._some_live:
            return []
        missing = sorted(self._store.all_ids() - set(run_list.run_ids(self._home)))
        gone = [record for run_id in missing if (record := self._store.get(run_id)) is not None]
        # A worker that lost its directory under its feet will not live long: look again.
        ended = [
            record
            for record in gone
            if record.state in TERMINAL
            or not self._engine_of(record.engine).poll(
                Handle(run_dir=self._home.run(record.run_id), engine=record.engine, epoch=record.epoch, pid=record.pid)
            )
        ]
        self._store.put([replace(record, deleted=True) for record in ended])
        self._seen, self._some_live = changed, len(ended) < len(gone)
        return [record.run_id for record in ended]


def set_aside(run_dir: RunDir) -> Path:
    """Rename the directory of a deleted run, so that it is one no longer; the next daemon removes what a kill left."""
    doomed = run_dir.root.with_name(f"{DELETED}{run_dir.run_id}")
    run_dir.root.replace(doomed)
    return doomed


def clear(home: Home, store: Store) -> None:
    """At the start: remove half-written branches, and take out of the list what a user removed by hand."""
    branched_run.clear(home)
    there = set(run_list.run_ids(home))
    gone = [store.get(run_id) for run_id in sorted(store.all_ids() - there)]
    if gone:
        store.put([replace(record, deleted=True) for record in gone if record is not None])


def leftovers(home: Home) -> list[Path]:
    """What a kill left of deleted runs."""
    return run_list.starting_with(home, DELETED)


def remove(doomed: Path) -> None:
    shutil.rmtree(doomed, ignore_errors=True)


def read(home: Home, run_dir: RunDir, engine: Engine) -> Placed:
    """What `run.json` says of a run; where it is missing or damaged, what its other files tell."""
    problem = ""
    try:
        return run_record.read(run_dir)
    except FileNotFoundError:
        pass  # A run that no daemon started.
    except ConfigError as error:
        log.warning("run.record_damaged", run_id=run_dir.run_id, error=str(error))
        problem = str(error.problems[0])
    ingest = RunIngest(home, run_dir, keep_metrics=False)
    ingest.catch_up()
    return salvage.placed(run_dir, ingest, engine, problem=problem)
