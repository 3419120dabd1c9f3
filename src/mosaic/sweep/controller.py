"""The controller of a sweep: what its files say is all that it knows, so it can be killed at any moment.

One look after the other: follow what users asked for, see to the open runs, begin further ones, go on to the next
stage. It proposes nothing before the daemon has accepted what was proposed before.
"""

import contextlib
import time
from typing import cast

from mosaic.errors import MosaicError
from mosaic.log import get_logger
from mosaic.rpc.client import Client, DaemonUnavailable, Refused
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import RunState
from mosaic.sweep import budget, confirmation, proposals, pruning, race, race_decision, user_code
from mosaic.sweep.proposals import Proposals
from mosaic.sweep.space import Params
from mosaic.sweep.sweep_dir import Line, SweepDir
from mosaic.sweep.sweep_state import AT_WORK, Trial, TrialRun
from mosaic.sweep.trial_log import TrialLog
from mosaic.sweep.trial_runs import TrialRuns

SOONEST_S = 0.2
LATEST_S = 5.0
HEARING_S = 0.5
"""How long a request of a user may wait."""

log = get_logger()


class Controller:
    """Of one sweep, for one connection to the daemon."""

    def __init__(self, sweep: SweepDir, trials: TrialLog, client: Client) -> None:
        self._sweep = sweep
        self._log = trials
        self._client = client
        self._runs = TrialRuns(sweep, trials, client)
        self._proposals: Proposals | None = None
        self._slots = 0
        self._has_nothing_new = False
        """There are no other settings to propose."""
        self._requests_size = -1

    def run(self) -> None:
        """Until the sweep has ended or is paused."""
        self.begin()
        while (wait_s := self.tick()) is not None:
            deadline = time.monotonic() + wait_s
            while time.monotonic() < deadline and not self._is_asked():
                time.sleep(min(HEARING_S, max(0.0, deadline - time.monotonic())))

    def begin(self) -> None:
        """Before the first look."""
        self._slots = self._parallel()
        state = self._log.state
        if state.phase in AT_WORK and not state.code and (found := user_code.digests(state.plan, self._client)):
            self._log.write("code", files=found)

    def tick(self) -> float | None:
        """One look; seconds to the next one, None if there is nothing more to do."""
        for request in self._requests():
            self._follow(request)
        state = self._log.state
        if state.phase == "paused":
            for trial, run in state.open_runs:
                if not run.is_held:
                    self._runs.hold(trial, run)
            return SOONEST_S if any(not run.is_held for _, run in state.open_runs) else None
        if state.phase not in AT_WORK:
            return None
        try:
            return self._work()
        except DaemonUnavailable:
            raise
        except MosaicError as error:
            if isinstance(error, Refused) and error.status == "RESOURCE_EXHAUSTED":
                return LATEST_S  # The daemon's disk is full: it goes on once there is room.
            if isinstance(error, Refused) and error.status not in ("INVALID_ARGUMENT", "UNIMPLEMENTED"):
                raise
            self._fail(str(error))
            return None

    def _work(self) -> float | None:
        state = self._log.state
        changed = user_code.changed(state)
        waits = [self._look(trial, run) for trial, run in state.open_runs if run.run_id]
        if changed:
            return self._hold_for_code(changed, waits)
        if why := budget.hopeless(state):
            raise MosaicError(why)
        if state.confirming:
            self._race()
        self._begin_runs()
        if not self._has_open() and not self._go_on():
            return None
        return min([wait for wait in waits if wait is not None], default=SOONEST_S)

    def _hold_for_code(self, changed: str, waits: list[float | None]) -> float | None:
        """Runs that train have the old code, and end by themselves; no further one is begun."""
        if any(run.run_id for _, run in self._log.state.open_runs):
            return min([wait for wait in waits if wait is not None], default=SOONEST_S)
        self._log.write(
            "hold",
            reason=f"{changed} has changed since the sweep began: trials before and after do not compare. Put it back"
            " and continue, or continue all the same, or cancel and begin another sweep",
        )
        return None

    def _race(self) -> None:
        """The seeds of the next round, once that of the round before are over."""
        for numbers, seeds in race_decision.due(self._log.state):
            self._log.write("confirm", trials=numbers, seeds=seeds)

    def _begin_runs(self) -> None:
        """As many as may run at a time: those that were stopped, then those that are asked for, then further trials."""
        state = self._log.state
        while self._busy() < self._slots:
            waiting = [(trial, run) for trial, run in state.runs if run.end == "stopped"]
            waiting += [(trial, run) for trial, run in state.open_runs if not run.run_id]
            # A round of the race waits for its runs; no round waits for those of the default settings.
            waiting.sort(key=lambda one: state.confirming and one[0].number == 0)
            if waiting:
                trial, run = waiting[0]
                self._runs.begin_again(trial, run) if run.run_id else self._runs.submit(trial, run)
            elif state.confirming or not self._ask():
                return

    def _ask(self) -> bool:
        """A further trial, on disk before anything is submitted; False if there is none."""
        state = self._log.state
        if budget.is_spent(state, now=time.time(), parallel=self._slots) or self._has_nothing_new:
            return False
        if not state.trials:
            params = cast("Params", dict(state.plan.defaults))
        else:
            self._proposals = self._proposals or proposals.proposals_of(state.plan)
            params = self._proposals.ask(state)
            if params is None:
                self._has_nothing_new = True
                return False
        self._log.write("asked", trial=len(state.trials), params=params)
        return True

    def _go_on(self) -> bool:
        """To the next stage, once no run is open; False at the end."""
        state = self._log.state
        if state.confirming and race_decision.due(state):
            # All runs of a round were refused when they were submitted.
            return True
        if not state.confirming:
            numbers = confirmation.chosen(state)
            if not state.ranking():
                raise MosaicError(f"no trial ended well; the last one: {state.trials[-1].reason}")
            numbers, seeds = race.first(state.plan, numbers) if numbers else ([], [])
            self._log.write("confirm", trials=numbers, seeds=seeds)
            if numbers:
                self._race()
                return True
        self._log.write("ended", end="finished", reason="")
        log.info("sweep.finished", sweep_id=self._sweep.sweep_id, trials=len(state.trials))
        return False

    def _look(self, trial: Trial, run: TrialRun) -> float | None:
        """Seconds until it is worth a further look."""
        record = self._runs.look(trial, run)
        return None if record is None else _next_look(record, self._next_rung(trial, record))

    def _next_rung(self, trial: Trial, record: RunRecord) -> int:
        rungs = pruning.rungs(self._log.state.plan) if pruning.is_watched(self._log.state.plan, trial) else []
        return next((step for step in rungs if step > record.global_step), record.total_timesteps)

    def _follow(self, request: Line) -> None:
        state, verb = self._log.state, str(request["verb"])
        if verb == "continue" and state.phase == "paused":
            for _, run in state.open_runs:
                self._runs.let_go(run)
            if state.code and (found := user_code.digests(state.plan, self._client)) != state.code:
                self._log.write("warning", text=f"the code was changed after trial {len(state.trials) - 1}")
                self._log.write("code", files=found)
        if verb == "resume":
            for number in request.get("trials", ()):
                if 0 <= number < len(state.trials) and state.trials[number].state == "pruned":
                    self._log.write("reopened", trial=number)
        if verb == "cancel" and state.phase in (*AT_WORK, "paused"):
            self._stop_all()
            self._log.write("ended", end="cancelled", reason="cancelled by the user")
        self._log.write("heard", request=request["request"], verb=verb)

    def _stop_all(self) -> None:
        begun = [(trial, run) for trial, run in self._log.state.open_runs if run.run_id]
        for _, run in begun:
            # All of them write their checkpoints meanwhile.
            self._client.cancel(run.run_id)
        for trial, run in begun:
            self._runs.stop(trial, run)

    def _fail(self, why: str) -> None:
        """Nothing more is tried; what runs is stopped at a checkpoint."""
        log.warning("sweep.failed", sweep_id=self._sweep.sweep_id, error=why)
        with contextlib.suppress(Refused):
            self._stop_all()
        self._log.write("ended", end="failed", reason=why)

    def _has_open(self) -> bool:
        return any(run.end in ("open", "stopped") for _, run in self._log.state.runs)

    def _busy(self) -> int:
        return sum(bool(run.run_id) for _, run in self._log.state.open_runs)

    def _parallel(self) -> int:
        """Runs at a time: as asked for, within what the daemon has slots for."""
        plan = self._log.state.plan
        resources = plan.document.get("resources")
        cpus = resources.get("cpus", 1) if isinstance(resources, dict) else 1
        slots = max(1, self._client.health().cpu_slots // (cpus if isinstance(cpus, int) else 1))
        return min(plan.parallel, slots) if plan.parallel else slots

    def _requests(self) -> list[Line]:
        self._requests_size = self._size()
        return self._log.requests()

    def _is_asked(self) -> bool:
        return self._size() != self._requests_size

    def _size(self) -> int:
        try:
            return self._sweep.requests.stat().st_size
        except FileNotFoundError:
            return 0


def _next_look(record: RunRecord, until: int) -> float:
    """Often near the end of a run or where it is compared, seldom before: a look costs a call."""
    if record.state is not RunState.RUNNING or record.steps_per_s <= 0:
        return 1.0 if record.state is RunState.QUEUED else SOONEST_S * 2
    left_s = (until - record.global_step) / record.steps_per_s
    return min(max(left_s / 3, SOONEST_S), LATEST_S)
