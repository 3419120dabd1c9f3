"""What the command line shows of a sweep: its line in the list, its trials as a table, its end as a statement."""

from collections.abc import Mapping, Sequence
from typing import Any

from mosaic import config
from mosaic.cli.runs.run_by_name import shown_id
from mosaic.cli.terminal import readable
from mosaic.cli.terminal.printing import clean, paint, pairs, table
from mosaic.cli.terminal.readable import plural
from mosaic.numbers import decimals, show_number
from mosaic.rpc import trainer_pb2 as pb
from mosaic.sweep import confirmation, importance
from mosaic.sweep.space import Value
from mosaic.sweep.sweep_plan import SweepPlan
from mosaic.sweep.sweep_reader import SweepReader, plan_of
from mosaic.sweep.sweep_state import ORDER, SweepState, Trial

COLOUR_OF = {
    "exploring": "cyan",
    "confirming": "cyan",
    "paused": "yellow",
    "finished": "green",
    "cancelled": "yellow",
    "failed": "red",
}
LIMIT = 20
REASONS = 3
"""Why trials failed: so many different reasons are told."""
TRIALS_OF_REASON = 8
NAMES = ("sweep", "label", "phase", "trials", "pruned", "failed", "best", "started")


def list_lines(sweeps: Sequence[pb.Sweep]) -> list[str]:
    return table(NAMES, [_row(sweep) for sweep in sweeps], right=("trials", "pruned", "failed", "best"), shrink="label")


def _row(sweep: pb.Sweep) -> list[str]:
    if sweep.damage:
        return [shown_id(sweep.sweep_id), clean(sweep.damage), "damaged", "", "", "", "", ""]
    plan = plan_of(sweep)
    best = (
        f"{sweep.best_value:.{decimals([sweep.best_value])}f}{plan.of_seeds}" if sweep.HasField("best_value") else "–"
    )
    return [
        shown_id(sweep.sweep_id),
        clean(plan.label or f"{plan.algo} {plan.env_id}"),
        phase_of(sweep),
        f"{sweep.ended}/{planned(plan, sweep)}",
        str(sweep.pruned),
        str(sweep.failed),
        best,
        readable.when(sweep.created_at),
    ]


def phase_of(sweep: pb.Sweep) -> str:
    """With what is on its way."""
    if sweep.asked:
        return f"{sweep.phase} ({sweep.asked} asked for)"
    if sweep.phase == "confirming":
        return f"confirming {sweep.confirmed_runs}/{sweep.confirm_runs}"
    return sweep.phase


def planned(plan: SweepPlan, sweep: pb.Sweep) -> str:
    """Trials in all, where that is known."""
    is_open = plan.trials is None and plan.runs is None
    return str(sweep.trials) if is_open or sweep.phase not in ("exploring", "paused") else str(plan.most_trials)


def page(reader: SweepReader, *, limit: int = LIMIT) -> list[str]:
    """Everything about a sweep."""
    state, sweep = reader.state, reader.summary
    plan = state.plan
    lines = pairs(
        {
            "sweep": sweep.sweep_id,
            "label": clean(plan.label),
            "phase": paint(phase_of(sweep), COLOUR_OF.get(sweep.phase, "")) + _why(sweep),
            "algorithm": plan.algo,
            "environment": plan.env_id,
            "trials": _counts(state),
            "budget": budget_text(plan),
            "method": f"{plan.method}, pruning: {plan.prune}, judged by {plan.goal[:3]} {plan.metric}",
            "notes": "\n".join(map(clean, (*plan.notes, *state.warnings))),
        }
    )
    lines += ["", *trial_lines(state, limit=limit)]
    if shares := importance.importances(state):
        lines += ["", "importance  " + "  ".join(f"{name} {share:.0%}" for name, share in shares.items())]
    elif state.trials:
        lines += ["", paint(importance.why_unknown(state), "dim")]
    if confirmed := confirmed_lines(state):
        lines += ["", *confirmed]
    return lines


def _why(sweep: pb.Sweep) -> str:
    said = f": {clean(sweep.reason)}" if sweep.reason else ""
    is_alone = sweep.phase in ("exploring", "confirming") and not sweep.has_controller
    return said + (" (its controller is being started)" if is_alone else "")


def _counts(state: SweepState) -> str:
    states = [trial.shown_state for trial in state.trials]
    said = [f"{states.count(one)} {one}" for one in ORDER if one in states]
    return ", ".join(said) or "none yet"


def budget_text(plan: SweepPlan) -> str:
    limits = {"trials": plan.trials, "runs": plan.runs, "steps": plan.steps, "hours": plan.hours}
    said = [f"{show_number(limit)} {name}" for name, limit in limits.items() if limit is not None]
    own = f"{plural(plan.own_seeds, 'seed')} of its own for each trial"
    runs = f"{plan.total_timesteps:,} steps a run, {own if plan.own_seeds else f'seeds {_listed(plan.seeds)}'}"
    if plan.confirm_best:
        runs += f"; {confirm_text(plan)}"
    return f"{', '.join(said)} ({runs})"


def confirm_text(plan: SweepPlan) -> str:
    """Who gets how many fresh seeds at the end."""
    seeds = len(plan.confirm_seeds)
    if not plan.race or plan.confirm_best < 2:
        return f"the best {plan.confirm_best} and the default again with {seeds} fresh seeds"
    race = f"a race of the best {plan.confirm_best} over {seeds} fresh seeds"
    return f"{race}, and the default with all of them: {plan.confirm_runs} runs at most"


def trial_lines(state: SweepState, *, limit: int = LIMIT) -> list[str]:
    """Best first, then those that run, were pruned and failed."""
    names = [one.name for one in state.plan.space]
    shown = state.arranged
    spec = state.value_spec
    rows = [_trial_row(trial, names, spec) for trial in shown[: limit or None]]
    heads = ("trial", "state", state.plan.value_title, *names)
    lines = table(heads, rows, right=("trial", state.plan.value_title, *names))
    left = len(shown) - len(rows)
    if left > 0:
        lines.append(paint(f"{left} more: --limit 0 lists all", "dim"))
    return [*lines, *_failure_lines(state)]


def _failure_lines(state: SweepState) -> list[str]:
    """Why trials failed: each reason once, with the first trials that it is of."""
    found: dict[str, list[int]] = {}
    for trial in state.trials:
        if trial.state == "failed":
            found.setdefault(trial.reason or "no reason is known", []).append(trial.number)
    lines: list[str] = []
    for reason, numbers in [*found.items()][:REASONS]:
        more = ", …" if len(numbers) > TRIALS_OF_REASON else ""
        who = ", ".join(map(str, numbers[:TRIALS_OF_REASON]))
        lines.append(f"{'trials' if len(numbers) > 1 else 'trial'} {who}{more}: {clean(reason)}")
    if len(found) > REASONS:
        lines.append(paint(f"{len(found) - REASONS} further reasons: 'mosaic sweep show --json' has them all", "dim"))
    return ["", *lines] if lines else []


def trial_lines_of(trial: Trial, state: SweepState) -> list[str]:
    """One trial on one line, as it ends."""
    number, how, value, *_ = _trial_row(trial, (), state.value_spec)
    settings = " ".join(f"{one.name}={_shown(trial, one.name)}" for one in state.plan.space)
    return [f"trial {number}", how, value + state.plan.of_seeds, settings, clean(trial.reason)]


def _trial_row(trial: Trial, names: Sequence[str], spec: str) -> list[str]:
    value = "–" if trial.shown_value is None else format(trial.shown_value, spec)
    name = "0 default" if trial.number == 0 else str(trial.number)
    return [name, trial.told_state, value, *(_shown(trial, one) for one in names)]


def _shown(trial: Trial, name: str) -> str:
    """A script's own default is not known."""
    return show_value(trial.params[name]) if name in trial.params else "–"


def confirmed_lines(state: SweepState) -> list[str]:
    """Settings with fresh seeds: n, IQM with its interval, and how likely a run beats one of the default."""
    found = confirmation.results(state)
    rows = [
        [
            "0 default" if one.trial.number == 0 else str(one.trial.number),
            one.seeds_text,
            one.iqm_text,
            one.improvement_text,
        ]
        for one in found
    ]
    if not rows:
        return []
    heads = ("confirmed", "seeds", "IQM [95 %]", "better than the default [95 %]")
    lines = table(heads, rows, right=("confirmed", "seeds"))
    is_over = state.phase not in ("exploring", "confirming")
    return [*lines, "", confirmation.statement(state)] if is_over else lines


def show_value(value: Value) -> str:
    if isinstance(value, bool) or value is None:
        return str(value).lower() if isinstance(value, bool) else "none"
    return show_number(value) if isinstance(value, (int, float)) else clean(value)


def as_json(sweep: pb.Sweep) -> dict[str, Any]:
    """Of a list."""
    found: dict[str, Any] = {name: getattr(sweep, name) for name in _PLAIN}
    found["best_trial"] = sweep.best_trial if sweep.HasField("best_trial") else None
    found["best_value"] = sweep.best_value if sweep.HasField("best_value") else None
    found["plan"] = config.loads(sweep.plan_json) if sweep.plan_json else None
    return found


_PLAIN = (
    "sweep_id",
    "phase",
    "reason",
    "trials",
    "ended",
    "pruned",
    "failed",
    "confirmed_runs",
    "confirm_runs",
    "created_at",
    "has_controller",
    "damage",
    "asked",
)


def whole_json(reader: SweepReader) -> dict[str, Any]:
    """All about one."""
    state = reader.state
    return {
        **as_json(reader.summary),
        "importance": dict(importance.importances(state)),
        "confirmed": [one.as_json() for one in confirmation.results(state)],
        "statement": confirmation.statement(state),
        "trial_list": [_trial_json(trial) for trial in state.trials],
    }


def _trial_json(trial: Trial) -> Mapping[str, Any]:
    runs = [{**vars(run), "is_confirmation": False} for run in trial.runs.values()]
    runs += [{**vars(run), "is_confirmation": True} for run in trial.confirmed.values()]
    return {
        "trial": trial.number,
        "state": trial.state,
        "value": trial.value,
        "params": trial.params,
        "prune_step": trial.prune_step,
        "reason": trial.reason,
        "runs": runs,
    }


def _listed(seeds: Sequence[int]) -> str:
    is_row = len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[-1] + 1))
    return f"{seeds[0]}-{seeds[-1]}" if is_row else ", ".join(map(str, seeds))
