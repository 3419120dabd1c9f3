"""Our side: the worker's own command, with nothing added but a clock.

    python -m bench.ours RESULT.json WARMUP_STEPS --algo ppo --env-id CartPole-v1 …

Everything a user's run does is done and paid for: console lines, events, TensorBoard, log files.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.clock import Clock
from cleanrl_worker.sdk.command import carry_out
from cleanrl_worker.sdk.run import Run
from cleanrl_worker.sdk.vector import Envs
from mosaic.spec.events import CheckpointReason


def flags(settings: Mapping[str, Any]) -> list[str]:
    """Settings as the worker's flags."""
    words: list[str] = []
    for name, value in settings.items():
        flag = name.replace("_", "-")
        words += [f"--{flag}" if value else f"--no-{flag}"] if isinstance(value, bool) else [f"--{flag}", str(value)]
    return words


def main(result: Path, warmup_steps: int, words: list[str]) -> int:
    clock = Clock()

    class ClockedRun(Run):
        def make_envs(self, env_id: str, num_envs: int, **how: Any) -> Envs:
            envs = super().make_envs(env_id, num_envs, **how)
            clock.start_after(warmup_steps, envs, num_envs)
            return envs

        def checkpoint(self, algorithm: Mapping[str, Any], *, reason: CheckpointReason = "interval") -> None:
            if reason == "end":
                clock.stop()
                result.write_text(json.dumps(clock.result(self.global_step)))
            super().checkpoint(algorithm, reason=reason)

    carry_out.Run = ClockedRun
    return carry_out.main(argv=words)


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
