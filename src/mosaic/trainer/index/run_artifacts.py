"""What a run left behind, as its manifest says and as far as it lies in the run's own folder."""

import stat
from pathlib import Path

from mosaic.fastlane.ring_files import is_ring
from mosaic.rpc import trainer_pb2 as pb
from mosaic.spec import manifest
from mosaic.spec.manifest import Artifact
from mosaic.spec.run_dir import RunDir


def of_manifest(run_dir: RunDir) -> tuple[tuple[Artifact, ...], str]:
    """None before the run has written its manifest; and what is wrong with that one."""
    try:
        found, damage = manifest.read_parts(run_dir)
    except FileNotFoundError:
        return (), ""
    return found.artifacts, damage


def listed(run_dir: RunDir) -> tuple[list[pb.Artifact], str]:
    """Those that are there, and what is wrong with the manifest; of a path that leads out of the run, or to a link,
    nothing is told."""
    there: list[pb.Artifact] = []
    found, damage = of_manifest(run_dir)
    for artifact in found:
        size = _size(run_dir, artifact)
        if size is not None:
            message = pb.Artifact(kind=artifact.kind, path=artifact.path, label=artifact.label, bytes=size)
            if artifact.global_step is not None:
                message.global_step = artifact.global_step
            there.append(message)
    return there, damage


def _size(run_dir: RunDir, artifact: Artifact) -> int | None:
    """In bytes, 0 of a folder; None if it is not there. The live view's shared memory lies outside of the run."""
    if artifact.kind == "fastlane":
        return Path(artifact.path).lstat().st_size if is_ring(Path(artifact.path)) else None
    found = run_dir.look(artifact.path)
    if found is None:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else 0
