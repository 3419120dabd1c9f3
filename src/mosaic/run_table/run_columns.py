"""The columns that a table of runs can have, by name: facts of the record, settings, and metrics in a few numbers.

A name is that of a fact (`state`), of a setting (`learning_rate`, `env.is_slippery`), a short name of one of these
(`lr`), or a metric's tag with what is wanted of it (`losses/value_loss.lowest`; a tag alone is its last value).
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from mosaic.config import JsonValue
from mosaic.errors import MosaicError
from mosaic.near_names import did_you_mean
from mosaic.numbers import show_number
from mosaic.plain_text import json_text
from mosaic.spec.config_settings import ENVIRONMENT, WRAPPERS
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import LIVE

Value: TypeAlias = float | int | bool | str | tuple[str, ...] | None
Kind: TypeAlias = Literal["number", "count", "text", "words", "moment", "duration", "share", "setting"]
Source: TypeAlias = Literal["fact", "setting", "metric"]

RETURN = "charts/episodic_return"
WANTED: Mapping[str, str] = {"last": "last", "best": "highest", "highest": "highest", "lowest": "lowest", "auc": "AUC"}
"""What a metric is summed up to: the ending of a column's name, and how titles say it."""
SHORT: Mapping[str, str] = {
    "lr": "learning_rate",
    "envs": "num_envs",
    "batch": "batch_size",
    "bs": "batch_size",
    "ent": "ent_coef",
    "vf": "vf_coef",
    "clip": "clip_coef",
    "gae": "gae_lambda",
    "kl": "target_kl",
    "epochs": "update_epochs",
    "buffer": "buffer_size",
    "tag": "tags",
    "id": "run",
    "name": "label",
    "env_id": "env",
    "note": "notes",
    "total_timesteps": "total",
    "auc": f"{RETURN}.auc",
}


class UnknownColumn(MosaicError):
    """A name that is not a column of these runs."""

    exit_code = 2


@dataclass(frozen=True)
class Fact:
    """A column of the record itself."""

    title: str
    kind: Kind
    value: Callable[[RunRecord], Value]


def _ran_s(run: RunRecord) -> float | None:
    if not run.started_at:
        return None
    return max(0.0, (run.ended_at or (time.time() if run.state in LIVE else run.started_at)) - run.started_at)


FACTS: Mapping[str, Fact] = {
    "run": Fact("Run", "text", lambda run: run.run_id),
    "label": Fact("Name", "text", lambda run: run.label),
    "state": Fact("State", "text", lambda run: run.state.value),
    "tags": Fact("Tags", "words", lambda run: run.tags or None),
    "algo": Fact("Algorithm", "text", lambda run: run.algo or None),
    "env": Fact("Environment", "text", lambda run: run.env_id or None),
    "seed": Fact("Seed", "count", lambda run: run.seed),
    "return": Fact("Return", "number", lambda run: run.last_return),
    "best": Fact("Best return", "number", lambda run: run.best_return),
    "steps": Fact("Steps", "count", lambda run: run.global_step),
    "total": Fact("Steps asked for", "count", lambda run: run.total_timesteps or None),
    "done": Fact("Done", "share", lambda run: run.done),
    "sps": Fact("Steps/s", "number", lambda run: run.steps_per_s or None),
    "time": Fact("Time", "duration", _ran_s),
    "started": Fact("Submitted", "moment", lambda run: run.submitted_at or None),
    "ended": Fact("Ended", "moment", lambda run: run.ended_at or None),
    "kind": Fact("Kind", "text", lambda run: run.kind),
    "group": Fact("Group", "text", lambda run: run.group or None),
    "parent": Fact("Branched from", "text", lambda run: run.parent or None),
    "attempt": Fact("Attempt", "count", lambda run: run.attempt),
    "priority": Fact("Priority", "count", lambda run: run.priority),
    "notes": Fact("Notes", "text", lambda run: run.notes or None),
    "reason": Fact("Reason", "text", lambda run: run.reason or None),
}
NONE = "none"
SEARCHED = "searched text"
"""A column that is not shown: what a word alone is looked for in, in small letters."""
CONTAINED = frozenset({"label", "notes", "reason", WRAPPERS})
"""Text that `:` looks into."""


def source_of(name: str) -> Source:
    """Of a whole name."""
    return (
        "fact"
        if name in FACTS or name == SEARCHED
        else "metric"
        if "/" in name and not name.startswith(ENVIRONMENT)
        else "setting"
    )


def metric_of(name: str) -> tuple[str, str]:
    """Tag and what is wanted of it, of a metric's column."""
    tag, _, wanted = name.rpartition(".")
    return tag, wanted


def kind_of(name: str) -> Kind:
    source = source_of(name)
    return FACTS[name].kind if source == "fact" else "number" if source == "metric" else "setting"


def title_of_column(name: str) -> str:
    """As a heading says it."""
    match source_of(name):
        case "fact":
            return FACTS[name].title
        case "metric":
            tag, wanted = metric_of(name)
            return f"{tag.rsplit('/', 1)[-1].replace('_', ' ')} ({WANTED[wanted]})"
        case "setting":
            return name


def resolve(word: str, settings: Iterable[str], tags: Iterable[str] | None = None) -> str:
    """The whole name of a column; `settings` are those of the runs, `tags` their metrics where these are known."""
    wanted = word.replace("-", "_") if "/" not in word else word
    known = set(settings)
    for name in (wanted, SHORT.get(wanted.lower(), ""), wanted.lower()):
        if name in FACTS or name in known:
            return name
    if wanted.lower() in SHORT and source_of(SHORT[wanted.lower()]) == "metric":
        return SHORT[wanted.lower()]
    if "/" in word:
        name = word if metric_of(word)[1] in WANTED else f"{word}.last"
        if tags is None or metric_of(name)[0] in set(tags):
            return name
        near = did_you_mean(metric_of(name)[0], tags)
        raise UnknownColumn(f"no run has logged '{metric_of(name)[0]}'; {near or 'mosaic metrics RUN lists the tags'}")
    if wanted in SHORT or wanted in SHORT.values():
        return SHORT.get(wanted, wanted)  # A usual setting that none of these runs happens to have.
    near = did_you_mean(word, [*FACTS, *SHORT, *known])
    raise UnknownColumn(f"'{word}' is not a column of these runs" + (f"; {near}" if near else ""))


def searched_text(run: RunRecord) -> str:
    words = (run.label, run.algo, run.env_id, run.state.value, " ".join(run.tags), run.notes, run.run_id)
    return "\n".join(words).lower()


def value_of(data: JsonValue) -> Value:
    """A setting as a cell has it: null is the word none, because an empty cell means that there is no such setting."""
    if data is None:
        return NONE
    return data if isinstance(data, (bool, int, float, str)) else json_text(data)


def text_of(value: Value) -> str:
    """What filters and groups compare."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ", ".join(value)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    return value if isinstance(value, str) else str(value)


def shown_value(name: str, value: Value) -> str:
    """What a cell says; empty where there is nothing."""
    if value is None:
        return ""
    kind = kind_of(name)
    if isinstance(value, (bool, str, tuple)):
        return text_of(value)
    match kind:
        case "count" | "setting":
            return show_number(value)
        case "moment":
            return datetime.fromtimestamp(value).astimezone().strftime("%Y-%m-%d %H:%M")
        case "duration":
            return _duration(value)
        case "share":
            return f"{value:.0%}"
        case _:
            return short_number(value)


def short_number(value: float) -> str:
    """A measured number."""
    if value != value:
        return "nan"
    size = abs(value)
    if size and (size < 1e-3 or size >= 1e7):
        return f"{value:.3g}"
    return f"{value:,.1f}" if size >= 100 else f"{value:.4g}"


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    hours, rest = divmod(round(seconds), 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"
