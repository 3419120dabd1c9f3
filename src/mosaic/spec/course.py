"""What a run's directory tells of it: how far it is, what it scores, how it ended."""

from collections import deque
from dataclasses import dataclass, field
from statistics import fmean

from mosaic.errors import MosaicError
from mosaic.spec import identity
from mosaic.spec.events import (
    Episode,
    EvalBatch,
    Event,
    Heartbeat,
    RunCompleted,
    RunFailed,
    RunStarted,
    Scalars,
    Warned,
)
from mosaic.spec.run_dir import RunDir
from mosaic.spec.states import RunState

RECENT_EPISODES = 100
"""A mean return is over this many episodes, as in CleanRL's and most papers' curves."""


@dataclass
class Course:
    """How far a run is, as its events tell."""

    global_step: int = 0
    total_timesteps: int = 0
    steps_per_s: float = 0.0
    attempt: int = 0
    """0 until a `run.started` came."""
    returns: "deque[float]" = field(default_factory=lambda: deque[float](maxlen=RECENT_EPISODES))
    history: list[float] = field(default_factory=list[float])
    """Mean return of the last episodes, once an iteration."""
    eval_mean: float | None = None
    """Mean return of the last evaluation batch."""
    ended: RunState | None = None
    """How the last attempt ended; none while it runs, or if it was killed."""
    failure: str = ""
    warnings: list[str] = field(default_factory=list[str])

    @property
    def mean_return(self) -> float | None:
        return fmean(self.returns) if self.returns else self.eval_mean

    def take(self, event: Event) -> None:
        match event.body:
            case RunStarted(total_timesteps=total, attempt=attempt, resumed_from_step=step):
                self.total_timesteps, self.attempt, self.global_step = total, attempt, step or 0
                self.ended, self.failure = None, ""
            case Heartbeat(global_step=step, steps_per_s=rate):
                self.global_step, self.steps_per_s = step, rate
            case Episode(global_step=step, episodic_return=value):
                self.global_step = step
                self.returns.append(float(value))
            case Scalars(global_step=step, values=values):
                self.global_step = step
                self.steps_per_s = self.steps_per_s or float(values.get("charts/SPS", 0))
                if self.returns:
                    self.history.append(fmean(self.returns))
            case EvalBatch(mean=mean):
                self.eval_mean = float(mean)
            case RunCompleted(global_step=step, stopped=stopped):
                self.global_step = step
                self.ended = RunState.CANCELLED if stopped else RunState.FINISHED
            case RunFailed(global_step=step, message=message):
                self.global_step = step
                self.ended, self.failure = RunState.FAILED, message
            case Warned(message=message):
                self.warnings.append(message)
            case _:
                pass


def state_of(run_dir: RunDir, course: Course) -> RunState:
    """The state of a run that no daemon looks after: its last event, and whether its worker lives."""
    if course.ended is not None:
        return course.ended
    try:
        alive = identity.read(run_dir.worker).is_alive
    except (OSError, MosaicError):
        alive = False
    if not alive:
        return RunState.LOST
    return RunState.RUNNING if course.attempt else RunState.STARTING
