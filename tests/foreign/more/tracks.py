"""Tracks without a flag for it, with numbers of its own."""

import gymnasium as gym
import wandb
from wandb.integration.sb3 import WandbCallback

run = wandb.init(project="mine", config={"lr": 0.1}, name="by hand", monitor_gym=True)
assert run.config.lr == wandb.config["lr"] == 0.1
for step in range(5):
    wandb.log({"loss": 1.0 / (step + 1), "picture": wandb.Image([[0]])}, step=step)
assert callable(WandbCallback(verbose=2))
wandb.finish()
