"""All that an algorithm may use."""

# Programs of users open policies by `from cleanrl_worker.sdk import catalog`, which is its name of old.
from cleanrl_worker.sdk.command import algorithm_catalogue as catalog
from cleanrl_worker.sdk.command.carry_out import main
from cleanrl_worker.sdk.policy import LikeliestActions, Policy, PolicyFile
from cleanrl_worker.sdk.run import Run
from cleanrl_worker.sdk.vector import Envs

__all__ = ["Envs", "LikeliestActions", "Policy", "PolicyFile", "Run", "catalog", "main"]
