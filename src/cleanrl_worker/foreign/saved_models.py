"""Model files: what a script saves becomes a policy of the run, and what it saved itself it may load again."""

import functools
import os
from pathlib import Path
from typing import Any

import torch

from cleanrl_worker.foreign.script_record import ScriptRecord

SUFFIXES = frozenset({".cleanrl_model", ".pt", ".pth", ".ckpt", ".safetensors"})
ARCHIVE = ".zip"
"""Stable-Baselines3 saves archives."""


class SavedModels:
    def __init__(self, record: ScriptRecord) -> None:
        self._record = record
        self._known: set[Path] = set()

    def change(self) -> None:
        known: Any = torch
        save, load, models = known.save, known.load, self

        @functools.wraps(save)
        def saving(obj: Any, f: Any, *args: Any, **kwargs: Any) -> None:
            save(obj, f, *args, **kwargs)
            if isinstance(f, str | os.PathLike):
                models._note(Path(f))

        @functools.wraps(load)
        def loading(f: Any, *args: Any, **kwargs: Any) -> Any:
            # Since torch 2.6 only weights are loaded by default; a script may trust what it wrote a moment ago.
            if "weights_only" not in kwargs and isinstance(f, str | os.PathLike) and models._wrote(Path(f)):
                kwargs["weights_only"] = False
            return load(f, *args, **kwargs)

        known.save, known.load = saving, loading

    def find_rest(self, folder: Path) -> None:
        """At the end: models that were written in another way."""
        for path in sorted(folder.rglob("*")):
            if not self._wrote(path) and path.is_file() and (path.suffix in SUFFIXES or _is_model_archive(path)):
                self._note(path)

    def _note(self, path: Path) -> None:
        self._known.add(path.resolve())
        self._record.policy(path.resolve())

    def _wrote(self, path: Path) -> bool:
        return path.resolve() in self._known


def _is_model_archive(path: Path) -> bool:
    if path.suffix != ARCHIVE:
        return False
    import zipfile

    try:
        with zipfile.ZipFile(path) as archive:
            return "data" in archive.namelist() or any(name.endswith(".pth") for name in archive.namelist())
    except (OSError, zipfile.BadZipFile):
        return False
