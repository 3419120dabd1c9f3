"""Algorithms as the form lists them: in groups by what they act on, those of users, then scripts."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mosaic.gui.models.word_search import holds_words
from mosaic.rpc.client import Algorithm
from mosaic.scripts.script import is_script

OWN, SCRIPTS = "Your own", "Scripts"
ACTIONS = {"discrete": "Discrete actions", "continuous": "Continuous actions"}
SEES = {"vector": "vectors", "pixels": "pictures", "discrete": "numbered states"}
FIRST_GROUPS = ("Discrete actions · vectors", "Discrete actions · pictures", "Continuous actions · vectors")


@dataclass(frozen=True)
class Entry:
    """An algorithm in the list."""

    name: str
    """What a config calls it."""
    title: str
    explanation: str
    """One line."""
    tip: str
    group: str

    @property
    def line(self) -> str:
        """Both in one line."""
        return f"{self.title} — {self.explanation}" if self.explanation else self.title


def entry_of(algorithm: Algorithm) -> Entry:
    summary = algorithm.summary.split(" (docs/")[0].rstrip(".")
    if is_script(algorithm.name):
        path = Path(algorithm.name)
        return Entry(algorithm.name, path.name, f"{summary} ({path.parent.name})", algorithm.name, SCRIPTS)
    tip = f"{summary}\n{algorithm.place}" if algorithm.place else summary
    group = OWN if algorithm.place else _group_of(algorithm)
    return Entry(algorithm.name, algorithm.name, summary, tip, group)


def entries(algorithms: Iterable[Algorithm], typed: str = "") -> dict[str, list[Entry]]:
    """By group, those that hold every word that was typed: the usual groups first, scripts last."""
    found: dict[str, list[Entry]] = {}
    for entry in map(entry_of, algorithms):
        if holds_words(f"{entry.line} {entry.group} {entry.name}", typed):
            found.setdefault(entry.group, []).append(entry)
    return dict(sorted(found.items(), key=lambda each: _place_of(each[0])))


def title_of(algorithm: Algorithm) -> str:
    """For the section of its own settings."""
    return Path(algorithm.name).name if is_script(algorithm.name) else algorithm.name


def _group_of(algorithm: Algorithm) -> str:
    kind = algorithm.actions.partition(",")[0]
    actions = ACTIONS.get(kind, kind.replace("_", " ").capitalize() or "Any actions")
    sees = SEES.get(algorithm.observations, algorithm.observations)
    return f"{actions} · {sees}" if sees else actions


def _place_of(group: str) -> int:
    if group in FIRST_GROUPS:
        return FIRST_GROUPS.index(group)
    return len(FIRST_GROUPS) + {OWN: 1, SCRIPTS: 2}.get(group, 0)
