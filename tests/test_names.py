"""One word names one module, and no folder is so full that nothing is found in it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePath

SOURCES = Path(__file__).resolve().parent.parent / "src"
NO_WORDS = ("__init__", "__main__")
MIRRORED = (
    ("mosaic/gui/models", "mosaic/gui/widgets", "mosaic/gui/tabs"),
    ("cleanrl_worker/algorithms", "cleanrl_worker/sdk/fast"),
)
"""Folders that show the same things by the same words: what a tab knows and shows, an algorithm and its fast path."""
MEANT = {
    "bdi_q": "the algorithm, and the actor that learns by it in Play",
    "actors": "the verb `mosaic actors`, and what an actor is (`mosaic.spec.actors`, which plugins import)",
    "evaluate": "the verb, the tab, and the worker's program that both start (`python -m cleanrl_worker.evaluate`)",
    "log": "the Log tab, and the logs of all processes",
    "metrics": "the verb and the tab of one thing",
    "play": "the verb and the tab of one thing",
    "policy": "the policy file (`cleanrl_worker.sdk.policy`, which algorithms import), and the actor of that name",
    "replay": "the verb, and the replay buffer (`cleanrl_worker.sdk.replay`, which algorithms import)",
    "tensorboard": "the verb and the tab of one thing",
    "wandb": "the verb and the tab of one thing",
}
"""Words that may name several modules, and why."""
MOST_FILES = 27
"""In one folder; a fuller one gets a second level, named after what a user sees."""


def sources() -> list[PurePath]:
    return [path.relative_to(SOURCES) for path in SOURCES.rglob("*.py") if "__pycache__" not in path.parts]


def collisions(paths: Iterable[PurePath]) -> Mapping[str, list[str]]:
    """Words that name more than one module, mirrored folders apart."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for path in paths:
        if path.stem not in NO_WORDS:
            place = path.parent.as_posix()
            mirrors = [folders[0] for folders in MIRRORED if place.startswith(folders)]
            found[path.stem].setdefault(mirrors[0] if mirrors else path.as_posix(), path.as_posix())
    return {word: sorted(places.values()) for word, places in found.items() if len(places) > 1}


def test_a_word_names_one_module() -> None:
    found = collisions(sources())
    assert {word: places for word, places in found.items() if word not in MEANT} == {}
    assert MEANT.keys() - found.keys() == set(), "no longer needed"


def test_a_second_module_of_a_word_is_found() -> None:
    added = [*sources(), PurePath("mosaic/trainer/machine/supervisor.py"), PurePath("mosaic/gui/widgets/runs/notes.py")]
    assert collisions(added).keys() - MEANT.keys() == {"supervisor"}


def test_catalogue_is_spelt_in_one_way() -> None:
    assert [path for path in sources() if "catalog" in path.stem.replace("catalogue", "")] == []


def test_no_folder_is_too_full() -> None:
    files: dict[str, int] = defaultdict(int)
    for path in sources():
        files[path.parent.as_posix()] += 1
    assert {folder: number for folder, number in files.items() if number > MOST_FILES} == {}
