"""Evaluating CartPole-v1 with one network, by ours and by Stable-Baselines3's `evaluate_policy`.

    python -m bench.evaluation ours|sb3 POLICY EPISODES RESULT.json

Imports do not count. Our side is the worker's whole evaluation: loading the policy, making the environments, events,
TensorBoard, summary and interval included. Of SB3's only `evaluate_policy` counts, and it gets as many parallel
environments as ours has, which is faster than its default of one.
"""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.process import Workshop

ENV_ID = "CartPole-v1"
TRAIN = ("--algo=ppo", f"--env-id={ENV_ID}", "--total-timesteps=150016", "--no-cuda", "--quiet")


@contextmanager
def trained() -> Iterator[tuple[Workshop, Path]]:
    """A policy that balances the pole for most of the 500 steps."""
    with Workshop() as shop:
        shop.run(["cleanrl_worker.cli", *TRAIN])
        [policy] = shop.home.runs.glob("*/runs/*/*.cleanrl_model")
        yield shop, policy


def measured(shop: Workshop, side: str, policy: Path, episodes: int) -> dict[str, Any]:
    shop.run(["bench.evaluation", side, str(policy), str(episodes), str(shop.result)])
    return shop.measured()


@contextmanager
def stopwatch() -> Iterator[dict[str, float]]:
    """Wall and processor time of what is done inside."""
    found: dict[str, float] = {}
    wall, cpu = time.perf_counter(), time.process_time()
    yield found
    found |= {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}


def ours(policy: str, episodes: int) -> dict[str, float]:
    from cleanrl_worker import evaluate
    from mosaic.spec.run_dir import Home, new_run_id

    run_dir = Home.resolve().run(new_run_id())
    flags = ["--policy-path", policy, f"--episodes={episodes}", "--deterministic", "--run-dir", str(run_dir.root)]
    with stopwatch() as found:
        code = evaluate.main(flags)
    if code != 0:
        raise SystemExit("the evaluation failed")
    [summary] = json.loads(run_dir.eval_summary.read_text())
    return found | {"mean": summary["mean"]}


def sb3(policy: str, episodes: int) -> dict[str, float]:
    import torch
    from safetensors.torch import load_file
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.evaluation import evaluate_policy

    from cleanrl_worker.evaluate import PARALLEL

    torch.set_num_threads(1)
    envs = make_vec_env(ENV_ID, n_envs=PARALLEL, seed=1)
    network = {"net_arch": {"pi": [64, 64], "vf": [64, 64]}, "activation_fn": torch.nn.Tanh}
    model = PPO("MlpPolicy", envs, policy_kwargs=network, device="cpu")
    weights = load_file(policy)
    names = {"0": "mlp_extractor.policy_net.0", "2": "mlp_extractor.policy_net.2", "4": "action_net"}
    own = model.policy.state_dict()
    for place, name in names.items():
        for part in ("weight", "bias"):
            own[f"{name}.{part}"] = weights[f"agent.actor.{place}.{part}"]
    model.policy.load_state_dict(own)
    with stopwatch() as found:
        mean, _ = evaluate_policy(model, envs, n_eval_episodes=episodes, deterministic=True)
    return found | {"mean": float(mean)}


def main(side: str, policy: str, episodes: str, result: str) -> None:
    found = {"ours": ours, "sb3": sb3}[side](policy, int(episodes))
    Path(result).write_text(json.dumps(found | {"steps": int(episodes)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
