"""A training that goes on, of whichever tree is on the path, and prints what each hundred of its steps took.

    python -P bench/steady.py PIECE_STEPS --algo td3_continuous_action --env-id HalfCheetah-v5 …

It is the worker's own command; `bench.before --turns` lets one of each tree run in turn.
"""

import json
import sys
import time
from typing import Any

from cleanrl_worker import cli
from cleanrl_worker.sdk.run import Run


def main(piece_steps: int, words: list[str]) -> int:
    make_envs = Run.make_envs

    def counted_envs(run: Run, env_id: str, num_envs: int, **how: Any) -> Any:
        envs = make_envs(run, env_id, num_envs, **how)
        step, calls = envs.step, piece_steps // num_envs
        left, began, cpu_began = calls, time.perf_counter(), time.process_time()

        def counted(*args: Any) -> Any:
            nonlocal left, began, cpu_began
            result = step(*args)
            left -= 1
            if left == 0:
                ended, cpu_ended = time.perf_counter(), time.process_time()
                print(json.dumps({"began": began, "ended": ended, "cpu_seconds": cpu_ended - cpu_began}), flush=True)
                left, began, cpu_began = calls, time.perf_counter(), time.process_time()
            return result

        envs.step = counted
        return envs

    Run.make_envs = counted_envs
    return cli.main(words)


if __name__ == "__main__":
    raise SystemExit(main(int(sys.argv[1]), sys.argv[2:]))
