"""A run on one line: bar, steps, rate, return and its course, time left; as much of it as fits."""

from mosaic.cli.terminal import readable
from mosaic.cli.terminal.printing import clean, fit, pad, paint, width_of
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import RunState

BAR_COLUMNS = (8, 24)
SPARK_COLUMNS = (6, 24)
WAITING = {
    RunState.QUEUED: "queued: waits for a free slot",
    RunState.STARTING: "starting …",
    RunState.STOPPING: "stopping: saves a checkpoint first …",
}


def line_of(run: RunRecord, width: int, name: str = "") -> str:
    """At most `width` columns, colours not counted; `name` tells several runs apart."""
    head = f"{name}  " if name else ""
    room = width - width_of(head)
    if run.state in WAITING:
        return head + paint(fit(WAITING[run.state], room), readable.COLOUR_OF[run.state])
    if run.state not in (RunState.RUNNING, RunState.PAUSED):
        return head + paint(fit(summary_of(run), room), readable.COLOUR_OF[run.state])
    return head + (_evaluation(run, room) if not run.total_timesteps else _training(run, room))


def _evaluation(run: RunRecord, room: int) -> str:
    doing, unit = ("playing", "step") if run.kind == "play" else ("evaluating", "episode")
    shown = f"{doing}: {readable.plural(run.global_step, unit)}, return {readable.score(run.last_return)}"
    return fit(shown, room)


def _training(run: RunRecord, room: int) -> str:
    done = run.done or 0.0
    eta = "paused" if run.state is RunState.PAUSED else _eta(run)
    parts = [
        f"{done:4.0%}",
        f"{run.global_step:,} / {readable.count(run.total_timesteps)}",
        f"{readable.count(run.steps_per_s)}/s",
        f"return {readable.score(run.last_return)}",
        eta,
    ]
    # Least needed first, where even the numbers alone do not fit.
    for at in (2, 1, 4):
        if width_of("  ".join(filter(None, parts))) <= room:
            break
        parts[at] = ""
    texts = [part for part in parts if part]
    left = room - width_of("  ".join(texts))
    spark_room = min(SPARK_COLUMNS[1], (left - 4) // 2)
    if spark_room >= SPARK_COLUMNS[0] and run.sparkline:
        spark = pad(readable.sparkline(run.sparkline, spark_room), min(spark_room, len(run.sparkline)))
        texts.insert(-1, paint(spark, "cyan"))
        left -= width_of(spark) + 2
    bar_room = min(BAR_COLUMNS[1], left - 2)
    if bar_room >= BAR_COLUMNS[0]:
        texts.insert(1, _bar(done, bar_room))
        return "  ".join(texts)
    return fit("  ".join(texts), room) if width_of("  ".join(texts)) > room else "  ".join(texts)


def _bar(done: float, width: int) -> str:
    full = int(done * width)
    return paint("━" * full, "green") + paint("─" * (width - full), "dim")


def _eta(run: RunRecord) -> str:
    return "" if run.eta_s is None else f"{readable.duration(run.eta_s)} left"


def summary_of(run: RunRecord) -> str:
    """How an ended run ended."""
    # A resumed run may have rested for days between its attempts.
    took = f" in {readable.duration(run.ended_at - run.started_at)}" if run.ended_at and run.started_at else ""
    took = took if run.attempt <= 1 else f" in {run.attempt} attempts"
    unit = "episode" if run.kind == "policy_eval" else "step"
    scored = ""
    if run.last_return is not None:
        best = f" (best {readable.score(run.best_return)})" if run.total_timesteps else ""
        scored = f", return {readable.score(run.last_return)}{best}"
    why = f": {clean(run.reason)}" if run.reason else ""
    if run.state in (RunState.FAILED, RunState.LOST):
        return f"{run.state}{why}"
    return f"{run.state} after {readable.plural(run.global_step, unit)}{took}{scored}"
