"""The clock of a training loop, read at the same two places on both sides."""

import time
from dataclasses import dataclass
from typing import Any


@dataclass
class Clock:
    """Starts after so many calls of the environments' `step`, is stopped when the loop has made its last update.

    What comes before it starts (imports, construction, warm-up) and after it was stopped (saving) does not count.
    """

    steps_before: int = 0
    """Environment steps made before it started."""
    wall_s: float = 0.0
    cpu_s: float = 0.0
    """Processor time of all threads: what the wall clock would show on an idle machine."""

    def start_after(self, warmup_steps: int, envs: Any, num_envs: int) -> None:
        """Start with the first step after `warmup_steps`; from then on `envs.step` is untouched and costs nothing."""
        step, calls = envs.step, warmup_steps // num_envs + 1

        def counted(*args: Any) -> Any:
            nonlocal calls
            result = step(*args)
            calls -= 1
            if calls == 0:
                del envs.step
                self.steps_before = warmup_steps // num_envs * num_envs + num_envs
                self.wall_s, self.cpu_s = time.perf_counter(), time.process_time()
            return result

        envs.step = counted

    def stop(self) -> None:
        self.wall_s, self.cpu_s = time.perf_counter() - self.wall_s, time.process_time() - self.cpu_s

    def result(self, total_steps: int) -> dict[str, float]:
        return {"steps": total_steps - self.steps_before, "wall_s": self.wall_s, "cpu_s": self.cpu_s}
