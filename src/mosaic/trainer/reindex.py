"""Rebuilding the index from the run directories, which are the truth, and finding runs that nobody told us of."""

import shutil
from dataclasses import replace
from pathlib import Path

from mosaic.errors import ConfigError, MosaicError
from mosaic.log import get_logger
from mosaic.spec import run_list, run_record
from mosaic.spec.run_dir import Home, RunDir
from mosaic.spec.run_record import Placed, RunRecord
from mosaic.spec.states import TERMINAL
from mosaic.trainer import salvage
from mosaic.trainer.engines.engine import Engine
from mosaic.trainer.ingest import RunIngest
from mosaic.trainer.store import Store

DELETED = ".deleted-"

log = get_logger()


class Orphans:
    """Where index and directories differ: an index that was lost, a worker that a person started, a removed folder."""

    def __init__(self, home: Home, store: Store, engine: Engine) -> None:
        self._home = home
        self._store = store
        self._engine = engine
        self._seen = -1
        self._skipped: dict[str, str] = {}
        self._seen_gone = -1
        self._gone_but_alive = False

    def take_in(self) -> int:
        """Take in what is new; how many there were. Free of charge while nothing was added to `runs/`."""
        changed = self._home.runs.stat().st_mtime_ns
        if changed == self._seen and not self._skipped:
            return 0
        known = self._store.all_ids()
        missing = [name for name in run_list.run_ids(self._home) if name not in known]
        found: list[RunRecord] = []
        skipped: dict[str, str] = {}
        for name in sorted(missing):
            try:
                found.append(_read(self._home, self._home.run(name), self._engine))
            except (MosaicError, OSError) as error:
                # A worker that has just been started has not written its manifest yet: look again.
                skipped[name] = str(error)
                if name not in self._skipped:
                    log.warning("reindex.skipped", run_id=name, error=str(error))
        self._store.put(found, durable=True)
        self._seen, self._skipped = changed, skipped
        return len(found)

    def take_out(self) -> list[str]:
        """Take out the runs whose directories a person has removed; which they were. Free of charge as above."""
        changed = self._home.runs.stat().st_mtime_ns
        if changed == self._seen_gone and not self._gone_but_alive:
            return []
        missing = sorted(self._store.all_ids() - set(run_list.run_ids(self._home)))
        gone = [record for run_id in missing if (record := self._store.get(run_id)) is not None]
        # A worker that lost its directory under its feet will not live long: look again.
        ended = [
            record
            for record in gone
            if record.state in TERMINAL or not self._engine.is_alive(self._home.run(record.run_id), record.pid)
        ]
        self._store.put([replace(record, deleted=True) for record in ended])
        self._seen_gone, self._gone_but_alive = changed, len(ended) < len(gone)
        return [record.run_id for record in ended]


def set_aside(run_dir: RunDir) -> Path:
    """Rename the directory of a deleted run, so that it is one no longer; `clear` removes what a kill left of it."""
    doomed = run_dir.root.with_name(f"{DELETED}{run_dir.run_id}")
    run_dir.root.replace(doomed)
    return doomed


def clear(home: Home, store: Store) -> None:
    """At the start: remove what a kill left of deleted runs, and from the list what people removed by hand."""
    for doomed in home.runs.glob(f"{DELETED}*"):
        shutil.rmtree(doomed, ignore_errors=True)
    there = set(run_list.run_ids(home))
    gone = [store.get(run_id) for run_id in sorted(store.all_ids() - there)]
    store.put([replace(record, deleted=True) for record in gone if record is not None])


def _read(home: Home, run_dir: RunDir, engine: Engine) -> RunRecord:
    ingest = RunIngest(home, run_dir)
    ingest.catch_up()
    ingest.save()
    return RunRecord(**vars(_placed(run_dir, ingest, engine)), **vars(ingest.progress), run_dir=str(run_dir.root))


def _placed(run_dir: RunDir, ingest: RunIngest, engine: Engine) -> Placed:
    """What `run.json` says; where it is missing or damaged, what the other files tell."""
    try:
        return run_record.read(run_dir)
    except FileNotFoundError:
        return salvage.placed(run_dir, ingest, engine)
    except ConfigError as error:
        log.warning("run.record_damaged", run_id=run_dir.run_id, error=str(error))
        return salvage.placed(run_dir, ingest, engine, problem=str(error.problems[0]))
