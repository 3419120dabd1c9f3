"""The run config of an evaluation, as the command line, the form and the Python client make it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mosaic.config import JsonValue
from mosaic.spec.run_config import (
    Artifacts,
    Environment,
    Metadata,
    PolicyEvalExtras,
    Toggle,
    TrainRunConfig,
    Worker,
    WorkerConfig,
)


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What is evaluated, and where."""

    policy: str
    """The file, on the daemon's machine."""
    env_id: str
    """Environment."""
    algo: str = ""
    """Algorithm; empty if the file says it."""
    settings: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Settings of the environment, over those that the policy was trained with."""


def document_of(
    subject: Subject,
    extras: PolicyEvalExtras,
    *,
    seed: int = 1,
    tensorboard: bool = True,
    label: str = "",
) -> TrainRunConfig:
    """`extras` says how; its path is the subject's."""
    worker = WorkerConfig(algo=subject.algo, env_id=subject.env_id, seed=seed, extras=extras)
    return TrainRunConfig(
        run_name=label,
        environment=Environment(env_id=subject.env_id, settings=dict(subject.settings)),
        artifacts=Artifacts(tensorboard=Toggle(enabled=tensorboard)),
        metadata=Metadata(worker=Worker(config=worker)),
    )
