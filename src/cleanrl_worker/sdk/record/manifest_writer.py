"""The manifest of a run, kept current: it lists what is there, and never what is gone."""

import threading
from collections.abc import Collection
from pathlib import Path

from cleanrl_worker.sdk.checkpoints import checkpoint
from mosaic.errors import HomeUnusable
from mosaic.spec import manifest
from mosaic.spec.manifest import Artifact, Manifest
from mosaic.spec.run_dir import RunDir


class ManifestWriter:
    """Opened with what a new run would say of itself; an earlier attempt's manifest is gone on with."""

    def __init__(self, run_dir: RunDir, new: Manifest) -> None:
        self._run_dir = run_dir
        # The learner, the writer of checkpoints and the encoder of videos all have something to list.
        self._turn = threading.Lock()
        if run_dir.manifest.exists():
            self.content, damage = manifest.read_parts(run_dir)
            if damage:
                run_dir.manifest.replace(run_dir.damaged_manifest)
            # An attempt that was killed could not take back its live view, whose memory is gone.
            for artifact in self.content.artifacts:
                if artifact.kind == "fastlane":
                    self.content = self.content.removing(artifact.path)
        else:
            self._write(new)

    def add(self, artifact: Artifact) -> None:
        with self._turn:
            self._write(self.content.adding(artifact))

    def remove(self, path: str) -> None:
        with self._turn:
            self._write(self.content.removing(path))

    def add_board(self, folder: Path) -> None:
        """The TensorBoard folder, wherever `CLEANRL_TENSORBOARD_DIR` may have put it."""
        inside = folder.resolve().is_relative_to(self._run_dir.root.resolve())
        self.add(Artifact(kind="tensorboard", path=self._run_dir.relative(folder) if inside else str(folder)))

    def list_checkpoints(self, *, without: Collection[int] = ()) -> None:
        """Bring the checkpoints up to date with the disk, but for those about to be removed."""
        with self._turn:
            content = self.content
            for artifact in content.artifacts:
                if artifact.kind == "checkpoint":
                    content = content.removing(artifact.path)
            best = checkpoint.best_step(self._run_dir)
            for step in checkpoint.list_steps(self._run_dir):
                if step not in without:
                    path = self._run_dir.relative(self._run_dir.checkpoint(step))
                    label = "best" if step == best else ""
                    content = content.adding(Artifact(kind="checkpoint", path=path, global_step=step, label=label))
            self._write(content)

    def _write(self, content: Manifest) -> None:
        try:
            manifest.write(self._run_dir, content)
        except OSError as error:
            raise HomeUnusable(
                f"{self._run_dir.manifest} could not be written: {error}; free some disk and resume the run"
            ) from error
        self.content = content
