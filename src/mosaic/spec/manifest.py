"""`analytics.json`, the manifest: what a run left behind, rewritten atomically as it grows."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, cast

from mosaic import config
from mosaic.config import JsonValue
from mosaic.errors import ConfigError, UnsafePath
from mosaic.spec.files.shared_files import read_small, write_atomically
from mosaic.spec.run_dir import RunDir
from mosaic.spec.run_record import Steps, Unsigned

VERSION = 1

ArtifactKind: TypeAlias = Literal[
    "events",
    "log",
    "tensorboard",
    "policy",
    "checkpoint",
    "video",
    "eval_summary",
    "wandb",
    "fastlane",
    "episodes",
    "script",
    "plans",
]


@dataclass(frozen=True, kw_only=True)
class Artifact:
    """One thing that the run left behind."""

    kind: ArtifactKind
    """What it is."""
    path: str
    """Where, relative to the run directory (absolute for the live view's shared memory)."""
    global_step: Steps | None = None
    """Step it belongs to, where that makes sense."""
    label: str = ""
    """Text for the user: "best", "eval batch 3"."""


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What a run is and what it left behind."""

    v: Literal[1] = VERSION
    """Version of this format."""
    run_id: str
    """The run."""
    mode: Literal["train", "policy_eval", "play"] = "train"
    """Kind of the run."""
    algo: str = ""
    """Algorithm."""
    env_id: str = ""
    """Environment."""
    env_settings: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Its settings that are not as the id has them."""
    seed: Unsigned = 1
    """Seed."""
    label: str = ""
    """CleanRL's run name."""
    parent: str = ""
    """Run whose checkpoint this one began from; empty if it began from nothing."""
    parent_step: Steps = 0
    """Step of that checkpoint."""
    artifacts: tuple[Artifact, ...] = field(default=())
    """Everything, in the order in which it appeared; a path appears once."""

    def adding(self, artifact: Artifact) -> "Manifest":
        """With this artifact; an earlier entry of the same path is replaced."""
        return replace(self, artifacts=(*self._without(artifact.path), artifact))

    def removing(self, path: str) -> "Manifest":
        return replace(self, artifacts=self._without(path))

    def _without(self, path: str) -> tuple[Artifact, ...]:
        return tuple(artifact for artifact in self.artifacts if artifact.path != path)


def common_artifacts(run_dir: RunDir) -> tuple[Artifact, ...]:
    """What every kind of run leaves behind."""
    return (
        Artifact(kind="events", path=run_dir.relative(run_dir.events)),
        Artifact(kind="log", path=run_dir.relative(run_dir.stdout)),
        Artifact(kind="log", path=run_dir.relative(run_dir.stderr)),
    )


def tracking_artifacts(run_dir: RunDir, *, wandb: bool) -> tuple[Artifact, ...]:
    """The folder of W&B, which the exporter fills; listed by others, because a manifest has one writer."""
    return (Artifact(kind="wandb", path=run_dir.relative(run_dir.wandb)),) if wandb else ()


def read(run_dir: RunDir) -> Manifest:
    return config.from_json_text(Manifest, read_small(run_dir.manifest), what=str(run_dir.manifest))


def read_parts(run_dir: RunDir) -> tuple[Manifest, str]:
    """What can be read of a manifest that may be damaged, with the policies and checkpoints that lie in the directory;
    and what is wrong with it, empty if nothing is. OSError if there is none."""
    try:
        return read(run_dir), ""
    except ConfigError as error:
        problem = str(error.problems[0])
    try:
        data: dict[str, Any] = config.loads(read_small(run_dir.manifest))
    except ConfigError:
        data = {}
    found = Manifest(run_id=run_dir.run_id)
    for name in ("mode", "algo", "env_id", "seed", "label"):
        if name in data:
            with contextlib.suppress(ConfigError):
                one = config.from_json(Manifest, {"run_id": run_dir.run_id, name: data[name]})
                found = replace(found, **{name: getattr(one, name)})
    listed: Any = data.get("artifacts")
    for entry in cast("list[Any]", listed) if isinstance(listed, list) else []:
        with contextlib.suppress(ConfigError):
            found = found.adding(config.from_json(Artifact, entry))
    named = {artifact.path for artifact in found.artifacts}
    for artifact in _on_disk(run_dir):
        if artifact.path not in named:
            found = found.adding(artifact)
    return found, f"{run_dir.manifest.name} is damaged ({problem:.200}); what could be found without it is listed"


def _on_disk(run_dir: RunDir) -> Iterator[Artifact]:
    for path in sorted(run_dir.root.glob("runs/*/*.cleanrl_model")):
        with contextlib.suppress(UnsafePath, ConfigError):
            yield config.validated(Artifact(kind="policy", path=run_dir.relative(path)))
    for path in sorted(run_dir.checkpoints.glob("step-*")):
        step = path.name.removeprefix("step-")
        if step.isascii() and step.isdigit() and len(step) < 19:
            yield Artifact(kind="checkpoint", path=f"checkpoints/{path.name}", global_step=int(step))


def write(run_dir: RunDir, manifest: Manifest) -> None:
    write_atomically(run_dir.manifest, json.dumps(config.to_json(manifest), indent=1) + "\n")
