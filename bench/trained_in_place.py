"""A daemon's part in a sweep without a daemon: trainings in this machine's processes, one at a time, each in a fork.

A training waits at every step at which trials are compared, until its record is asked for again: what a sweep decides
follows from its seeds alone, however fast the machine is. A training that was cut off with its sweep begins anew.
"""

import json
import multiprocessing
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from cleanrl_worker.sdk.command import carry_out, worker_flags
from cleanrl_worker.sdk.run import Run
from mosaic.rpc import trainer_pb2 as pb
from mosaic.rpc.client import Refused, Series
from mosaic.spec.events import Episode, EventBody
from mosaic.spec.run_dir import new_run_id
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import TERMINAL, RunState

FORK = multiprocessing.get_context("fork")
RETURN = "charts/episodic_return"
Ended = tuple[int, float]
"""Step at which an episode ended, and its return."""


@dataclass
class Training:
    """One run: its process while it lives, and what it has told."""

    record: RunRecord
    folder: Path
    process: BaseProcess
    pipe: Connection
    waits: bool = False
    episodes: list[Ended] = field(default_factory=list[Ended])


class TrainedInPlace:
    """What the controller of a sweep asks of `mosaic.rpc.client.Client`."""

    def __init__(self, stops: Sequence[int]) -> None:
        self._stops = tuple(stops)
        self._trainings: dict[str, Training] = {}

    def health(self) -> pb.Health:
        return pb.Health(cpu_slots=1)

    def algorithms(self) -> dict[str, Any]:
        """None of a user's."""
        return {}

    def submit(self, document: Mapping[str, Any], **_: Any) -> list[RunRecord]:
        worker: Any = document["metadata"]["worker"]["config"]
        record = RunRecord(
            run_id=new_run_id(),
            state=RunState.RUNNING,
            algo=worker["algo"],
            env_id=worker["env_id"],
            seed=worker["seed"],
            total_timesteps=worker["total_timesteps"],
            started_at=time.time(),
        )
        folder = Path(tempfile.mkdtemp(prefix="mosaic-bench-"))
        (folder / "config.json").write_text(json.dumps(document))
        ours, theirs = FORK.Pipe()
        process = FORK.Process(target=_train, args=(folder, theirs, ours, self._stops))
        process.start()
        theirs.close()
        self._trainings[record.run_id] = Training(record, folder, process, ours)
        return [record]

    def get(self, run_id: str) -> RunRecord:
        """At the next step at which it waits, or at its end."""
        training = self._trainings.get(run_id)
        if training is None:
            return RunRecord(run_id=run_id, state=RunState.LOST)
        if training.record.state in TERMINAL:
            return training.record
        if training.waits:
            training.pipe.send("go on")
        try:
            step, episodes, is_end = training.pipe.recv()
        except EOFError:
            return self._end(training, RunState.FAILED)
        training.episodes += episodes
        training.waits = not is_end
        training.record = replace(training.record, global_step=step)
        return self._end(training, RunState.FINISHED) if is_end else training.record

    def cancel(self, run_id: str) -> RunRecord:
        training = self._trainings[run_id]
        return training.record if training.record.state in TERMINAL else self._end(training, RunState.CANCELLED)

    def resume(self, run_id: str) -> RunRecord:
        raise Refused(f"run {run_id} has no checkpoint", "FAILED_PRECONDITION")

    def metrics(self, run_id: str, *, tags: Sequence[str] = (), max_step: int = 0) -> dict[str, Series]:
        episodes = [one for one in self._trainings[run_id].episodes if not max_step or one[0] <= max_step]
        if RETURN not in tags or not episodes:
            return {}
        steps, values = [step for step, _ in episodes], [value for _, value in episodes]
        return {RETURN: Series(RETURN, steps, values, [0.0] * len(steps), len(steps))}

    def tags(self, run_id: str) -> Sequence[str]:
        return [RETURN] if self._trainings[run_id].episodes else []

    def _end(self, training: Training, state: RunState) -> RunRecord:
        if state is RunState.CANCELLED:
            training.process.kill()
        training.process.join()
        training.pipe.close()
        said = ""
        if state is RunState.FAILED:
            said = (training.folder / "stderr").read_text()[-2000:]
        shutil.rmtree(training.folder)
        exit_code = training.process.exitcode
        training.record = replace(training.record, state=state, ended_at=time.time(), reason=said, exit_code=exit_code)
        return training.record


def warm_up(document: Mapping[str, Any]) -> None:
    """Import what trainings need once, before the forks."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "config.json"
        file.write_text(json.dumps(document))
        plan = worker_flags.resolve(worker_flags.scan(["--config", str(file), "--quiet"]))
        carry_out.rehearse(plan, render=False)


def cpu_s() -> float:
    """Processor time of this process and of its trainings that have ended."""
    each = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in each)


def _train(folder: Path, pipe: Connection, other_end: Connection, stops: Sequence[int]) -> None:
    # A training that waits ends with its sweep's process.
    other_end.close()
    os.environ["MOSAIC_HOME"] = str(folder)
    for name, descriptor in ((os.devnull, 1), (str(folder / "stderr"), 2)):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT), descriptor)
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
    left = list(stops)
    episodes: list[Ended] = []

    def tell(step: int, *, is_end: bool) -> None:
        pipe.send((step, episodes, is_end))
        episodes.clear()

    class WaitingRun(Run):
        def emit(self, body: EventBody) -> None:
            if isinstance(body, Episode):
                episodes.append((body.global_step, float(body.episodic_return)))
            super().emit(body)

        @property
        def checkpoint_due(self) -> bool:
            if left and self.global_step >= left[0]:
                left[:] = [step for step in left if step > self.global_step]
                tell(self.global_step, is_end=False)
                pipe.recv()
            return super().checkpoint_due

        def __exit__(self, *error: Any) -> None:
            super().__exit__(*error)
            if error[0] is None:
                tell(self.global_step, is_end=True)

    carry_out.Run = WaitingRun
    # No buffers to write and no other thread to wait for; an exit from the top of a fork would run the parent's too.
    code = carry_out.main(argv=["--config", str(folder / "config.json"), "--quiet"])
    sys.stderr.flush()
    os._exit(code)
