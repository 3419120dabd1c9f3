"""The index of recorded episodes: `episodes.sqlite`, a cache of what the files in the run directories say.

Brought up to date when a client asks: a file whose size did not change since is not read again.
"""

import contextlib
import json
import sqlite3
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

from mosaic.errors import RecordingError, UnsafePath
from mosaic.log import get_logger
from mosaic.rpc import trainer_pb2 as pb
from mosaic.spec import episode_file
from mosaic.spec.run_dir import Home, RunDir
from mosaic.spec.run_list import all_runs

MAX_EPISODES = 1000
MAX_OF_A_RUN = 10_000
"""What one message can carry."""
_COLUMNS = "run_id, episode, env_id, seed, seats, outcome, length, returns, started_at, path, env_settings"
_LAYOUT = 2
"""Number of these columns' layout; a file with another one is made again."""
_SCHEMA = f"""CREATE TABLE IF NOT EXISTS episodes ({_COLUMNS}, bytes, PRIMARY KEY (run_id, episode)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS episodes_by_environment ON episodes (env_id, started_at);"""

log = get_logger()


class EpisodeIndex:
    """Asked from any thread; a damaged file is thrown away and made again."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._lock = threading.Lock()

    def find(self, *, run_id: str = "", env_id: str = "", limit: int = 0) -> list[pb.RecordedEpisode]:
        with self._lock:
            try:
                return self._find(run_id, env_id, limit)
            except sqlite3.OperationalError as error:
                # The disk refuses to be written: the recordings are read anew, for this answer alone.
                log.warning("episodes.in_memory", error=str(error))
                return self._find(run_id, env_id, limit, index=":memory:")
            except sqlite3.DatabaseError as error:
                log.warning("episodes.rebuilt", error=str(error))
                self._home.episodes.unlink(missing_ok=True)
                return self._find(run_id, env_id, limit)

    def _find(self, run_id: str, env_id: str, limit: int, *, index: str | None = None) -> list[pb.RecordedEpisode]:
        connection = sqlite3.connect(index or self._home.episodes)
        try:
            _lay_out(connection)
            with connection:
                self._bring_up_to_date(connection, [self._home.run(run_id)] if run_id else list(all_runs(self._home)))
            most = MAX_OF_A_RUN if run_id else MAX_EPISODES
            rows = connection.execute(
                f"SELECT {_COLUMNS} FROM episodes WHERE (? = '' OR run_id = ?) AND (? = '' OR env_id = ?)"
                " ORDER BY started_at DESC, episode DESC LIMIT ?",
                (run_id, run_id, env_id, env_id, min(limit or most, most)),
            )
            return [_message(row) for row in rows]
        finally:
            connection.close()

    def _bring_up_to_date(self, connection: sqlite3.Connection, runs: list[RunDir]) -> None:
        known = {
            (run, path): size for run, path, size in connection.execute("SELECT run_id, path, bytes FROM episodes")
        }
        there = {run_dir.run_id for run_dir in runs}
        for run_dir in runs:
            for path, size in _files(run_dir):
                try:
                    name = run_dir.relative(path)
                except UnsafePath as error:  # a link that leads out of the run
                    log.warning("episodes.unreadable", run_id=run_dir.run_id, error=str(error))
                    continue
                if known.pop((run_dir.run_id, name), None) != size:
                    self._take_in(connection, run_dir, path, size)
        gone = [key for key in known if key[0] in there or not self._home.run(key[0]).root.exists()]
        connection.executemany("DELETE FROM episodes WHERE run_id = ? AND path = ?", gone)

    def _take_in(self, connection: sqlite3.Connection, run_dir: RunDir, path: Path, size: int) -> None:
        try:
            found = episode_file.sum_up(path)
        except RecordingError as error:
            log.warning("episodes.unreadable", run_id=run_dir.run_id, error=str(error))
            return
        head, end = found.head, found.end
        row = (
            run_dir.run_id,
            head.episode,
            head.env_id,
            head.seed,
            json.dumps(head.seats),
            end.outcome if end else "",
            found.length,
            json.dumps({seat: str(total) for seat, total in found.returns.items()}),
            head.started_at,
            run_dir.relative(path),
            json.dumps(head.env_settings) if head.env_settings else "",
            size,
        )
        connection.execute(f"INSERT OR REPLACE INTO episodes VALUES ({', '.join('?' * len(row))})", row)


def _lay_out(connection: sqlite3.Connection) -> None:
    [layout] = connection.execute("PRAGMA user_version").fetchone()
    if layout != _LAYOUT:
        connection.executescript(f"DROP TABLE IF EXISTS episodes; PRAGMA user_version = {_LAYOUT};")
    connection.executescript(_SCHEMA)


def _files(run_dir: RunDir) -> Iterator[tuple[Path, int]]:
    # A run that is being deleted has none from one moment to the next.
    with contextlib.suppress(OSError):
        for path in sorted(run_dir.episodes.glob("episode-*.jsonl")) if run_dir.look(run_dir.episodes) else ():
            found = run_dir.look(path)
            if found is not None and stat.S_ISREG(found.st_mode):
                yield path, found.st_size


def _message(row: tuple[str, int, str, int, str, str, int, str, float, str, str]) -> pb.RecordedEpisode:
    run_id, episode, env_id, seed, seats, outcome, length, returns, started_at, path, env_settings = row
    return pb.RecordedEpisode(
        run_id=run_id,
        episode=episode,
        env_id=env_id,
        seed=seed,
        seats=json.loads(seats),
        outcome=outcome,
        length=length,
        returns={seat: float(total) for seat, total in json.loads(returns).items()},
        started_at=started_at,
        path=path,
        env_settings_json=env_settings,
    )
