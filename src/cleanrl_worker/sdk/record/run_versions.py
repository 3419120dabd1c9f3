"""By which code and which packages an attempt trains, so that two runs can be told apart afterwards."""

import platform
from pathlib import Path

from mosaic.spec.catalogue.importable_packages import versions
from mosaic.spec.files.source_copy import SourceCopy, digest_of

PACKAGES = (
    "mosaic-rl",
    "torch",
    "numpy",
    "gymnasium",
    "ale-py",
    "mujoco",
    "box2d",
    "minigrid",
    "envpool",
    "dm_control",
)
ALGORITHMS = Path(__file__).resolve().parents[2] / "algorithms"


def package_versions() -> dict[str, str]:
    """Of Python and of the packages that are installed here."""
    return {"python": platform.python_version()} | {name: found for name, found in versions(PACKAGES).items() if found}


def code_digest(algo: str, source: SourceCopy | None) -> str:
    """Eight characters that change with the algorithm's file, and with those beside it of a user's own."""
    if source is not None:
        return source.short
    path = ALGORITHMS / f"{algo}.py"
    return digest_of(path.read_text())[:8] if path.is_file() else ""
