"""`cleanrl_utils` where there is none: a script that evaluates at its end must not fail after hours of training."""

from types import ModuleType
from typing import Any

from cleanrl_worker.foreign.hooks import Hooks
from cleanrl_worker.foreign.record import Record

EVALUATIONS = (
    "ppo",
    "dqn",
    "c51",
    "ddpg",
    "td3",
    "sac",
    "dqn_jax",
    "c51_jax",
    "ddpg_jax",
    "td3_jax",
    "ppo_envpool_jax",
)


def hook(hooks: Hooks, record: Record) -> None:
    def evaluate(*_: Any, **__: Any) -> list[float]:
        record.warn(
            "no evaluation: the script asks for cleanrl_utils, which is neither beside it nor in the checkout's root;"
            " the model is saved"
        )
        return []

    def push_to_hub(*_: Any, **__: Any) -> None:
        record.warn("nothing was uploaded: the script asks for cleanrl_utils.huggingface, which is not here")

    def fill_evaluation(module: ModuleType) -> None:
        known: Any = module
        known.evaluate = evaluate

    def fill_upload(module: ModuleType) -> None:
        known: Any = module
        known.push_to_hub = push_to_hub

    def fill_package(module: ModuleType) -> None:
        known: Any = module
        known.__path__ = []

    for package in ("cleanrl_utils", "cleanrl_utils.evals"):
        hooks.if_missing(package, fill_package)
    for name in EVALUATIONS:
        hooks.if_missing(f"cleanrl_utils.evals.{name}_eval", fill_evaluation)
    hooks.if_missing("cleanrl_utils.huggingface", fill_upload)
