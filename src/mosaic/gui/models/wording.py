"""Events, tags and numbers in words: how the window says things."""

import re
from collections.abc import Mapping

from mosaic.gui.models.daemon.news import Level, LogLine, LogSource
from mosaic.gui.models.runs.terminal_text import plain
from mosaic.plain_text import plain_line
from mosaic.rpc.trainer_pb2 import Health
from mosaic.spec.events import (
    CheckpointSaved,
    EvalBatch,
    Event,
    PolicySaved,
    RunCompleted,
    RunFailed,
    RunStarted,
    VideoSaved,
    Warned,
)
from mosaic.spec.run_record import RunRecord

_LEVEL = re.compile(r"\[(?P<structlog>debug|info|warning|error|critical)\s*\]|^(?P<bare>error|warning):", re.IGNORECASE)
_LEVELS: Mapping[str, Level] = {"warning": "WARN", "error": "ERR", "critical": "ERR"}
_TITLES: Mapping[str, str] = {
    "charts/SPS": "Steps per second",
    "charts/episodic_return": "Episodic return",
    "charts/shaped_return": "Shaped return",
    "losses/entropy": "Policy entropy",
    "losses/old_approx_kl": "Old approx. KL",
    "losses/approx_kl": "Approx. KL",
    "losses/clipfrac": "Clip fraction",
    "losses/td_loss": "TD loss",
    "losses/qf1_loss": "Q1 loss",
    "losses/qf2_loss": "Q2 loss",
    "losses/qf_loss": "Q loss",
}


def indexing_of(health: Health | None) -> str:
    """How far the daemon's index is, while it is being built; empty once it is whole."""
    if health is None or health.indexed >= health.index_total:
        return ""
    return f"indexing: {health.indexed:,} of {health.index_total:,} runs"


def title_of(tag: str) -> str:
    """`losses/value_loss` is "Value loss"; the tag itself stays visible as a tool tip."""
    return _TITLES.get(tag) or plain_line(tag).rsplit("/", 1)[-1].replace("_", " ").capitalize()


def name_of(record: RunRecord) -> str:
    """The name that a person gave, else one made of algorithm, environment and seed."""
    if record.label:
        return record.label
    # Not by pathlib, which takes longer than all the rest of sorting ten thousand runs.
    env = record.env_id.rsplit(":", 1)[-1].rsplit("/", 1)[-1].rsplit("-v", 1)[0].lower()
    name = "_".join(part for part in (record.algo, env, f"s{record.seed}") if part)
    return f"eval_{name}" if record.kind == "policy_eval" else name


def summary_of(record: RunRecord) -> str:
    """`PPO · CartPole-v1`."""
    algo = record.algo.upper() if len(record.algo) <= 4 else record.algo
    return " · ".join(part for part in (algo, record.env_id) if part) or "starting"


def number(value: float) -> str:
    """A return or a loss, short."""
    if value != value or value in (float("inf"), float("-inf")):
        return str(value)
    size = abs(value)
    if size >= 1e6:
        return thousands(value)
    if size >= 100 or size == int(size):
        return f"{value:,.1f}"
    return f"{value:.3g}" if size < 1 else f"{value:.2f}"


def thousands(value: float) -> str:
    """A number on an axis: 2.5e-4, 500, 20k, 1.5M."""
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= unit:
            return f"{value / unit:.4g}{letter}"
    if 0 < abs(value) < 1e-3:
        mantissa, exponent = f"{value:.3e}".split("e")
        return f"{float(mantissa):g}e{int(exponent)}"
    return f"{value:.4g}"


def size(count: float) -> str:
    """Bytes: 13.1 GiB."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB" if count < 1024 else f"{count / 1024:.1f} TiB"


def duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"


def line_of_event(event: Event) -> LogLine | None:
    """An event in the log; what the charts show has no line."""
    level: Level = "INFO"
    match event.body:
        case RunStarted() as body:
            text = f"attempt {body.attempt} started · {body.algo} · {body.env_id} · seed {body.seed} · pid {body.pid}"
            if body.resumed_from_step is not None:
                text += f" · resumed from step {body.resumed_from_step:,}"
        case CheckpointSaved() as body:
            text = f"checkpoint saved · step {body.global_step:,} · {body.path}"
        case PolicySaved() as body:
            text = f"policy saved · step {body.global_step:,} · {body.path}"
        case VideoSaved() as body:
            text = f"video saved · episode {body.episode_id} · {body.path}"
        case EvalBatch() as body:
            level = "OK"
            mean, std = number(float(body.mean)), number(float(body.std))
            text = f"evaluation batch {body.batch} · {body.episodes} episodes · return {mean} ± {std}"
        case Warned(message=message):
            level, text = "WARN", message
        case RunCompleted() as body:
            level, text = "OK", f"{'stopped' if body.stopped else 'finished'} · {body.global_step:,} steps"
        case RunFailed() as body:
            level, text = "ERR", f"{body.error} at step {body.global_step:,}: {body.message}"
        case _:
            return None
    return LogLine("events", plain_line(text), level, event.time)


def line_of_output(line: bytes, source: LogSource) -> LogLine:
    """A line that a worker printed, as a terminal would show it."""
    text = plain(line.decode(errors="replace").rstrip("\n"))
    found = _LEVEL.search(text[:60])
    level = (found["structlog"] or found["bare"]).lower() if found else ""
    return LogLine(source, text, _LEVELS.get(level, "INFO" if found else ""))
