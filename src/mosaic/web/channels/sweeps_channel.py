"""The sweeps of the daemon, and one of them with its trials."""

import asyncio
from typing import Any

from mosaic.errors import MosaicError
from mosaic.rpc import trainer_pb2 as pb
from mosaic.sweep import confirmation
from mosaic.sweep.sweep_reader import SweepReader, plan_of
from mosaic.sweep.sweep_state import AT_WORK, SweepState, Trial
from mosaic.web.channels.page_channel import Channel

LOOK_S = 1.0
VERBS = {
    "pause": AT_WORK,
    "continue": frozenset({"paused"}),
    "cancel": AT_WORK | {"paused"},
    "resume": frozenset({"cancelled", "failed"}),
}
"""What can be asked of a sweep, by its phase."""


class SweepsChannel(Channel):
    """Looked at every second; told where something changed."""

    async def work(self) -> None:
        wanted = self.word("sweep")
        reader: SweepReader | None = None
        told: object = None
        while True:
            sweeps = await self.ask(self.news.client.sweeps)
            found: dict[str, object] = {"sweeps": [summary_of(one) for one in sweeps]}
            if any(one.sweep_id == wanted and not one.damage for one in sweeps):
                reader = reader or SweepReader(self.news.client, wanted)
                found["sweep"] = await self.ask(lambda reader=reader: _trials(reader))
            elif wanted:
                found["missing"] = wanted
            if found != told:
                told = found
                await self.tell(**found)
            await asyncio.sleep(LOOK_S)


def summary_of(sweep: pb.Sweep) -> dict[str, object]:
    verbs = [] if sweep.asked else [verb for verb, phases in VERBS.items() if sweep.phase in phases]
    return {
        "sweep": sweep.sweep_id,
        "title": _title(sweep),
        "phase": sweep.phase,
        "reason": sweep.reason,
        "trials": sweep.trials,
        "ended": sweep.ended,
        "pruned": sweep.pruned,
        "failed": sweep.failed,
        "best": sweep.best_value if sweep.HasField("best_value") else None,
        "best_trial": sweep.best_trial if sweep.HasField("best_trial") else None,
        "confirmed": [sweep.confirmed_runs, sweep.confirm_runs],
        "created": sweep.created_at,
        "damage": sweep.damage,
        "verbs": verbs,
    }


def _title(sweep: pb.Sweep) -> str:
    """Its label, or what it is about; empty where its files are damaged."""
    if sweep.damage:
        return ""
    plan = plan_of(sweep)
    worker: Any = plan.document["metadata"]
    about = worker["worker"]["config"]
    return plan.label or f"{about['algo']} {about['env_id']}"


def _trials(reader: SweepReader) -> dict[str, Any]:
    try:
        state = reader.refresh()
    except MosaicError as error:
        return {"problem": error.sentence}
    return {
        "plan": {
            "goal": state.plan.goal,
            "metric": state.plan.metric,
            "names": _names(state),
        },
        "trials": [_trial(trial) for trial in state.trials],
        "confirmed": [
            {
                **one.as_json(),
                "iqm_text": f"{one.iqm_text}{', dropped' if one.is_dropped else ''}",
                "improvement_text": one.improvement_text,
            }
            for one in confirmation.results(state)
        ],
    }


def _names(state: SweepState) -> list[str]:
    return list(dict.fromkeys(name for trial in state.trials for name in trial.params))


def _trial(trial: Trial) -> dict[str, object]:
    return {
        "number": trial.number,
        "params": dict(trial.params),
        "state": trial.told_state,
        "kind": trial.shown_state,
        "value": trial.shown_value,
        "reports": [[step, value] for step, value in trial.reports.items()],
        "runs": [run.run_id for run in trial.runs.values() if run.run_id],
        "reason": trial.reason,
    }
