"""A run, and a table of runs, as HTML for a notebook: drawn with the page's own colours, without scripts."""

import base64
import math
from collections.abc import Sequence
from html import escape

from mosaic.plain_text import plain_line
from mosaic.rpc.client import Series
from mosaic.spec.run_record import RunRecord, damage_of
from mosaic.spec.states import RunState

COLOURS = {
    RunState.RUNNING: "#2f81f7",
    RunState.STARTING: "#2f81f7",
    RunState.FINISHED: "#2da44e",
    RunState.FAILED: "#d1242f",
    RunState.LOST: "#d1242f",
}
"""Of the dot before a state; those that wait or were ended by the user are grey."""
GREY = "#8b949e"
WIDTH, HEIGHT, MARGIN = 560.0, 150.0, 6.0


def card(run: RunRecord, curve: Series | None, picture: bytes = b"") -> str:
    """One run: what it is, how far it is, its returns, and what its environments look like."""
    parts = [
        f"<div><b>{_text(run.label or run.run_id)}</b> &nbsp;{_text(run.algo)} on {_text(run.env_id)},"
        f" seed {run.seed}</div>",
        f"<div>{state(run)} &nbsp;{progress(run)}</div>",
        *(f"<div>{_text(reason)}</div>" for reason in _reasons(run)),
        '<div style="display:flex;gap:16px;align-items:center;flex-wrap:wrap">',
        _curve(curve) if curve is not None and len(curve.values) > 1 else "",
        f'<img alt="live view" style="max-height:220px" src="{_data(picture)}">' if picture else "",
        "</div>",
        f'<div style="opacity:.65;font-size:85%">{_text(run.run_id)} · {_text(run.run_dir)}</div>',
    ]
    return f'<div style="line-height:1.6;max-width:900px">{"".join(parts)}</div>'


def table(runs: Sequence[RunRecord]) -> str:
    """A row for each run."""
    heads = ("label", "algorithm", "environment", "seed", "state", "steps", "return", "id")
    rows = [
        (
            _text(run.label),
            _text(run.algo),
            _text(run.env_id),
            str(run.seed),
            state(run),
            f"{run.global_step:,}",
            _score(run.last_return),
            f"<code>{_text(run.run_id)}</code>",
        )
        for run in runs
    ]
    head = "".join(f'<th style="text-align:left">{name}</th>' for name in heads)
    body = "".join(
        "<tr>" + "".join(f'<td style="text-align:left">{cell}</td>' for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def state(run: RunRecord) -> str:
    return f'<span style="color:{COLOURS.get(run.state, GREY)}">●</span> {run.state.value}'


def progress(run: RunRecord) -> str:
    of = f" of {run.steps_in_all:,}" if run.steps_in_all else ""
    rate = f", {run.steps_per_s:,.0f} steps/s" if run.state is RunState.RUNNING else ""
    mean = f", return {_score(run.last_return)} (mean of the last 100 episodes)" if run.last_return is not None else ""
    return f"{run.global_step:,}{of} steps{rate}{mean}"


def _reasons(run: RunRecord) -> list[str]:
    return [said for said in (run.reason, *damage_of(run)) if said]


def _curve(series: Series) -> str:
    """Return over steps, as a line from the lowest to the highest value; a gap where a value is not finite."""
    finite = [value for value in series.values if math.isfinite(value)]
    if not finite:
        return ""
    low, high = min(finite), max(finite)
    first, last = series.steps[0], series.steps[-1]
    across, up = (WIDTH - 2 * MARGIN) / max(last - first, 1), (HEIGHT - 2 * MARGIN) / ((high - low) or 1.0)
    pieces: list[list[str]] = [[]]
    for step, value in zip(series.steps, series.values, strict=True):
        if math.isfinite(value):
            pieces[-1].append(f"{MARGIN + (step - first) * across:.1f},{HEIGHT - MARGIN - (value - low) * up:.1f}")
        elif pieces[-1]:
            pieces.append([])
    lines = "".join(
        f'<polyline points="{" ".join(piece)}" fill="none" stroke="#2f81f7" stroke-width="1.5"/>'
        for piece in pieces
        if piece
    )
    note = f"{_text(series.tag)}: {_score(low)} to {_score(high)}, step {first:,} to {last:,}"
    return (
        f'<figure style="margin:4px 0"><svg width="{WIDTH:.0f}" height="{HEIGHT:.0f}" role="img" aria-label="{note}"'
        f' style="border:1px solid {GREY}55;border-radius:6px">{lines}</svg>'
        f'<figcaption style="opacity:.65;font-size:85%">{note}</figcaption></figure>'
    )


def _data(jpeg: bytes) -> str:
    return f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}"


def _score(value: float | None) -> str:
    return "–" if value is None else f"{value:,.1f}"


def _text(text: str) -> str:
    return escape(plain_line(text))
