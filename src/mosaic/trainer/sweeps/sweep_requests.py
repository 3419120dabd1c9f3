"""What clients ask of sweeps: begin one, list them, read one, pause, continue, cancel, resume."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mosaic import config
from mosaic.config import JsonObject
from mosaic.errors import ConfigError, InvalidTransition, MosaicError, Problem
from mosaic.rpc import trainer_pb2 as pb
from mosaic.spec import run_config, ulid
from mosaic.spec.files import disk_room
from mosaic.spec.files.files_of_run import open_regular
from mosaic.spec.run_dir import Home
from mosaic.sweep import proposals, race, sweep_dir, sweep_plan, sweep_state
from mosaic.sweep.sweep_dir import VERBS, SweepDir, Verb, all_sweeps, read_lines, sweep_of
from mosaic.sweep.sweep_state import AT_WORK, SweepState
from mosaic.trainer.sweeps.controllers import Controllers

MAX_BYTES = 16 * 2**20
ENDED = frozenset({"finished", "cancelled", "failed"})
ALLOWED: Mapping[Verb, frozenset[str]] = {
    "pause": AT_WORK,
    "continue": frozenset({"paused"}),
    "cancel": AT_WORK | {"paused"},
    "resume": ENDED,
}
AFTER: Mapping[str, str] = {"pause": "paused", "continue": "exploring", "cancel": "cancelled", "resume": "exploring"}
"""The phase that a request leads to."""


class Sweeps:
    """Methods may be called from any thread."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self.controllers = Controllers(home)
        self._writing = threading.Lock()
        self._summaries: dict[str, tuple[tuple[int, int], pb.Sweep]] = {}
        """Of each sweep, with the sizes of its files."""

    def submit(self, plan: JsonObject, client_key: str, check: Callable[[JsonObject], object]) -> pb.Sweep:
        """Accept a sweep; `check` refuses a run config that no run could be made from."""
        made = sweep_plan.parse({**plan, "created_at": time.time(), "client_key": client_key}, what="mosaic sweep")
        proposals.require(made)
        _refuse_secrets(made.document)
        check(made.document)
        with self._writing:
            for sweep in all_sweeps(self._home) if client_key else ():
                if _plan_of(sweep).get("client_key") == client_key:
                    return self._summary(sweep)
            folder = sweep_dir.sweeps_folder(self._home)
            folder.mkdir(mode=0o700, exist_ok=True)
            disk_room.check(folder)
            created = sweep_dir.create(self._home, ulid.new(), made)
        self.controllers.see_to(created)
        return self._summary(created)

    def listed(self) -> list[pb.Sweep]:
        return [self._summary(sweep) for sweep in all_sweeps(self._home)]

    def get(self, sweep_id: str, after_bytes: int) -> pb.SweepTrials:
        sweep = sweep_of(self._home, sweep_id)
        summary = self._summary(sweep)
        lines, more = _lines(sweep.trials, after_bytes)
        return pb.SweepTrials(sweep=summary, lines=lines, next_bytes=after_bytes + len(lines), more=more)

    def control(self, sweep_id: str, verb: str, trials: Sequence[int]) -> pb.Sweep:
        if verb not in VERBS:
            problem = Problem("verb", f"'{verb[:40]}' is not one of {', '.join(VERBS)}")
            raise ConfigError([problem], what="ControlSweep")
        sweep = sweep_of(self._home, sweep_id)
        with self._writing:
            state = sweep_state.read(sweep)
            _refuse(sweep, state, verb, trials)
            sweep_dir.ask(sweep, verb, trials)
        self.controllers.see_to(sweep)
        return self._summary(sweep)

    def _summary(self, sweep: SweepDir) -> pb.Sweep:
        sizes = (_size(sweep.trials), _size(sweep.requests))
        known = self._summaries.get(sweep.sweep_id)
        if known is None or known[0] != sizes:
            known = (sizes, _described(sweep))
            self._summaries[sweep.sweep_id] = known
        summary = pb.Sweep()
        summary.CopyFrom(known[1])
        summary.has_controller = sweep.has_controller
        return summary


def _refuse_secrets(document: JsonObject) -> None:
    """A plan is kept on disk, and its runs are submitted long after the client has gone."""
    if run_config.take_secrets(document)[1]:
        message = "cannot travel with a sweep, whose plan is kept on disk; set it in the daemon's environment"
        raise ConfigError([Problem("a key or password", message)], what="mosaic sweep")
    run_config.refuse_secrets(document, what="mosaic sweep")


def _refuse(sweep: SweepDir, state: SweepState, verb: Verb, trials: Sequence[int]) -> None:
    pending = _pending(sweep, state)
    phase = AFTER[pending] if pending else state.phase
    if trials:
        if verb != "resume":
            raise ConfigError([Problem("trials", f"belong to resume, not to {verb}")], what="ControlSweep")
        for number in trials:
            found = state.trials[number].state if number < len(state.trials) else "not there"
            if found != "pruned":
                raise InvalidTransition(f"trial {number} of sweep {sweep.sweep_id} is {found}, not pruned")
        if phase == "paused":
            message = f"sweep {sweep.sweep_id} is paused; continue it before its pruned trials are resumed"
            raise InvalidTransition(message)
        return
    if phase not in ALLOWED[verb]:
        advice = {"finished": "; --trial N resumes a pruned trial"} if verb == "resume" else {}
        wanted = " or ".join(sorted(ALLOWED[verb]))
        message = f"sweep {sweep.sweep_id} is {phase}; {verb} is for one that is {wanted}"
        raise InvalidTransition(message + advice.get(phase, ""))


def _pending(sweep: SweepDir, state: SweepState) -> str:
    """The verb of the last request that the controller has not followed yet; empty if there is none."""
    lines = [line for line in read_lines(sweep.requests) if int(line["request"]) > state.heard]
    return str(lines[-1]["verb"]) if lines else ""


def _described(sweep: SweepDir) -> pb.Sweep:
    try:
        plan_json = _read(sweep.plan)
        state = sweep_state.read(sweep)
    except (OSError, MosaicError) as error:
        return pb.Sweep(sweep_id=sweep.sweep_id, damage=str(error))
    states = [trial.state for trial in state.trials]
    best = state.best
    confirming = [run for trial in state.trials for run in trial.confirmed.values()]
    return pb.Sweep(
        sweep_id=sweep.sweep_id,
        plan_json=plan_json,
        phase=state.phase,
        reason=state.reason,
        trials=len(states),
        ended=sum(one != "running" for one in states),
        pruned=states.count("pruned"),
        failed=states.count("failed"),
        best_trial=None if best is None else best.number,
        best_value=None if best is None else best.value,
        confirmed_runs=sum(run.end not in ("open", "stopped") for run in confirming),
        confirm_runs=race.planned_runs(state),
        created_at=state.plan.created_at,
        asked=_pending(sweep, state),
    )


def _lines(path: Path, after: int) -> tuple[bytes, bool]:
    """Whole lines behind the first `after` bytes, and whether there are more."""
    try:
        with open_regular(path) as file:
            file.seek(after)
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return b"", False
    whole = data[:MAX_BYTES]
    return whole[: whole.rfind(b"\n") + 1], len(data) > MAX_BYTES


def _plan_of(sweep: SweepDir) -> Mapping[str, Any]:
    try:
        return config.loads(_read(sweep.plan))
    except (OSError, MosaicError):
        return {}


def _read(path: Path) -> bytes:
    with open_regular(path) as file:
        return file.read()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return -1
