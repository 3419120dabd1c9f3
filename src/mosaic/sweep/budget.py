"""Whether a sweep may begin a further trial: its limits in trials, runs, steps and hours."""

from mosaic.sweep.sweep_state import SweepState

IN_A_ROW = 10
"""Trials that fail one after the other, after which the sweep ends: they would go on without costing anything."""


def elapsed_s(state: SweepState, now: float) -> float:
    """On the clock since the sweep was made, without pauses."""
    pause = now - state.paused_at if state.paused_at is not None else 0.0
    return max(0.0, now - state.plan.created_at - state.paused_s - pause)


def explored_steps(state: SweepState) -> int:
    """Made by trials that have ended, and asked for by those that run."""
    total = state.plan.total_timesteps
    runs = [run for trial in state.trials for run in trial.runs.values()]
    return sum(total if run.end in ("open", "stopped") else run.steps for run in runs)


def confirmation_s(state: SweepState, parallel: int) -> float:
    """How long a confirmation may take, by what runs took so far."""
    whole = [run.seconds for trial in state.trials for run in trial.runs.values() if run.end == "finished"]
    return sum(whole) / len(whole) * state.plan.confirm_runs / max(1, parallel) if whole else 0.0


def is_spent(state: SweepState, *, now: float, parallel: int) -> str:
    """Why no further trial is begun; empty if one may."""
    plan, number = state.plan, len(state.trials)
    if number >= plan.most_trials:
        return f"{number} trials"
    if plan.steps is not None:
        needed = explored_steps(state) + plan.confirm_steps + plan.trial_steps
        if needed > plan.steps:
            return f"{plan.steps:,} steps"
    if plan.hours is not None and number:
        took = elapsed_s(state, now) + confirmation_s(state, parallel)
        if took >= plan.hours * 3600:
            return f"{plan.hours:g} hours"
    return ""


def hopeless(state: SweepState) -> str:
    """Why going on makes no sense; empty if it does."""
    ended = [trial for trial in state.trials if trial.state != "running"]
    last = ended[-IN_A_ROW:]
    if len(last) == IN_A_ROW and all(trial.state == "failed" for trial in last):
        return f"{IN_A_ROW} trials in a row failed, the last one: {last[-1].reason}"
    return ""
