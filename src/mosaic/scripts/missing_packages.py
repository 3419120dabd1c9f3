"""All packages that a script, or a file beside it, imports and that are not installed; nothing is run to find out."""

import importlib.util
from collections.abc import Iterator, Sequence
from pathlib import Path

from mosaic.errors import MissingExtra, MissingPackage, MosaicError
from mosaic.installation import package_line
from mosaic.scripts import script as scripts
from mosaic.scripts.import_path import search_path
from mosaic.scripts.script import Script
from mosaic.spec.catalogue import extras

STAND_INS = ("gym", "wandb", "cleanrl_utils")
"""What we stand in for where it is not there."""
PIP_NAMES = {
    "cv2": "opencv-python",
    "PIL": "pillow",
    "sklearn": "scikit-learn",
    "skimage": "scikit-image",
    "yaml": "pyyaml",
    "box2d": "gymnasium[box2d]",
    "Box2D": "gymnasium[box2d]",
    "hydra": "hydra-core",
    "git": "gitpython",
    "dateutil": "python-dateutil",
}
"""Packages that pip knows by another name than Python does."""


def missing_packages(script: Path, module: str = "") -> list[str]:
    """By the names under which they are imported, in the order of the imports."""
    beside = [Path(folder) for folder in search_path(script, module)]
    return list(dict.fromkeys(_missing(script, beside, {script})))


def refuse_missing(script: Script, module: str = "") -> None:
    """An error with the line that installs what is missing: an extra of ours, where that brings it all."""
    missing = missing_packages(script.path, module)
    if not missing:
        return
    brought = [extras.of_module(name) for name in missing]
    if brought[0] is not None and all(extra is not None and extra.name == brought[0].name for extra in brought):
        raise MissingExtra(f"{script.name}, which imports {', '.join(missing)},", brought[0].name)
    raise MissingPackage(script.name, *_pip_names(missing))


def how_to_install(packages: Sequence[str]) -> str:
    return package_line(*_pip_names(packages))


def _pip_names(packages: Sequence[str]) -> list[str]:
    return [PIP_NAMES.get(name, name) for name in packages]


def _missing(path: Path, beside: list[Path], read: set[Path]) -> Iterator[str]:
    for name in _imports(path):
        found = next((file for folder in beside for file in _files(folder, name)), None)
        if found is None:
            if name not in STAND_INS and not _is_installed(name):
                yield name
        elif found not in read and found.is_file():
            read.add(found)
            yield from _missing(found, beside, read)


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ValueError:  # A module that was made and not found, which is there.
        return True


def _files(folder: Path, name: str) -> Iterator[Path]:
    """Where a module of this name would lie; a folder without `__init__.py` is one too."""
    for candidate in (folder / name / "__init__.py", folder / f"{name}.py", folder / name):
        if candidate.exists():
            yield candidate


def _imports(path: Path) -> tuple[str, ...]:
    try:
        return scripts.read(path).imports
    except MosaicError:  # It says itself what is wrong with it when it is imported.
        return ()
