"""Events, tags and numbers in words: how the window says things."""

from collections.abc import Mapping

from mosaic.plain_text import plain_line
from mosaic.rpc.trainer_pb2 import Health
from mosaic.spec.run_record import RunRecord

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
    name = "_".join(filter(None, (record.algo, env, f"s{record.seed}")))
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
