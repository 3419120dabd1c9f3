"""A hyperparams file of rl-zoo3: the block of one environment, as settings of ours; what does not map is named."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from mosaic.errors import ConfigError, Problem
from mosaic.near_names import did_you_mean
from mosaic.sweep.space import Value

SAME = frozenset(
    "gamma gae_lambda ent_coef vf_coef max_grad_norm target_kl buffer_size learning_starts tau".split()  # noqa: SIM905
)
"""Settings that have one name and one meaning."""
RENAMED: Mapping[str, str] = {
    "n_envs": "num_envs",
    "n_timesteps": "total_timesteps",
    "n_steps": "num_steps",
    "n_epochs": "update_epochs",
    "clip_range": "clip_coef",
    "target_update_interval": "target_network_frequency",
    "train_freq": "train_frequency",
    "exploration_fraction": "exploration_fraction",
    "exploration_final_eps": "end_e",
    "noise_std": "exploration_noise",
    "policy_delay": "policy_frequency",
    "target_policy_noise": "policy_noise",
    "target_noise_clip": "noise_clip",
}
LINEAR = "lin_"
"""What a value begins with that falls linearly to zero."""


@dataclass
class ZooSettings:
    settings: dict[str, Value] = field(default_factory=dict[str, Value])
    notes: list[str] = field(default_factory=list[str])


def is_zoo(data: Mapping[str, Any]) -> bool:
    """Blocks of settings by environment, and no sweep."""
    return "parameters" not in data and bool(data) and all(isinstance(block, dict) for block in data.values())


def read(data: Mapping[str, Any], env_id: str, known: Mapping[str, Any], *, what: str) -> ZooSettings:
    """The block of an environment, for an algorithm with these settings."""
    block = data.get(env_id)
    if not isinstance(block, dict):
        near = did_you_mean(env_id, data) or f"it has {', '.join(map(str, data))}"
        raise ConfigError([Problem("--env-id", f"{what} has no block '{env_id}'; {near}")], what="mosaic sweep")
    made = ZooSettings()
    given = cast("dict[str, Any]", block)
    for name, value in given.items():
        if not _take(str(name), value, given, known, made):
            made.notes.append(f"{what}: {name}: {value!r} has no setting here and is left out")
    return made


def _take(name: str, value: Any, block: Mapping[str, Any], known: Mapping[str, Any], made: ZooSettings) -> bool:
    """Whether it was understood."""
    if name == "learning_rate":
        return _learning_rate(value, known, made)
    if name == "batch_size":
        return _batch_size(value, block, known, made)
    ours = name if name in SAME else RENAMED.get(name, "")
    if name == "clip_range" and isinstance(value, str) and value.startswith(LINEAR):
        made.notes.append(f"clip_range: {value} falls to zero there; here --clip-coef stays at its first value")
        value = value.removeprefix(LINEAR)
    number = _number(value)
    if ours not in known or number is None:
        return False
    made.settings[ours] = int(number) if number % 1 == 0 and _is_whole(known[ours]) else number
    return True


def _learning_rate(value: Any, known: Mapping[str, Any], made: ZooSettings) -> bool:
    is_linear = isinstance(value, str) and value.startswith(LINEAR)
    number = _number(value.removeprefix(LINEAR) if is_linear else value)
    names = [name for name in ("learning_rate", "policy_lr", "q_lr") if name in known]
    if number is None or not names:
        return False
    made.settings |= dict.fromkeys(names, number)
    if "anneal_lr" in known:
        made.settings["anneal_lr"] = is_linear
    elif is_linear:
        made.notes.append(f"learning_rate: {value} falls to zero there; here it stays at its first value")
    return True


def _batch_size(value: Any, block: Mapping[str, Any], known: Mapping[str, Any], made: ZooSettings) -> bool:
    """There the size of a minibatch; here PPO is told their number."""
    number = _number(value)
    if number is None:
        return False
    if "num_minibatches" not in known:
        made.settings["batch_size"] = int(number)
        return "batch_size" in known
    rollout = int(_number(block.get("n_envs", 1)) or 1) * int(_number(block.get("n_steps", 2048)) or 1)
    if number < 1 or rollout % number:
        made.notes.append(f"batch_size: {value} does not divide the rollout of {rollout} steps, so it is left out")
        return True
    made.settings["num_minibatches"] = int(rollout // number)
    return True


def _number(value: Any) -> float | None:
    try:
        return None if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        return None


def _is_whole(kind: Mapping[str, Any]) -> bool:
    return kind.get("type") == "integer"
