"""Runs side by side: settings against each other and against their defaults, environment, code, versions, results."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from mosaic.config import JsonValue
from mosaic.errors import MosaicError
from mosaic.rpc.client import Client
from mosaic.run_table import fetched_values
from mosaic.run_table.run_columns import FACTS, RETURN, Value, shown_value, value_of
from mosaic.run_table.table_rows import Summary
from mosaic.spec.config_settings import ENVIRONMENT, WRAPPERS, option_defaults
from mosaic.spec.events import RunStarted
from mosaic.spec.run_record import RunRecord
from mosaic.spec.wrappers import SETTING

Section: TypeAlias = Literal["run", "settings", "environment", "code and versions", "results"]
SECTIONS: Sequence[Section] = ("run", "settings", "environment", "code and versions", "results")
RUN_FACTS = ("state", "tags", "algo", "seed", "total", "started", "parent", "notes")
EPISODES = 100
"""Behind a return there are at most so many."""


@dataclass(frozen=True)
class RunFacts:
    """All that is compared of a run."""

    record: RunRecord
    settings: Mapping[str, JsonValue]
    defaults: Mapping[str, JsonValue]
    """Of settings whose defaults are known."""
    started: RunStarted | None = None
    """How its newest attempt began."""
    returns: Summary | None = None


@dataclass(frozen=True)
class Line:
    """One thing, of each run."""

    section: Section
    name: str
    cells: tuple[str, ...]
    changed: tuple[bool, ...]
    """Of each run whether it differs from the default."""
    differs: bool
    default: str = ""
    """Where all runs have the same one."""


@dataclass(frozen=True)
class Differences:
    names: tuple[str, ...]
    """Of the runs, in the order given."""
    run_ids: tuple[str, ...]
    lines: tuple[Line, ...] = field(default=())

    def shown(self, *, everything: bool) -> list[Line]:
        """Lines that differ, of a single run those that are not as by default; and results in any case."""
        alone = len(self.names) == 1
        return [
            line
            for line in self.lines
            if everything or line.differs or line.section == "results" or (alone and any(line.changed))
        ]


def read(client: Client, runs: Sequence[RunRecord]) -> list[RunFacts]:
    """What the daemon knows of these runs; in any thread but the GUI's."""
    ids = [run.run_id for run in runs]
    found = {
        values.run_id: values
        for page in fetched_values.pages(client, ids, settings=True, metrics=[RETURN])
        for values in page
    }
    known = _Defaults(client)
    made: list[RunFacts] = []
    for run in runs:
        values = found.get(run.run_id)
        settings = (values.settings if values else None) or {}
        summary = values.metrics.get(RETURN) if values else None
        made.append(RunFacts(run, settings, known.of(run), _started(client, run), summary))
    return made


def compared(runs: Sequence[RunFacts]) -> Differences:
    """In lines: first what the runs are, last what came of them."""
    lines: list[Line] = []
    for name in RUN_FACTS:
        lines.append(
            _line("run", FACTS[name].title, [shown_value(name, FACTS[name].value(run.record)) for run in runs])
        )
    lines += _settings(runs)
    lines += _code(runs)
    lines += _results(runs)
    kept = tuple(line for line in lines if any(line.cells))
    labels = tuple(run.record.label or run.record.run_id[-8:] for run in runs)
    return Differences(labels, tuple(run.record.run_id for run in runs), kept)


def _settings(runs: Sequence[RunFacts]) -> list[Line]:
    names = dict.fromkeys(name for run in runs for name in run.settings)
    lines = [_setting("settings", name, runs) for name in names if not name.startswith(ENVIRONMENT)]
    environment = _line("environment", "environment", [run.record.env_id for run in runs])
    known = dict.fromkeys(name for run in runs for name in run.defaults if name.startswith(ENVIRONMENT))
    own = [_setting("environment", name, runs) for name in {**known, **names} if name.startswith(ENVIRONMENT)]
    return [*lines, environment, *own]


def _setting(section: Section, name: str, runs: Sequence[RunFacts]) -> Line:
    # A setting of the environment that a run does not name is as its constructor has it.
    values = [_value(run.settings, run.defaults if section == "environment" else {}, name) for run in runs]
    defaults = [_value(run.defaults, {}, name) for run in runs]
    changed = tuple(
        value is not None and default is not None and value != default
        for value, default in zip(values, defaults, strict=True)
    )
    shared = defaults[0] if all(default == defaults[0] for default in defaults) else None
    cells = [shown_value(name, value) for value in values]
    return _line(section, name, cells, changed=changed, default=shown_value(name, shared))


def _code(runs: Sequence[RunFacts]) -> list[Line]:
    names = dict.fromkeys(name for run in runs if run.started for name in run.started.versions)
    lines = [_line("code and versions", "code", [run.started.code if run.started else "" for run in runs])]
    for name in names:
        cells = [str(run.started.versions.get(name, "")) if run.started else "" for run in runs]
        lines.append(_line("code and versions", name, cells))
    lines.append(_line("code and versions", "host", [run.started.host if run.started else "" for run in runs]))
    return lines


def _results(runs: Sequence[RunFacts]) -> list[Line]:
    lines = [_line("results", "return", [_return(run) for run in runs])]
    lines.append(_line("results", "best return", [shown_value("best", run.record.best_return) for run in runs]))
    auc = [run.returns.value("auc") if run.returns else None for run in runs]
    lines.append(_line("results", "AUC of the return", [shown_value("return", value) for value in auc]))
    for name in ("steps", "time", "sps"):
        values = [FACTS[name].value(run.record) for run in runs]
        lines.append(_line("results", FACTS[name].title.lower(), [shown_value(name, value) for value in values]))
    return lines


def _return(run: RunFacts) -> str:
    """With how many episodes it is the mean of."""
    if run.record.last_return is None:
        return ""
    n = min(EPISODES, run.returns.points) if run.returns else 0
    return shown_value("return", run.record.last_return) + (f"  n {n}" if n else "")


def _line(
    section: Section, name: str, cells: Iterable[str], *, changed: tuple[bool, ...] = (), default: str = ""
) -> Line:
    found = tuple(cells)
    return Line(section, name, found, changed or (False,) * len(found), len(set(found)) > 1, default)


def _value(settings: Mapping[str, JsonValue], others: Mapping[str, JsonValue], name: str) -> Value:
    if name in settings:
        return value_of(settings[name])
    return value_of(others[name]) if name in others else None


def defaults_in(schema: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Of a JSON Schema, by name."""
    properties: dict[str, dict[str, Any]] = schema.get("properties", {})
    return {name: one["default"] for name, one in properties.items() if "default" in one}


def defaults_of(client: Client, run: RunRecord) -> dict[str, JsonValue]:
    """Of the settings of its algorithm and of its environment, where they are known; env.NAME for the latter."""
    return _Defaults(client).of(run)


class _Defaults:
    """Asked for once for each algorithm and environment."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._algorithms = client.algorithms()
        self._environments: dict[str, dict[str, JsonValue]] = {}

    def of(self, run: RunRecord) -> dict[str, JsonValue]:
        if run.env_id not in self._environments:
            self._environments[run.env_id] = self._of_environment(run.env_id)
        algorithm = self._algorithms.get(run.algo)
        own = defaults_in(algorithm.schema) if algorithm else {}
        return {**option_defaults(run.kind), **own, **self._environments[run.env_id]}

    def _of_environment(self, env_id: str) -> dict[str, JsonValue]:
        try:
            found = self._client.environment(env_id).settings if env_id else None
        except MosaicError:
            return {}  # An environment of a module of the user's: its defaults are not known.
        known = {f"{ENVIRONMENT}{name}": value for name, value in defaults_in(found or {}).items()}
        takes_wrappers = SETTING in (found or {}).get("properties", {})
        return {**known, WRAPPERS: None} if takes_wrappers else known


def _started(client: Client, run: RunRecord) -> RunStarted | None:
    """How the newest attempt began; it is told within the first events of the attempt."""
    if not run.started_at:
        return None
    stream = client.watch_events(run.run_id, kinds=["run.started"])
    newest: RunStarted | None = None
    try:
        for event in stream:
            if isinstance(event.body, RunStarted):
                newest = event.body
                if newest.attempt >= run.attempt:
                    break
    finally:
        stream.stop()
    return newest
