"""Packages that a script imports and that are not here, told without running it."""

import importlib.util
from pathlib import Path

from mosaic.errors import MissingExtra, MissingPackage
from mosaic.scripts.paths import search_path
from mosaic.scripts.script import Script
from mosaic.spec import extras

STOOD_IN = ("gym", "wandb")
"""Where they are missing, MOSAIC stands in for them."""


def missing_packages(script: Script, module: str = "") -> list[str]:
    """Those at the top of the file that lie neither beside it nor in this installation."""
    beside = [Path(folder) for folder in search_path(script.path, module)]
    return [name for name in script.imports if name not in STOOD_IN and not _is_there(name, beside)]


def refuse_missing(script: Script, module: str = "") -> None:
    """An error with the line that installs what is missing."""
    missing = missing_packages(script, module)
    for name in missing:
        extra = extras.of_module(name)
        if extra is not None:
            raise MissingExtra(f"{script.name}, which imports {name},", extra.name)
    if missing:
        raise MissingPackage(script.name, *missing)


def _is_there(name: str, beside: list[Path]) -> bool:
    if any((folder / name).is_dir() or (folder / f"{name}.py").exists() for folder in beside):
        return True
    return importlib.util.find_spec(name) is not None
