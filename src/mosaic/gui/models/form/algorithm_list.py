"""Algorithms as the form lists them: ours and those of users by their names, then scripts by file and folder."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mosaic.rpc.client import Algorithm
from mosaic.scripts.script import is_script


@dataclass(frozen=True)
class Entry:
    name: str
    """What a config calls it."""
    text: str
    tip: str
    is_first_script: bool = False


def entries(algorithms: Iterable[Algorithm]) -> Iterator[Entry]:
    known = list(algorithms)
    for algorithm in known:
        if not is_script(algorithm.name):
            summary = algorithm.summary.split(" (docs/")[0].rstrip(".")
            tip = f"{summary}\n{algorithm.place}" if algorithm.place else summary
            yield Entry(algorithm.name, f"{algorithm.name} — {summary}", tip)
    scripts = [algorithm for algorithm in known if is_script(algorithm.name)]
    for place, algorithm in enumerate(scripts):
        path = Path(algorithm.name)
        text = f"{path.name} — {algorithm.summary.rstrip('.')} ({path.parent.name})"
        yield Entry(algorithm.name, text, algorithm.name, is_first_script=place == 0)


def title_of(algorithm: Algorithm) -> str:
    """For the section of its own settings."""
    return Path(algorithm.name).name if is_script(algorithm.name) else algorithm.name
