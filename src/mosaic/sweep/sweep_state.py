"""A sweep as its two files of lines tell it: trials, their runs, how far it is. Nothing else is known of it."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast

from mosaic.numbers import decimals
from mosaic.sweep.space import Params
from mosaic.sweep.sweep_dir import Line, SweepDir, read_lines
from mosaic.sweep.sweep_plan import Goal, SweepPlan

RunEnd: TypeAlias = Literal["open", "stopped", "finished", "failed", "cancelled", "pruned"]
TrialState: TypeAlias = Literal["running", "finished", "failed", "pruned"]
ShownState: TypeAlias = Literal["running", "paused", "stopped", "finished", "failed", "pruned"]
ORDER: Mapping[ShownState, int] = {"finished": 0, "running": 1, "paused": 1, "stopped": 2, "pruned": 3, "failed": 4}
"""Of trials in a table."""
Phase: TypeAlias = Literal["exploring", "confirming", "paused", "finished", "cancelled", "failed"]
AT_WORK: frozenset[str] = frozenset({"exploring", "confirming"})
"""Phases in which a controller has something to do."""


@dataclass
class TrialRun:
    """One seed of a trial."""

    seed: int
    run_id: str = ""
    """Empty until the daemon has accepted it."""
    end: RunEnd = "open"
    value: float | None = None
    steps: int = 0
    """Environment steps that it made."""
    seconds: float = 0.0
    """From its start to its end."""
    reason: str = ""
    again: int = 0
    """How often it was begun again, after its worker was killed or the sweep was cancelled."""
    is_held: bool = False
    """Paused together with the sweep."""
    reports: dict[int, float] = field(default_factory=dict[int, float])
    """The metric on the way, by step."""


@dataclass
class Trial:
    """Settings that are tried, with every seed of the plan."""

    number: int
    params: Params
    runs: dict[int, TrialRun]
    """By seed."""
    confirmed: dict[int, TrialRun] = field(default_factory=dict[int, TrialRun])
    """With fresh seeds."""
    prune_step: int | None = None
    """Where it was decided to stop it."""
    is_reopened: bool = False
    """It was pruned, and a user wants to see it to its end."""
    asked_at: float = 0.0
    """Unix seconds."""
    ended_at: float = 0.0
    """When its last run was told of; 0 before."""

    @property
    def state(self) -> TrialState:
        ends = {run.end for run in self.runs.values()}
        if ends & {"open", "stopped"}:
            return "running"
        if ends & {"failed", "cancelled"}:
            return "failed"
        return "pruned" if "pruned" in ends else "finished"

    @property
    def shown_state(self) -> ShownState:
        """What a user is told: a trial that is not over may be at rest together with its sweep."""
        unended = [run for run in self.runs.values() if run.end in ("open", "stopped")]
        if not unended:
            return self.state
        if all(run.end == "stopped" for run in unended):
            return "stopped"
        return "paused" if all(run.is_held or run.end == "stopped" for run in unended) else "running"

    @property
    def value(self) -> float | None:
        """The mean over its seeds, once all have ended well."""
        values = [run.value for run in self.runs.values()]
        found = [value for value in values if value is not None]
        return sum(found) / len(found) if self.state == "finished" and len(found) == len(values) and found else None

    @property
    def reports(self) -> dict[int, float]:
        """The mean over its seeds, at each step that all of them have reported."""
        each = [run.reports for run in self.runs.values()]
        common = set(each[0]).intersection(*each[1:]) if each else set[int]()
        return {step: sum(one[step] for one in each) / len(each) for step in sorted(common)}

    @property
    def shown_value(self) -> float | None:
        """Its value; of a pruned trial the last one on the way."""
        reports = self.reports
        return self.value if self.value is not None or not reports else reports[max(reports)]

    @property
    def told_state(self) -> str:
        return f"pruned at {self.prune_step:,}" if self.state == "pruned" and self.prune_step else self.shown_state

    @property
    def reason(self) -> str:
        return next((run.reason for run in self.runs.values() if run.reason), "")

    @property
    def confirmed_values(self) -> list[float]:
        return [run.value for run in self.confirmed.values() if run.value is not None]

    @property
    def failed_seeds(self) -> int:
        """Fresh seeds that gave no score."""
        return sum(run.end in ("failed", "cancelled") for run in self.confirmed.values())


@dataclass
class SweepState:
    """All that is known of a sweep."""

    plan: SweepPlan
    trials: list[Trial] = field(default_factory=list[Trial])
    phase: Phase = "exploring"
    reason: str = ""
    """Why it is in this phase, where there is something to say."""
    confirming: bool = False
    """Whether the settings to confirm are chosen."""
    heard: int = 0
    """Number of the last request that the controller has followed."""
    asked: int = 0
    """Number of the last request."""
    code: dict[str, str] = field(default_factory=dict[str, str])
    """Digests of the user's files that the trials run, by path."""
    warnings: list[str] = field(default_factory=list[str])
    paused_s: float = 0.0
    """Seconds of pauses that are over."""
    paused_at: float | None = None
    ended_at: float | None = None

    @property
    def needs_controller(self) -> bool:
        unheld = self.phase == "paused" and any(not run.is_held for _, run in self.open_runs)
        return self.phase in AT_WORK or self.asked > self.heard or unheld

    @property
    def runs(self) -> list[tuple[Trial, TrialRun]]:
        """Every run, in the order of trials."""
        return [(trial, run) for trial in self.trials for run in (*trial.runs.values(), *trial.confirmed.values())]

    @property
    def open_runs(self) -> list[tuple[Trial, TrialRun]]:
        return [(trial, run) for trial, run in self.runs if run.end == "open"]

    @property
    def default(self) -> Trial | None:
        return self.trials[0] if self.trials else None

    @property
    def value_spec(self) -> str:
        """How its values are printed: with as many digits as tell them apart."""
        values = [trial.shown_value for trial in self.trials]
        return f".{decimals([value for value in values if value is not None])}f"

    @property
    def arranged(self) -> list[Trial]:
        """Best first, then those that run, were pruned and failed."""

        def key(trial: Trial) -> tuple[int, float, int]:
            value = trial.shown_value
            return ORDER[trial.shown_state], 0.0 if value is None else sort_key(value, self.plan.goal), trial.number

        return sorted(self.trials, key=key)

    @property
    def best(self) -> Trial | None:
        """Of the trials that have ended well; what a single seed says."""
        return next(iter(self.ranking()), None)

    def ranking(self) -> list[Trial]:
        """Trials that have ended well, best first; the same settings once."""
        ended = [trial for trial in self.trials if trial.value is not None]
        ended.sort(key=lambda trial: sort_key(trial.value or 0.0, self.plan.goal))
        seen: set[str] = set()
        found: list[Trial] = []
        for trial in ended:
            key = repr(sorted(trial.params.items()))
            if key not in seen:
                seen.add(key)
                found.append(trial)
        return found

    def apply(self, line: Line) -> None:
        """One line of `trials.jsonl`; one of a newer version is left out."""
        made = _APPLY.get(str(line.get("kind")))
        if made is not None:
            made(self, line)

    def run(self, number: int, seed: int) -> TrialRun:
        trial = self.trials[number]
        return trial.confirmed[seed] if seed in trial.confirmed else trial.runs[seed]


def sort_key(value: float, goal: Goal) -> float:
    """Best first."""
    return -value if goal == "maximize" else value


def read(sweep: SweepDir) -> SweepState:
    return fold(sweep.read_plan(), read_lines(sweep.trials), read_lines(sweep.requests))


def fold(plan: SweepPlan, lines: Iterable[Line], requests: Iterable[Line]) -> SweepState:
    state = SweepState(plan)
    for line in lines:
        state.apply(line)
    state.asked = max((int(line["request"]) for line in requests), default=0)
    return state


def _asked(state: SweepState, line: Line) -> None:
    params = cast("Mapping[str, Any]", line["params"])
    runs = {seed: TrialRun(seed) for seed in state.plan.seeds_of(int(line["trial"]))}
    state.trials.append(Trial(int(line["trial"]), dict(params), runs, asked_at=float(line.get("at", 0.0))))


def _submitted(state: SweepState, line: Line) -> None:
    run = state.run(line["trial"], line["seed"])
    run.again += bool(run.run_id)
    run.run_id, run.end = line["run_id"], "open"


def _reported(state: SweepState, line: Line) -> None:
    state.run(line["trial"], line["seed"]).reports[int(line["step"])] = float(line["value"])


def _prune(state: SweepState, line: Line) -> None:
    state.trials[line["trial"]].prune_step = int(line["step"])


def _told(state: SweepState, line: Line) -> None:
    run = state.run(line["trial"], line["seed"])
    value = line.get("value")
    run.end, run.value = line["end"], None if value is None or not math.isfinite(value) else float(value)
    run.steps, run.seconds = int(line.get("steps", 0)), float(line.get("seconds", 0.0))
    run.reason = str(line.get("reason", ""))
    state.trials[line["trial"]].ended_at = float(line.get("at", 0.0))


def _stopped(state: SweepState, line: Line) -> None:
    state.run(line["trial"], line["seed"]).end = "stopped"


def _reopened(state: SweepState, line: Line) -> None:
    trial = state.trials[int(line["trial"])]
    trial.prune_step, trial.is_reopened = None, True
    for run in trial.runs.values():
        if run.end == "pruned":
            run.end, run.value = "stopped", None


def _confirm(state: SweepState, line: Line) -> None:
    state.confirming = True
    state.phase = "confirming" if state.phase == "exploring" else state.phase
    for number in line["trials"]:
        for seed in line["seeds"]:
            state.trials[number].confirmed.setdefault(seed, TrialRun(seed))


def _heard(state: SweepState, line: Line) -> None:
    state.heard = max(state.heard, int(line["request"]))
    at = float(line.get("at", 0.0))
    if line["verb"] == "pause":
        state.phase, state.paused_at, state.reason = "paused", at, str(line.get("reason", ""))
    elif line["verb"] in ("continue", "resume"):
        _go_on(state, at)


def _held(state: SweepState, line: Line) -> None:
    state.run(line["trial"], line["seed"]).is_held = True


def _hold(state: SweepState, line: Line) -> None:
    """Paused by the controller itself, with a reason."""
    state.phase, state.paused_at, state.reason = "paused", float(line.get("at", 0.0)), str(line["reason"])


def _go_on(state: SweepState, at: float) -> None:
    since = state.paused_at if state.paused_at is not None else state.ended_at
    if since is not None:
        state.paused_s += max(0.0, at - since)
    state.paused_at = state.ended_at = None
    for _, run in state.runs:
        run.is_held = False
    state.phase, state.reason = ("confirming" if state.confirming else "exploring"), ""


def _ended(state: SweepState, line: Line) -> None:
    state.phase, state.reason = line["end"], str(line.get("reason", ""))
    state.ended_at = float(line.get("at", 0.0))


def _code(state: SweepState, line: Line) -> None:
    state.code = dict(cast("Mapping[str, str]", line["files"]))


def _warning(state: SweepState, line: Line) -> None:
    state.warnings.append(str(line["text"]))


_APPLY: Mapping[str, Any] = {
    "asked": _asked,
    "submitted": _submitted,
    "reported": _reported,
    "prune": _prune,
    "told": _told,
    "stopped": _stopped,
    "reopened": _reopened,
    "confirm": _confirm,
    "heard": _heard,
    "held": _held,
    "hold": _hold,
    "ended": _ended,
    "code": _code,
    "warning": _warning,
}
"""What each kind of line means; docs/protocols/sweep-directory.md has the same list."""
