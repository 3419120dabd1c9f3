"""The run config: the one JSON document that a run is made from (docs/protocols/run-config.md).

`metadata.worker.config.extras.mode` tells three kinds apart: train (the default), policy_eval and play. A
`wandb_api_key` is accepted from a form and taken out by `take_secrets` before anything is written.
"""

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeAlias

from annotated_types import Ge, Le, MinLen

from mosaic import config
from mosaic.config import JsonObject, JsonValue, tagged_by
from mosaic.errors import ConfigError, Problem

MAX_GRID = 64
SECRETS = {"wandb_api_key": "WANDB_API_KEY"}
"""Keys of `extras` that are secret, and the variable of the worker's environment that carries each."""

VideoMode: TypeAlias = Literal["single", "grid", "off"]


@dataclass(frozen=True, kw_only=True)
class LiveView:
    """What every kind of run says about its live view and notes."""

    fastlane_enabled: bool = True
    """Offer live frames in shared memory; nothing is rendered while nobody looks."""
    fastlane_only: bool = False
    """Live frames but no metrics files: for a look, not for a record."""
    fastlane_slot: Annotated[int, Ge(0)] = 0
    """Environment shown in single mode."""
    video_mode: VideoMode = "grid"
    """Live view of one environment, of a grid of them, or none."""
    grid_limit: Annotated[int, Ge(1), Le(MAX_GRID)] = 8
    """At most this many environments in the grid."""
    notes: str = ""
    """Free text of the user."""


@dataclass(frozen=True, kw_only=True)
class TrainExtras(LiveView):
    """Train an algorithm."""

    mode: Literal["train"] = "train"
    """Kind of the run."""
    algo_params: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Settings of the algorithm, as its own schema defines them; env_id, total_timesteps and seed stand outside."""
    tensorboard_dir: str = "tensorboard"
    """Folder of the TensorBoard files, relative to the run directory."""
    track_wandb: bool = False
    """Export to Weights & Biases."""
    wandb_project_name: str = "mosaic"
    """W&B project."""
    wandb_entity: str | None = None
    """W&B team or user; null is the key's own."""
    wandb_run_name: str | None = None
    """W&B run name; null is the run's label."""
    wandb_email: str | None = None
    """Shown in the form only."""
    wandb_use_vpn_proxy: bool = False
    """Reach W&B through the proxies below, or those of the environment if they are null."""
    wandb_http_proxy: str | None = None
    """HTTP proxy for W&B."""
    wandb_https_proxy: str | None = None
    """HTTPS proxy for W&B."""
    capture_video: bool = False
    """Record videos of environment 0 while training."""
    save_model: bool = True
    """Write the policy file at the end."""


@dataclass(frozen=True, kw_only=True)
class PolicyEvalExtras(LiveView):
    """Evaluate a policy; no training code runs."""

    mode: Literal["policy_eval"]
    """Kind of the run."""
    policy_path: Annotated[str, MinLen(1)]
    """The policy file."""
    algo_params: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Overrides of what the policy file says; empty for our own files."""
    tensorboard_dir: str = "tensorboard_eval"
    """Folder of the TensorBoard files, relative to the run directory."""
    eval_episodes: Annotated[int, Ge(1)] = 50
    """Episodes a batch."""
    eval_batch_size: Annotated[int, Ge(1)] | None = None
    """The same under its older name; where both are given they must agree."""
    eval_repeat: bool = False
    """Further batches until the run is cancelled."""
    eval_capture_video: bool = False
    """Record videos of the evaluation."""
    seed_override: int | None = None
    """Seed of the first episode; null is the seed of the config."""


@dataclass(frozen=True, kw_only=True)
class PlayExtras(LiveView):
    """Let actors act in an environment, step by step or at full speed."""

    mode: Literal["play"]
    """Kind of the run."""
    actors: dict[str, str] = field(default_factory=lambda: {"agent_0": "human"})
    """Actor of each seat."""
    episodes: Annotated[int, Ge(0)] = 0
    """Episodes to play; 0 is until stopped."""


Extras: TypeAlias = Annotated[TrainExtras | PolicyEvalExtras | PlayExtras, tagged_by("mode")]


@dataclass(frozen=True, kw_only=True)
class WorkerConfig:
    """What a worker is handed."""

    algo: str = ""
    """Algorithm, by its file name; may be empty for policy_eval (the policy file says it) and play."""
    env_id: Annotated[str, MinLen(1)]
    """Environment."""
    total_timesteps: Annotated[int, Ge(1)] = 500_000
    """Environment steps over all environments."""
    seed: Annotated[int, Ge(0), Le(2**32 - 1)] = 1
    """Seed of everything random."""
    worker_id: str = ""
    """Label of the worker."""
    agent_id: str = ""
    """Label of the agent."""
    extras: Extras = field(default_factory=TrainExtras)
    """The rest, by kind."""


@dataclass(frozen=True, kw_only=True)
class Worker:
    """Which program runs, with which config."""

    module: str = "cleanrl_worker.cli"
    """Python module of the worker."""
    config: WorkerConfig
    """Its config."""


@dataclass(frozen=True, kw_only=True)
class Metadata:
    """The form's own values, and the worker."""

    ui: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Whatever the form wants back when a run is cloned."""
    worker: Worker
    """The worker."""


@dataclass(frozen=True, kw_only=True)
class Environment:
    """The environment, as lists and filters show it."""

    env_id: Annotated[str, MinLen(1)]
    """Must be the worker's env_id."""


@dataclass(frozen=True, kw_only=True)
class Toggle:
    """An exporter."""

    enabled: bool
    """On or off."""


@dataclass(frozen=True, kw_only=True)
class Artifacts:
    """Exporters of the run."""

    tensorboard: Toggle = Toggle(enabled=True)
    """TensorBoard files."""
    wandb: Toggle = Toggle(enabled=False)
    """Weights & Biases."""


@dataclass(frozen=True, kw_only=True)
class Resources:
    """What the queue reserves."""

    cpus: Annotated[int, Ge(1)] = 1
    """CPU cores, and the limit of the worker's threads."""
    gpus: Annotated[float, Ge(0)] = 0
    """GPUs; 0.25 lets four runs share one."""


@dataclass(frozen=True, kw_only=True)
class TrainRunConfig:
    """A run, whole."""

    run_name: str = ""
    """Label for people; never a path."""
    environment: Environment
    """The environment."""
    artifacts: Artifacts
    """Exporters."""
    resources: Resources = Resources()
    """Reserved resources."""
    metadata: Metadata
    """Form and worker."""


def parse(data: JsonObject) -> TrainRunConfig:
    """A whole config from parsed JSON, its secrets already taken out; raises ConfigError with every problem."""
    parsed = config.from_json(TrainRunConfig, _with_mode(data, ("metadata", "worker", "config")), what="run config")
    problems = list(_contradictions(parsed))
    if problems:
        raise ConfigError(problems, what="run config")
    return parsed


def parse_worker(data: JsonObject) -> WorkerConfig:
    """A bare worker config."""
    return config.from_json(WorkerConfig, _with_mode(data, ()), what="worker config")


def take_secrets(data: JsonObject) -> tuple[JsonObject, dict[str, str]]:
    """The document without its secrets, and the environment variables that carry them to the worker."""
    clean, secrets = _copy(data), dict[str, str]()
    extras = _descend(clean, ("metadata", "worker", "config", "extras")) or _descend(clean, ("extras",))
    for key, variable in SECRETS.items():
        value = extras.pop(key, None) if extras else None
        if isinstance(value, str) and value:
            secrets[variable] = value
    return clean, secrets


def _with_mode(data: JsonObject, path: tuple[str, ...]) -> JsonObject:
    """`extras` and its `mode` may be left out: the run then trains."""
    completed = _copy(data)
    worker = _descend(completed, path)
    if worker is not None:
        extras = worker.setdefault("extras", {})
        if isinstance(extras, dict):
            extras.setdefault("mode", "train")
    return completed


def _contradictions(parsed: TrainRunConfig) -> list[Problem]:
    worker = parsed.metadata.worker.config
    base = "metadata.worker.config"
    problems: list[Problem] = []
    if parsed.environment.env_id != worker.env_id:
        problems.append(
            Problem("environment.env_id", f"'{parsed.environment.env_id}' is not the worker's '{worker.env_id}'")
        )
    if isinstance(worker.extras, TrainExtras):
        if not worker.algo:
            problems.append(Problem(f"{base}.algo", "is missing"))
        if worker.extras.track_wandb and not parsed.artifacts.wandb.enabled:
            problems.append(Problem(f"{base}.extras.track_wandb", "is true but artifacts.wandb.enabled is false"))
    if isinstance(worker.extras, PolicyEvalExtras):
        batch = worker.extras.eval_batch_size
        if batch is not None and batch != worker.extras.eval_episodes:
            problems.append(Problem(f"{base}.extras.eval_batch_size", f"{batch} is not eval_episodes"))
    return problems


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value


def _descend(data: JsonObject, path: tuple[str, ...]) -> JsonObject | None:
    node: JsonValue = data
    for key in path:
        node = node.get(key) if isinstance(node, dict) else None
    return node if isinstance(node, dict) else None
