"""Run directories that a test writes line by line; a daemon finds what is published, within two seconds."""

from collections.abc import Sequence
from contextlib import ExitStack

from mosaic.spec import manifest
from mosaic.spec.events import Episode, Event, EventBody, RunCompleted, RunStarted, Scalars, encode
from mosaic.spec.manifest import Manifest
from mosaic.spec.processes.life_lock import life_lock
from mosaic.spec.run_dir import Home, RunDir, new_run_id

STARTED = RunStarted(algo="ppo", env_id="CartPole-v1", seed=1, total_timesteps=1000)


class HandWritten:
    """A run without a worker, made aside, so that no daemon sees a half of it before `publish`."""

    def __init__(self, home: Home, *, env_id: str = "CartPole-v1", label: str = "") -> None:
        self.run_id = new_run_id()
        self.run_dir = RunDir(home.root / "aside" / self.run_id)
        self.seq = 0
        self._home = home
        self._life = ExitStack()
        self.run_dir.create()
        self.run_dir.events.touch()
        manifest.write(self.run_dir, Manifest(run_id=self.run_id, algo="ppo", env_id=env_id, seed=1, label=label))

    def publish(self) -> "HandWritten":
        """Put it among the runs."""
        self.run_dir.root.rename(self._home.runs / self.run_id)
        self.run_dir = self._home.run(self.run_id)
        return self

    def live(self) -> "HandWritten":
        """Hold its life lock: to a daemon it is running, and what is written is read as it comes."""
        self._life.enter_context(life_lock(self.run_dir))
        return self

    def die(self) -> None:
        self._life.close()

    def write(self, *bodies: EventBody) -> None:
        with self.run_dir.events.open("a") as file:
            for body in bodies:
                self.seq += 1
                file.write(encode(Event(self.seq, 1.7e9 + self.seq, body)) + "\n")

    def write_raw(self, data: bytes) -> None:
        with self.run_dir.events.open("ab") as file:
            file.write(data)

    def write_finished(self, episodes: int = 3) -> None:
        self.write(STARTED, *learning(range(1, episodes + 1)), RunCompleted(global_step=1000))


def learning(steps: Sequence[int]) -> list[EventBody]:
    """An episode whose return is its step, and a loss, at each step."""
    bodies: list[EventBody] = []
    for step in steps:
        bodies.append(Episode(global_step=step, slot=0, episodic_return=float(step), episodic_length=step))
        bodies.append(Scalars(global_step=step, values={"losses/value_loss": 1.0 / step}))
    return bodies
