"""A file of one's own in the place of an algorithm: `mosaic train ./my_ppo.py`."""

import os
from pathlib import Path

from mosaic.cli.reach import refuse_remote
from mosaic.errors import ConfigError, Problem
from mosaic.scripts import algorithm_file, own_algorithms
from mosaic.scripts.allowed import Allowed
from mosaic.scripts.script import is_script
from mosaic.spec.run_dir import Home


def name_of(word: str) -> str:
    """The name of the algorithm in a file; the word itself if it is no path of one."""
    if not is_script(word) or word.startswith("-"):
        return word
    # Without '..', so that messages show where it lies.
    path = Path(os.path.abspath(Path(word).expanduser()))  # noqa: PTH100
    read = algorithm_file.read(path)
    if not read.is_meant:
        return word
    refuse_remote("train FILE")
    if problem := own_algorithms.refuse_name(read.name) or read.problem:
        raise ConfigError([Problem(path.name, problem)], what=str(path))
    allowed = Allowed(Home.resolve())
    allowed.real_path(path, verb="algos")
    found = own_algorithms.find(read.name, allowed)
    if found is None:
        message = "is not listed: its name is one of a test or of a part, or it lies too deep in its allowed folder"
        raise ConfigError([Problem(path.name, message)], what=str(path))
    if found.problem:
        raise found.error
    return found.name
