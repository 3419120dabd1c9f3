"""Steps per second of ppo_resident: iterations as they are trained, and the parts of one; on a GPU beside JAX.

    python -m bench.resident [--num-envs 8192 …] [--plain] [--no-graph] [--kernels] [--json FILE]

On a CPU seconds are those of the processor, so that other programs do not count. Trained steps are environment steps,
each of which is learnt from `update_epochs` times. `bench/jax_resident.py` is the same PPO in JAX.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import torch

from cleanrl_worker.algorithms import ppo_resident
from cleanrl_worker.sdk import compiled
from cleanrl_worker.sdk.fast.guard import guarded
from cleanrl_worker.sdk.resident import ResidentEnvs
from cleanrl_worker.sdk.vector import Envs
from mosaic import envs as families
from mosaic.spec.events import Episode


class Bench:
    """In the place of a run: what `guarded` and the environments need of one."""

    def __init__(self, args: ppo_resident.Args) -> None:
        self.device = torch.device("cuda" if args.cuda and torch.cuda.is_available() else "cpu")
        torch.manual_seed(args.seed)
        if args.tf32:
            torch.set_float32_matmul_precision("high")
        backend: Any = families.make_vec(args.env_id, args.num_envs, backend="tensor", device=str(self.device))
        self.envs = ResidentEnvs(Envs(backend, self.told), backend)
        self.envs.reset(args.seed)
        agent = ppo_resident.Agent(self.envs.single_observation_space, self.envs.single_action_space).to(self.device)
        self.agent = agent
        plain = ppo_resident.Learner(agent, args, self.device)
        self.learner = guarded(self, plain, lambda: ppo_resident.FastLearner(agent, args))
        self.iteration = ppo_resident.Iteration(self.learner, self.envs, args, agent.choices)
        self.args = args

    def forget(self) -> None:
        """Begin anew, with the graphs that were recorded."""
        fresh = ppo_resident.Agent(self.envs.single_observation_space, self.envs.single_action_space)
        self.agent.load_state_dict(fresh.state_dict())
        for moments in self.learner.optimizer.state.values():
            for value in moments.values():
                value.zero_()
        self.envs.reset(self.args.seed)

    def told(self, episode: Episode) -> None:
        """Of an episode."""

    def warn(self, message: str) -> None:
        print("warning:", message, flush=True)

    def iterate(self, progress: float = 0.0) -> dict[str, float]:
        args = self.args
        rate = args.learning_rate * (1 - progress)
        report = self.iteration.run(ppo_resident.Coefficients(rate, args.clip_coef, args.ent_coef, args.vf_coef))
        self.envs.advanced(report)
        return report.episodes

    def clock(self) -> float:
        return time.perf_counter() if self.device.type == "cuda" else time.process_time()


def measured(args: ppo_resident.Args, iterations: int) -> dict[str, Any]:
    bench = Bench(args)
    began = time.perf_counter()
    for _ in range(6):
        bench.iterate()
    first_s = time.perf_counter() - began
    started = bench.clock()
    for _ in range(iterations):
        bench.iterate()
    seconds = bench.clock() - started
    row: dict[str, Any] = {
        "what": "mosaic",
        "device": bench.device.type,
        "num_envs": args.num_envs,
        "compile": args.compile,
        "graph": args.cuda_graph,
        "epochs": args.update_epochs,
        "steps_per_s": round(args.batch_size * iterations / seconds),
        "first_six_s": round(first_s, 1),
    }
    return row


def learnt(args: ppo_resident.Args, iterations: int) -> dict[str, Any]:
    """Seconds until the mean return of all episodes of an iteration reaches 475, graphs recorded before."""
    warm = Bench(args)
    if warm.device.type == "cuda":
        for _ in range(6):
            warm.iterate()
        warm.forget()
    began = time.perf_counter()
    best = 0.0
    for number in range(iterations):
        mean = warm.iterate(number / iterations).get("charts/avg_episodic_return", 0.0)
        best = max(best, mean)
        if mean >= 475:
            steps = (number + 1) * args.batch_size
            return {"what": "learnt", "s_to_475": round(time.perf_counter() - began, 3), "steps": steps}
    return {"what": "learnt", "s_to_475": None, "best": best}


def kernels(args: ppo_resident.Args) -> None:
    """Which kernels one iteration launches, and how long each kind takes in all."""
    bench = Bench(args)
    for _ in range(6):
        bench.iterate()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(3):
            bench.iterate()
        torch.cuda.synchronize()
    rows: Any = profile.key_averages()
    rows = sorted(rows, key=lambda row: -row.device_time_total)
    print(
        f"kernels of an iteration: {sum(row.count for row in rows) / 3:.0f}, "
        f"{sum(row.device_time_total for row in rows) / 3e3:.2f} ms"
    )
    for row in rows[:24]:
        print(f"{row.device_time_total / 3e3:8.3f} ms {row.count / 3:7.0f} × {row.key[:110]}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--num-envs", type=int, nargs="*", default=[8192])
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--plain", action="store_true", help="without torch.compile")
    parser.add_argument("--mode", default="default", help="of torch.compile")
    parser.add_argument("--no-graph", action="store_true")
    parser.add_argument("--kernels", action="store_true")
    parser.add_argument("--learn", type=int, default=0, help="iterations of a training that ends at 475")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    compiled.MODE = arguments.mode
    found: list[dict[str, Any]] = []
    for num_envs in arguments.num_envs:
        args = ppo_resident.Args(
            num_envs=num_envs,
            update_epochs=arguments.epochs,
            compile=not arguments.plain,
            cuda_graph=not arguments.no_graph,
            total_timesteps=10**9,
        )
        if arguments.kernels:
            kernels(args)
        found.append(measured(args, arguments.iterations))
        print(json.dumps(found[-1]), flush=True)
        if arguments.learn:
            found.append(learnt(args, arguments.learn))
            print(json.dumps(found[-1]), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
