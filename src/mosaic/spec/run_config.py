"""The run config: the one JSON document that a run is made from (docs/protocols/run-config.md).

`metadata.worker.config.extras.mode` tells three kinds apart: train (the default), policy_eval and play. A
`wandb_api_key` and an `llm_api_key` are accepted and taken out by `take_secrets` before anything is written.
"""

import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeAlias, cast

from annotated_types import Ge, Gt, Le, MinLen

from mosaic import config
from mosaic.config import JsonObject, JsonValue, tagged_by
from mosaic.errors import ConfigError, Problem
from mosaic.spec.processes import secret_keys
from mosaic.spec.processes.language_model import KEY

MAX_GRID = 64
SECRETS = {"wandb_api_key": "WANDB_API_KEY", "llm_api_key": KEY}
"""Keys of `extras` that are secret, and the variable of the worker's environment that carries each."""
PROXIES = {"wandb_http_proxy": "WANDB_VPN_HTTP_PROXY", "wandb_https_proxy": "WANDB_VPN_HTTPS_PROXY"}
"""Addresses that may hold a password, and the variable that carries one which does."""
_USER = re.compile(r"^((?:[^/@]*:)?//)?.*@", re.DOTALL)
SCRIPT_FLAGS = "script_flags"
"""Setting of a script: words that are handed over to it as they are."""
PLAY_SECRETS = ("llm_api_key",)
"""Those that only a play session has a use for."""

VideoMode: TypeAlias = Literal["single", "grid", "off"]
Control: TypeAlias = Literal["agent", "human", "turns", "override"]
EnvBackend: TypeAlias = Literal["auto", "bare", "sync", "async", "native", "envpool", "tensor"]


@dataclass(frozen=True, kw_only=True)
class LiveView:
    """What every kind of run says about its live view and notes."""

    fastlane_enabled: bool = True
    """Offer live frames in shared memory; nothing is rendered while no viewer is connected."""
    fastlane_only: bool = False
    """Live frames only: no metrics files are written."""
    fastlane_slot: Annotated[int, Ge(0)] = 0
    """Environment shown in single mode."""
    fastlane_fps: Annotated[float, Ge(0.1), Le(120)] = 30.0
    """At most this many live pictures of an environment a second, where the viewer asks for no other rate."""
    fastlane_budget: Annotated[float, Ge(0.001), Le(1)] = 0.05
    """Share of the learner's time that live pictures may take, where the viewer asks for no other."""
    video_mode: VideoMode = "grid"
    """Live view of one environment, of a grid of them, or none."""
    grid_limit: Annotated[int, Ge(1), Le(MAX_GRID)] = 8
    """At most this many environments in the grid."""
    notes: str = ""
    """Free text of the user."""


@dataclass(frozen=True, kw_only=True)
class TrainOptions(LiveView):
    """What a training run is told beside the settings of its algorithm; none of it changes the learning curve."""

    tensorboard_dir: str = "tensorboard"
    """Folder of the TensorBoard files, relative to the run directory."""
    track_wandb: bool = False
    """Export to Weights & Biases."""
    track_trackio: bool = False
    """Export to Trackio."""
    track_mlflow: bool = False
    """Export to MLflow."""
    track_project_name: Annotated[str, MinLen(1)] = "mosaic"
    """Project of Trackio, experiment of MLflow."""
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
    checkpoint_interval_s: Annotated[float, Ge(0)] = 60.0
    """Seconds between checkpoints; 0 is none but the last."""
    checkpoint_interval_steps: Annotated[int, Ge(0)] = 0
    """Environment steps between checkpoints, beside the interval in seconds; 0 is none."""
    checkpoints_kept: Annotated[int, Ge(1)] = 3
    """Newest checkpoints that stay; the best one stays too."""
    histograms_every: Annotated[int, Ge(0)] = 0
    """Updates between two histograms of the weights and gradients, for the heat maps of the window; 0 is none."""
    stop_at_return: float | None = None
    """End the run once the mean return of its last 100 episodes reaches this; null trains all steps."""
    env_backend: EnvBackend = "auto"
    """How environments are stepped; bare, sync and async give the same curve, auto takes the fastest of these."""
    alert_on: str | None = None
    """Causes of alerts: nan, collapse, no_progress, end, failure, or all, or none; null is as for all runs."""
    alert_to: str | None = None
    """Receivers that are told, by their names in `mosaic alerts`, or none; null is as for all runs."""
    alert_collapse: Annotated[float, Gt(0), Le(1)] | None = None
    """Share of the gained return whose loss is a collapse; null is as for all runs."""
    alert_no_progress: Annotated[float, Gt(0), Le(1)] | None = None
    """Share of the steps after which a return that has not risen is an alert; null is as for all runs."""
    alert_stall_s: Annotated[float, Ge(1)] | None = None
    """Seconds without any event of the worker that are an alert; null is as for all runs."""


NOT_FOR_SCRIPTS = (
    "tensorboard_dir",
    "capture_video",
    "save_model",
    "checkpoint_interval_s",
    "checkpoint_interval_steps",
    "checkpoints_kept",
    "histograms_every",
    "stop_at_return",
    "env_backend",
)
"""Options of a training run that mean nothing to a script, which has settings of its own for some of them."""


@dataclass(frozen=True, kw_only=True)
class TrainExtras(TrainOptions):
    """Train an algorithm."""

    mode: Literal["train"] = "train"
    """Kind of the run."""
    algo_params: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Settings of the algorithm, as its own schema defines them; env_id, total_timesteps and seed stand outside."""


@dataclass(frozen=True, kw_only=True)
class PolicyEvalExtras(LiveView):
    """Evaluate a policy; no training code runs."""

    mode: Literal["policy_eval"]
    """Kind of the run."""
    policy_path: Annotated[str, MinLen(1)]
    """The policy file."""
    algo_params: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Settings that an upstream CleanRL file does not say; empty for our own files, which say all."""
    tensorboard_dir: str = "tensorboard_eval"
    """Folder of the TensorBoard files, relative to the run directory."""
    eval_episodes: Annotated[int, Ge(1)] = 50
    """Episodes a batch."""
    eval_batch_size: Annotated[int, Ge(1)] | None = None
    """The same under its older name; where both are given they must agree."""
    eval_repeat: bool = False
    """Further batches until the run is cancelled."""
    eval_deterministic: bool = False
    """Take the likeliest action instead of sampling as in training."""
    eval_capture_video: bool = False
    """Record videos of the evaluation."""
    eval_normaliser: Literal["saved", "running"] = "saved"
    """Moments of the observations: those in the policy file, or learnt anew while it plays."""
    eval_trust: bool = False
    """Open a Stable-Baselines3 zip, which runs the pickled code in it."""
    seed_override: Annotated[int, Ge(0), Le(2**32 - 1)] | None = None
    """Seed of the first episode; null is the seed of the config."""


@dataclass(frozen=True, kw_only=True)
class PlayExtras(LiveView):
    """Let actors act in an environment, step by step or at full speed."""

    mode: Literal["play"]
    """Kind of the run."""
    actors: dict[str, str] = field(default_factory=lambda: {"agent_0": "human"})
    """Actor of each seat, by its name or its number; * is every seat that is not named."""
    lockstep: bool = False
    """Each actor has a copy of the environment of its own; all begin from the same seed and step in turn."""
    observations: Literal["auto", "raw", "pixels"] = "auto"
    """What actors see: raw, or pixels as algorithms on pictures do; auto is pixels if a policy was trained on them."""
    seeds: list[Annotated[int, Ge(0), Le(2**32 - 1)]] = field(default_factory=list[int])
    """Seeds of the first episodes; those after them have seed, seed + 1, …, counted from the first episode."""
    episodes: Annotated[int, Ge(0)] = 0
    """Episodes to play; 0 is until stopped."""
    control: Control = "agent"
    """Who acts where a seat has an agent: the agent, a person, both in turns, or the agent until a person presses."""
    speed: Annotated[float, Ge(0)] = 0.0
    """Multiple of the environment's own rate; 0 is as fast as possible."""
    paused: bool = False
    """Wait for Continue before the first step."""
    interactive: bool = False
    """Pause and wait for a person when an actor or the environment fails; else the run fails with the reason."""
    deterministic: bool = False
    """Policies take the likeliest action instead of sampling as in training."""
    record_observations: bool = False
    """Write whole observations beside their digests."""
    record_frames: bool = False
    """Film every episode."""
    actor_timeout_s: Annotated[float, Gt(0)] = 60.0
    """An actor other than a person that takes longer for an action counts as failed."""
    stall_s: Annotated[float, Gt(0)] = 10.0
    """An environment that takes longer for a step counts as hanging."""
    actor_params: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Settings of actors, by the actor's id."""


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
    """What the form wants back when a run is cloned."""
    worker: Worker
    """The worker."""


@dataclass(frozen=True, kw_only=True)
class Environment:
    """The environment, as lists and filters show it."""

    env_id: Annotated[str, MinLen(1)]
    """Must be the worker's env_id."""
    settings: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Arguments of its constructor that are not as the id has them (`mosaic envs ENV` lists them)."""


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
    engine: str = ""
    """What starts the worker, by its name in `mosaic engines`; empty is the daemon's own."""


@dataclass(frozen=True, kw_only=True)
class TrainRunConfig:
    """A run, whole."""

    run_name: str = ""
    """Label of the run; never a path."""
    tags: str = ""
    """Words that the run is tagged with, with blanks or commas between them: paper, baseline."""
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
    worker = config.from_json(WorkerConfig, _with_mode(data, ()), what="worker config")
    problems = list(_worker_contradictions(worker, ""))
    if problems:
        raise ConfigError(problems, what="worker config")
    return worker


def flag_of(path: str) -> str:
    """The flag of `mosaic train` for a place in the document; one without a flag as it is."""
    known = {
        "run_name": "label",
        "tags": "tag",
        "artifacts.tensorboard.enabled": "tensorboard",
        "artifacts.wandb.enabled": "track_wandb",
    }
    if path.startswith(_ENVIRONMENT_SETTING):
        return "--env." + path.removeprefix(_ENVIRONMENT_SETTING)
    name = known.get(path) or _BEFORE_A_SETTING.sub("", path)
    return config.flag_name(name) if name and "." not in name else path


_ENVIRONMENT_SETTING = "environment.settings."
_BEFORE_A_SETTING = re.compile(
    r"^(?:metadata\.worker\.config\.(?:extras\.(?:algo_params\.)?)?|extras\.(?:algo_params\.)?|resources\.|environment\.)"
)


def take_secrets(data: JsonObject) -> tuple[JsonObject, dict[str, str]]:
    """The document without its secrets, and the environment variables that carry them to the worker."""
    clean, secrets = deepcopy(data), dict[str, str]()
    problems: list[Problem] = []
    for path, key, value in _pop_secrets(clean):
        if isinstance(value, str) and value:
            secrets[SECRETS[key]] = value
        elif value is not None and value != "":
            problems.append(Problem(path, "must be a valid string"))
    if problems:
        raise ConfigError(problems, what="run config")
    return clean, secrets | dict(_take_passwords(clean))


def refuse_secrets(data: JsonObject, *, what: str = "run config") -> None:
    """ConfigError for every field, however deep, that is named like a secret: what a config says is kept on disk."""
    problems = [Problem(path, _HOW_TO_PASS) for path in _secret_fields(data)]
    if problems:
        raise ConfigError(problems, what=what)


_HOW_TO_PASS = (
    "is named like a secret, and a config is kept on disk. Keys of Weights & Biases, MLflow and the Hub are variables"
    " of the daemon's environment (WANDB_API_KEY; 'wandb login' also does), the key of a language model is"
    f" {KEY}; a variable for a script of yours is named in {secret_keys.SCRIPT_KEYS} there. Take the field out"
)


def _secret_fields(data: Any, prefix: str = "") -> Iterator[str]:
    node: Any = data
    items: Any = node.items() if isinstance(data, dict) else enumerate(node) if isinstance(data, list) else ()
    for key, item in items:
        path = f"{prefix}{key}"
        # A switch, or a field that the form left empty, holds no secret.
        filled = item is not None and not isinstance(item, bool) and item not in ("", [], {})
        if filled and isinstance(key, str) and secret_keys.is_secret_name(key):
            yield path
        elif key == SCRIPT_FLAGS:
            yield from (f"{path}: {flag}" for flag in _secret_flags(item))
        else:
            yield from _secret_fields(item, f"{path}.")


def _secret_flags(flags: Any) -> Iterator[str]:
    """Of the words that a script gets, those that carry a secret: `--api-key=…`."""
    words = cast("list[object]", flags.split() if isinstance(flags, str) else flags if isinstance(flags, list) else [])
    for word in words:
        if (
            isinstance(word, str)
            and word.startswith("-")
            and secret_keys.is_secret_name(flag := word.partition("=")[0])
        ):
            yield flag


def with_passwords(options: "TrainOptions") -> dict[str, str]:
    """The variables of those proxies that have one."""
    return dict(_take_passwords({key: getattr(options, key) for key in PROXIES}))


def without_password(address: str) -> str:
    """Also of what is not a whole address, `user:password@host`: users type that too."""
    return _USER.sub(r"\1", address)


def _take_passwords(data: Any) -> Iterator[tuple[str, str]]:
    """Leave the addresses of proxies without user and password; variable and whole address of each that had them."""
    if isinstance(data, dict):
        node = cast(JsonObject, data)
        for key, item in node.items():
            if key in PROXIES and isinstance(item, str) and without_password(item) != item:
                node[key] = without_password(item)
                yield PROXIES[key], item
            else:
                yield from _take_passwords(item)
    elif isinstance(data, list):
        for item in cast(list[JsonValue], data):
            yield from _take_passwords(item)


def _pop_secrets(data: Any, prefix: str = "") -> Iterator[tuple[str, str, JsonValue]]:
    """Take secrets out wherever they are: a form may also keep its values in `metadata.ui`."""
    if isinstance(data, dict):
        node = cast(JsonObject, data)
        for key in SECRETS.keys() & node.keys():
            yield prefix + key, key, node.pop(key)
        for key, item in node.items():
            yield from _pop_secrets(item, f"{prefix}{key}.")
    elif isinstance(data, list):
        for index, item in enumerate(cast(list[JsonValue], data)):
            yield from _pop_secrets(item, f"{prefix}{index}.")


def _with_mode(data: JsonObject, path: tuple[str, ...]) -> JsonObject:
    """`extras` and its `mode` may be left out: the run then trains. `eval_batch_size` alone sets `eval_episodes`."""
    completed = deepcopy(data)
    worker = _descend(completed, path)
    if worker is not None:
        extras = worker.setdefault("extras", {})
        if isinstance(extras, dict):
            extras.setdefault("mode", "train")
            batch = extras.get("eval_batch_size")
            if extras["mode"] == "policy_eval" and type(batch) is int and batch >= 1:
                extras.setdefault("eval_episodes", batch)
    return completed


def _contradictions(parsed: TrainRunConfig) -> Iterator[Problem]:
    worker = parsed.metadata.worker.config
    base = "metadata.worker.config."
    if parsed.environment.env_id != worker.env_id:
        yield Problem("environment.env_id", f"'{parsed.environment.env_id}' is not the worker's '{worker.env_id}'")
    if isinstance(worker.extras, TrainExtras) and worker.extras.track_wandb and not parsed.artifacts.wandb.enabled:
        yield Problem(f"{base}extras.track_wandb", "is true but artifacts.wandb.enabled is false")
    yield from _worker_contradictions(worker, base)


def _worker_contradictions(worker: WorkerConfig, base: str) -> Iterator[Problem]:
    extras = worker.extras
    if isinstance(extras, TrainExtras) and not worker.algo:
        yield Problem(f"{base}algo", "is missing")
    if isinstance(extras, PolicyEvalExtras) and extras.eval_batch_size not in (None, extras.eval_episodes):
        yield Problem(f"{base}extras.eval_batch_size", f"{extras.eval_batch_size} is not eval_episodes")


def _descend(data: JsonObject, path: tuple[str, ...]) -> JsonObject | None:
    node: JsonValue = data
    for key in path:
        node = node.get(key) if isinstance(node, dict) else None
    return node if isinstance(node, dict) else None
