"""All that an algorithm may use."""

from cleanrl_worker.sdk.execute import main
from cleanrl_worker.sdk.policy import Policy, PolicyFile
from cleanrl_worker.sdk.run import Run
from cleanrl_worker.sdk.vector import Envs

__all__ = ["Envs", "Policy", "PolicyFile", "Run", "main"]
