"""`analytics.json`, the manifest: what a run left behind, rewritten atomically as it grows."""

import json
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal, TypeAlias

from annotated_types import Ge

from mosaic import config
from mosaic.spec.files import write_atomically
from mosaic.spec.own_files import read_regular
from mosaic.spec.run_dir import RunDir

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
]


@dataclass(frozen=True, kw_only=True)
class Artifact:
    """One thing that the run left behind."""

    kind: ArtifactKind
    """What it is."""
    path: str
    """Where, relative to the run directory (absolute for the live view's shared memory)."""
    global_step: Annotated[int, Ge(0)] | None = None
    """Step it belongs to, where that makes sense."""
    label: str = ""
    """For people: "best", "eval batch 3"."""


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
    seed: int = 1
    """Seed."""
    label: str = ""
    """CleanRL's run name."""
    artifacts: tuple[Artifact, ...] = field(default=())
    """Everything, in the order in which it appeared; a path appears once."""

    def adding(self, artifact: Artifact) -> "Manifest":
        """With this artifact; an earlier entry of the same path is replaced."""
        return replace(self, artifacts=(*self._without(artifact.path), artifact))

    def removing(self, path: str) -> "Manifest":
        return replace(self, artifacts=self._without(path))

    def _without(self, path: str) -> tuple[Artifact, ...]:
        return tuple(artifact for artifact in self.artifacts if artifact.path != path)


def read(run_dir: RunDir) -> Manifest:
    return config.from_json_text(Manifest, read_regular(run_dir.manifest), what=str(run_dir.manifest))


def write(run_dir: RunDir, manifest: Manifest) -> None:
    write_atomically(run_dir.manifest, json.dumps(config.to_json(manifest), indent=1) + "\n")
