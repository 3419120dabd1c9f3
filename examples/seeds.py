"""Train an algorithm over several seeds and print mean and spread of the return.

python examples/seeds.py ppo CartPole-v1 --steps 100000 --seeds 5
"""

import argparse
from statistics import fmean, stdev

from mosaic import Client


def main() -> None:
    words = argparse.ArgumentParser(description="Mean and spread of the return over seeds.")
    words.add_argument("algo")
    words.add_argument("env_id")
    words.add_argument("--steps", type=int, default=100_000)
    words.add_argument("--seeds", type=int, default=5)
    flags = words.parse_args()

    with Client() as client:
        seeds = range(1, flags.seeds + 1)
        runs = client.train(flags.algo, env_id=flags.env_id, total_timesteps=flags.steps, seeds=seeds)
        print("queued:", *(run.run_id for run in runs))
        ended = client.wait(*(run.run_id for run in runs))

    returns = [run.last_return for run in ended if run.last_return is not None]
    for run in ended:
        print(f"seed {run.seed}: {run.state}, return {run.last_return}")
    if len(returns) > 1:
        print(f"{flags.algo} on {flags.env_id}: {fmean(returns):.1f} ± {stdev(returns):.1f} over {len(returns)} seeds")


if __name__ == "__main__":
    main()
