"""The runs of trials: submitted once each, begun again when their worker was killed, stopped, told of at their end.

Every call to the daemon here may be made a second time by a controller that came after a killed one. Submits and new
runs carry a key (`sweep/<id>/<trial>/<seed>`); everything else is decided by looking at the run first.
"""

import signal
import time
from typing import Any

from mosaic.errors import MosaicError
from mosaic.rpc.client import Client, Refused
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import TERMINAL, RunState
from mosaic.sweep import pruning
from mosaic.sweep.space import SCRIPT, applied
from mosaic.sweep.sweep_dir import SweepDir
from mosaic.sweep.sweep_state import Trial, TrialRun
from mosaic.sweep.trial_log import TrialLog
from mosaic.sweep.trial_score import score

MOST_KILLS = 25
"""How often a run is begun again whose worker was killed from outside, or is gone."""
MOST_CRASHES = 2
"""The same for one that ended by a signal of its own, as SIGSEGV."""
END_WAIT_S = 120.0


class MetricMissing(MosaicError):
    """A run has ended without a point of the metric that the sweep is about."""


class TrialRuns:
    """All that is done to runs."""

    def __init__(self, sweep: SweepDir, log: TrialLog, client: Client) -> None:
        self._sweep = sweep
        self._log = log
        self._client = client
        self._plan = log.state.plan

    def submit(self, trial: Trial, run: TrialRun, *, again: int = 0) -> None:
        """Have the daemon accept a run, once; settings that it refuses make the trial a failed one."""
        document = applied(self._plan.document, trial.params)
        # Statistics take runs of one name together: the seed that chose a trial is not among those that confirm it.
        stage = " confirmed" if run.seed in trial.confirmed else ""
        document["run_name"] = f"{self._label}, trial {trial.number}{stage}, seed {run.seed}"
        document["metadata"]["worker"]["config"]["seed"] = run.seed
        _say_where_from(document, self._sweep.sweep_id, trial)
        key = f"sweep/{self._sweep.sweep_id}/{trial.number}/{run.seed}" + (f"/{again}" if again else "")
        try:
            made = self._client.submit(document, client_key=key, priority=self._plan.priority)
        except Refused as error:
            if error.status != "INVALID_ARGUMENT" or trial.number == 0:
                raise
            self._tell(trial, run, "failed", reason=f"refused: {_one_line(error)}")
            return
        self._log.write("submitted", trial=trial.number, seed=run.seed, run_id=made[0].run_id)

    def look(self, trial: Trial, run: TrialRun) -> RunRecord | None:
        """See to an open run; its record while it lives."""
        record = self._record(run)
        if record is None:
            self._tell(trial, run, "failed", reason="the run was deleted")
            return None
        if record.state not in TERMINAL:
            self._watch(trial, run, record)
            return record
        if record.state is RunState.FINISHED:
            self._finished(trial, run, record)
        elif record.state is RunState.CANCELLED:
            end = "pruned" if trial.prune_step is not None else "cancelled"
            reason = "" if end == "pruned" else "the run was cancelled"
            self._tell(trial, run, end, record, reason=reason)
        elif run.again < _most(record):
            self.begin_again(trial, run)
        else:
            self._tell(trial, run, "failed", record, reason=_one_line(record.reason) or record.state.value)
        return None

    def begin_again(self, trial: Trial, run: TrialRun) -> None:
        """From its newest checkpoint, exactly; from the beginning where it has none."""
        record = self._record(run)
        if record is not None and record.state is RunState.FINISHED:
            self._finished(trial, run, record)
            return
        if record is not None and record.state in TERMINAL:
            try:
                self._client.resume(run.run_id)
            except Refused as error:
                if error.status != "FAILED_PRECONDITION":
                    raise
                if "checkpoint" not in str(error):
                    return  # Its worker is just ending: the next look tries again.
                record = None
        if record is None:
            self.submit(trial, run, again=run.again + 1)
        else:
            self._log.write("submitted", trial=trial.number, seed=run.seed, run_id=run.run_id)

    def stop(self, trial: Trial, run: TrialRun) -> None:
        """End a run at a checkpoint, to be resumed later; told of if it has ended by itself."""
        self._client.cancel(run.run_id)
        deadline = time.monotonic() + END_WAIT_S
        while (record := self._record(run)) is not None and record.state not in TERMINAL:
            if time.monotonic() > deadline:
                raise MosaicError(f"run {run.run_id} does not end")
            time.sleep(0.1)
        if record is not None and record.state is RunState.FINISHED:
            self._finished(trial, run, record, is_last=True)
        else:
            self._log.write("stopped", trial=trial.number, seed=run.seed)

    def hold(self, trial: Trial, run: TrialRun) -> None:
        """Pause a run that trains; one that waits for its start is paused once it has begun."""
        record = self._record(run) if run.run_id else None
        if not run.run_id:
            self._log.write("held", trial=trial.number, seed=run.seed)
        elif record is None or record.state in TERMINAL:
            self.look(trial, run)
        elif record.state is RunState.RUNNING:
            self._client.pause(run.run_id)
        elif record.state is RunState.PAUSED:
            self._log.write("held", trial=trial.number, seed=run.seed)

    def let_go(self, run: TrialRun) -> None:
        record = self._record(run) if run.run_id else None
        if record is not None and record.state is RunState.PAUSED:
            self._client.go_on(run.run_id)

    def _watch(self, trial: Trial, run: TrialRun, record: RunRecord) -> None:
        """Note the metric at the steps at which trials are compared, and stop one that has lost."""
        if run.seed not in trial.runs:
            return
        if trial.prune_step is not None:
            self._client.cancel(run.run_id)
            return
        if not pruning.is_watched(self._plan, trial):
            return
        for step in pruning.rungs(self._plan):
            if step <= record.global_step and step not in run.reports:
                value = score(self._client, run.run_id, self._plan.metric, up_to=step).value
                if value is not None:
                    self._log.write(
                        "reported", durable=False, trial=trial.number, seed=run.seed, step=step, value=value
                    )
        if not pruning.saves_steps(self._plan, record.global_step):
            return
        if (lost_at := pruning.stop_at(self._log.state, trial)) is not None:
            self._log.write("prune", trial=trial.number, step=lost_at)
            self._client.cancel(run.run_id)

    def _finished(self, trial: Trial, run: TrialRun, record: RunRecord, *, is_last: bool = False) -> None:
        """MetricMissing if no run so far has logged the metric, unless the sweep is ending anyway."""
        found = score(self._client, run.run_id, self._plan.metric)
        if found.is_missing and not is_last and not any(one.value is not None for _, one in self._log.state.runs):
            raise MetricMissing(found.problem)
        end = "finished" if found.value is not None else "failed"
        self._tell(trial, run, end, record, value=found.value, reason=found.problem)

    def _tell(
        self,
        trial: Trial,
        run: TrialRun,
        end: str,
        record: RunRecord | None = None,
        *,
        value: float | None = None,
        reason: str = "",
    ) -> None:
        told: dict[str, Any] = {}
        if record is not None:
            told = {"steps": record.global_step, "seconds": round(record.ended_at - record.started_at, 3)}
        self._log.write("told", trial=trial.number, seed=run.seed, end=end, value=value, reason=reason, **told)

    def _record(self, run: TrialRun) -> RunRecord | None:
        """None if it is not there any more."""
        try:
            return self._client.get(run.run_id)
        except Refused as error:
            if error.status != "NOT_FOUND":
                raise
            return None

    @property
    def _label(self) -> str:
        return self._plan.label or f"sweep {self._sweep.sweep_id[-6:]}"


def _say_where_from(document: dict[str, Any], sweep_id: str, trial: Trial) -> None:
    """In `metadata.ui.sweep`; a script that asks `wandb.config` is told these settings, too."""
    ui = document["metadata"].setdefault("ui", {})
    constants = ui.get("sweep", {}).get("params", {})
    params = {name.removeprefix(SCRIPT): value for name, value in trial.params.items()}
    ui["sweep"] = {"sweep_id": sweep_id, "trial": trial.number, "params": {**constants, **params}}


def _most(record: RunRecord) -> int:
    """How often a run that ended like this may be begun again; 0 if it failed by itself."""
    if record.state is RunState.LOST or record.exit_code == -signal.SIGKILL:
        return MOST_KILLS
    return MOST_CRASHES if record.exit_code is not None and record.exit_code < 0 else 0


def _one_line(text: object) -> str:
    return " ".join(str(text).split())
