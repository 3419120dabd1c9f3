"""The command line of an evaluation: flags and a config file resolved to what is played, by whom and where."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le

from cleanrl_worker.sdk.command.config_file import around
from cleanrl_worker.sdk.command.worker_flags import CommandLine, CommonFlags, settings_of
from cleanrl_worker.sdk.policies.open_policy import open_policy
from cleanrl_worker.sdk.policy import Policy, PolicyFile
from mosaic import config, envs
from mosaic.envs.observations.parted_rows import is_like
from mosaic.envs.own.own_sources import changes, own_sources
from mosaic.errors import ConfigError, PolicyError, Problem
from mosaic.spec.environment_settings import spoken
from mosaic.spec.run_config import Environment, LiveView, PolicyEvalExtras, Toggle, TrainRunConfig, WorkerConfig
from mosaic.spec.run_dir import Home, RunDir, new_run_id

PROG = "python -m cleanrl_worker.evaluate"


@dataclass(frozen=True, kw_only=True)
class EvalFlags(CommonFlags, LiveView):
    """Play batches of episodes with a policy file."""

    policy_path: Path | None = None
    """The policy file."""
    episodes: Annotated[int, Ge(1)] = 50
    """Episodes a batch."""
    seed: Annotated[int, Ge(0), Le(2**32 - 1)] = 1
    """Seed of the first episode; each further one has the next seed."""
    deterministic: bool = False
    """Take the likeliest action instead of sampling as in training."""
    repeat: bool = False
    """Further batches until stopped."""
    env_id: str | None = None
    """Another environment than the one in the policy file."""
    tensorboard_dir: str = "tensorboard_eval"
    """Folder of the TensorBoard files, relative to the run directory."""
    capture_video: bool = False
    """Record videos of environment 0."""
    algo: str = ""
    """Algorithm of an upstream CleanRL file that fits several; or the path of your own that trained the policy."""
    normaliser: Literal["saved", "running"] = "saved"
    """Moments of the observations: those in the policy file, or learnt anew while it plays."""
    trust: bool = False
    """Open a Stable-Baselines3 zip, which runs the pickled code in it."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to evaluate and where."""

    flags: EvalFlags
    file: PolicyFile
    actor: Policy
    env_id: str
    env_settings: Mapping[str, Any]
    """Those of the policy, if it plays where it was trained, and what was asked for on top of them."""
    run_dir: RunDir
    document: TrainRunConfig | None

    @property
    def run_config(self) -> TrainRunConfig:
        """The document that describes this evaluation, as the run directory keeps it."""
        flags, given = self.flags, self.document or around(WorkerConfig(env_id=self.env_id))
        before = given.metadata.worker.config.extras
        extras = replace(
            before if isinstance(before, PolicyEvalExtras) else PolicyEvalExtras(mode="policy_eval", policy_path="."),
            policy_path=str(flags.policy_path),
            tensorboard_dir=flags.tensorboard_dir,
            eval_episodes=flags.episodes,
            eval_batch_size=None,
            eval_repeat=flags.repeat,
            eval_capture_video=flags.capture_video,
            eval_deterministic=flags.deterministic,
            eval_normaliser=flags.normaliser,
            eval_trust=flags.trust,
            seed_override=None,
            **live_options(flags),
        )
        worker = replace(
            given.metadata.worker.config, algo=self.file.algo, env_id=self.env_id, seed=flags.seed, extras=extras
        )
        return replace(
            given,
            environment=Environment(env_id=self.env_id, settings=dict(self.env_settings)),
            artifacts=replace(given.artifacts, tensorboard=Toggle(enabled=flags.tensorboard)),
            metadata=replace(given.metadata, worker=replace(given.metadata.worker, config=worker)),
        )


def resolve(line: CommandLine) -> Plan:
    """The plan behind a command line; raises the error that says what is wrong with it."""
    document = line.document
    defaults = EvalFlags() if document is None else flags_of(document)
    flags = config.from_flags(EvalFlags, line.words, prog=PROG, default=defaults)
    if flags.policy_path is None:
        raise ConfigError([Problem("--policy-path", "is missing")], what=PROG)
    extras = None if document is None else document.metadata.worker.config.extras
    file, actor = open_policy(
        flags.policy_path,
        algo=line.algo or flags.algo,
        env_id=flags.env_id,
        args=extras.algo_params if isinstance(extras, PolicyEvalExtras) else {},
        running_normaliser=flags.normaliser == "running",
        trust=flags.trust,
        env_settings=lambda env_id: settings_of(line, document, env_id),
    )
    run_dir = RunDir(flags.run_dir.absolute()) if flags.run_dir else Home.resolve().run(new_run_id())
    env_id = flags.env_id or file.env_id
    trained = file.env_settings if env_id == file.env_id else {}
    env_settings = settings_of(line, document, env_id, before=trained)
    changed = changes(
        file.env_sources,
        own_sources(env_id, env_settings),
        when="when the policy was saved",
        how_to_copy=f"mosaic envs copy {flags.policy_path} DIR",
    )
    return Plan(
        flags=flags,
        file=replace(file, remarks=(*file.remarks, *changed)),
        actor=actor,
        env_id=env_id,
        env_settings=env_settings,
        run_dir=run_dir,
        document=document,
    )


def flags_of(document: TrainRunConfig) -> EvalFlags:
    """What a policy_eval run config asks for."""
    worker = document.metadata.worker.config
    extras = worker.extras
    if not isinstance(extras, PolicyEvalExtras):
        raise ConfigError([Problem("extras.mode", f"'{extras.mode}' is not an evaluation")], what=PROG)
    return EvalFlags(
        policy_path=Path(extras.policy_path),
        episodes=extras.eval_episodes,
        seed=worker.seed if extras.seed_override is None else extras.seed_override,
        repeat=extras.eval_repeat,
        deterministic=extras.eval_deterministic,
        env_id=worker.env_id,
        tensorboard=document.artifacts.tensorboard.enabled,
        tensorboard_dir=extras.tensorboard_dir,
        capture_video=extras.eval_capture_video,
        algo=worker.algo,
        normaliser=extras.eval_normaliser,
        trust=extras.eval_trust,
        **live_options(extras),
    )


def live_options(given: LiveView) -> dict[str, Any]:
    """What flags and document both say of the live view."""
    return {field.name: getattr(given, field.name) for field in fields(LiveView)}


def check_fit(file: PolicyFile, vector: envs.VecEnv) -> None:
    """The environment has the spaces that the policy was trained for."""
    for name, trained, given in (
        ("observation", file.observation_space, vector.single_observation_space),
        ("action", file.action_space, vector.single_action_space),
    ):
        if not is_like(trained, given):
            settings = spoken(file.env_settings)
            raise PolicyError(
                f"the policy has {name} space {trained}, the environment {given}; evaluate it in {file.env_id}"
                f"{f' with {settings}, as it was trained' if settings else ''}"
            )
