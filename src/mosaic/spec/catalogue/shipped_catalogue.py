"""The catalogue that ships with the package (`shipped_catalogue.json`): there at once, with nothing imported.

`tools/catalogue.py` makes it of what the programs of `DESCRIBERS` print. A part holds only for what it was made from:
the algorithms for the heads of their files, a family of environments for the versions of the packages that bring it,
the actors for the files that define them. `holding()` gives what holds here, and names what a worker must describe.

The document, as it is shipped and as a worker describes it, has four lists:

- `algorithms`: `name`, `summary`, `actions`, `observations`, `docs`, `schema` (with `rules`, see `mosaic.rules`, and
  with `only_in` or `offline` where it cannot learn everywhere as it is typed, see `mosaic.spec.catalogue.fitting`);
- `families`: `name`, `title`, `extra`, `installed`, `advice`, `environments`, `unlisted` (ids that can be made and are
  not listed), `settings` (schemas, by the first id that has each; an environment has the `settings` `of` one,
  with what is `changed` for this id), and what it holds for: `modules`, `versions` by distribution, `optional` modules;
- `wrappers`, those of Gymnasium: `name`, `summary`, `properties` and `required` of the arguments (JSON Schema),
  `changes` (what may be another with it: `actions`, `observations`, `rewards`), or why it is `refused`;
- `actors`: the fields of `mosaic.spec.actors.ActorDescriptor`.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic.errors import MissingExtra
from mosaic.spec.catalogue.algorithm_pages import WORKER_PACKAGE, package_folder, page
from mosaic.spec.catalogue.importable_packages import are_importable, plugin_groups, versions

Document = dict[str, Any]
"""As above; a part that is not there is not known."""
KEYS = {"algorithms": "name", "families": "name", "wrappers": "name", "actors": "id"}
"""The parts, and what tells the entries of each apart."""
DESCRIBERS = {
    "cleanrl_worker.describe": ("algorithms", "families", "wrappers"),
    "mosaic.play.describe_actors": ("actors",),
}
"""Programs of the workers that print a document, and the parts that each prints."""
FILE = Path(__file__).with_suffix(".json")
HOW_TO_MAKE = "python tools/catalogue.py"
PLUGINS = {"gymnasium.envs": "other", "mosaic.actors": "actors"}
"""Groups of entry points by which other packages add to a family or a part."""
_BLOCK = re.compile(r"^(?=[^\s)\]}#])", re.MULTILINE)
_CONSTANT = re.compile(r"\w+\s*[:=]")
_ARGS = re.compile(r"(?:^@[^\n]*\n)*^class Args\b(\([^)]*\))?", re.MULTILINE)
_SETTINGS = tuple(f"settings/{name}.py" for name in ("constructor", "described", "known_bounds", "settings_schema"))
_WRAPPERS = "wrapping/wrapper_schema.py"
_TASKS = (
    "dm_control_tasks.py",
    "grid_games/__init__.py",
    "grid_games/grid_game.py",
    "memory_tasks.py",
    "pools/pool_catalogue.py",
    "pools/pool_task.py",
    "pools/procgen_tasks.py",
    "pools/pool_maker.py",
)
_WHOLE = ("families.py", "family.py", "description.py", "seats.py", *_TASKS, *_SETTINGS)
"""Files of `mosaic.envs` beside those of the families that say what is described of an environment."""


@dataclass(frozen=True)
class Holding:
    """What of the shipped catalogue holds here."""

    document: Document
    stale: tuple[str, ...]
    """Parts and families that a worker must describe."""


def holding() -> Holding:
    """Read it, and leave out what was made from something else than what is installed here."""
    shipped = _read()
    if shipped is None:
        return Holding({}, tuple(KEYS))
    now, made = digests(), shipped["digests"]
    stale = [part for part in KEYS if now[part] != made[part]]
    stale += [PLUGINS[group] for group in plugin_groups(PLUGINS)]
    content = without(shipped["content"], stale)
    if "algorithms" in content:
        content["algorithms"] = [one | {"docs": page(one["name"])} for one in content["algorithms"]]
    if "families" in content:
        here = {one["name"]: _family_here(one) for one in content["families"]}
        content["families"] = [one for one in here.values() if one is not None]
        stale += [name for name, one in here.items() if one is None]
    if "actors" in content:
        content["actors"] = [one | {"installed": are_importable(one["modules"])} for one in content["actors"]]
    return Holding(content, tuple(stale))


def merged(*documents: Mapping[str, Any]) -> Document:
    """One document of several. What an earlier one says of a name stays; the later ones add what it does not name."""
    whole: Document = {}
    for part, key in KEYS.items():
        entries: dict[str, Any] = {}
        for document in documents:
            for entry in document.get(part, ()):
                entries.setdefault(entry[key], entry)
        if any(part in document for document in documents):
            whole[part] = list(entries.values())
    return whole


def without(document: Mapping[str, Any], names: Iterable[str]) -> Document:
    """What is left of a document without some parts and families."""
    gone = set(names)
    left = {part: entries for part, entries in document.items() if part not in gone}
    if "families" in left:
        left["families"] = [one for one in left["families"] if one["name"] not in gone]
    return left


def with_missing(document: Document) -> Document:
    """A described document, in which families that are not installed say what they would have (`missing`)."""
    shipped = _read()
    known = {one["name"]: one["environments"] for one in shipped["content"]["families"]} if shipped else {}
    families = [
        one if one["installed"] else {"missing": [entry["env_id"] for entry in known.get(one["name"], ())], **one}
        for one in document.get("families", ())
    ]
    return {**document, "families": families}


def digests() -> dict[str, str]:
    """Of the sources that each part is made from."""
    ours = package_folder("mosaic")
    algorithms = (package_folder(WORKER_PACKAGE) / "algorithms").glob("[!_]*.py")
    families = [path for path in (ours / "envs").glob("*.py") if path.name not in _WHOLE]
    actors = (ours / "play" / "actors").rglob("*.py")
    return {
        "algorithms": _digest((path.name, head(path.read_text())) for path in sorted(algorithms)),
        "families": _digest(
            [
                *((path.name, found) for path in sorted(families) if "FAMILY = " in (found := constants(_text(path)))),
                *((name, _text(ours / "envs" / name)) for name in _WHOLE),
            ]
        ),
        "wrappers": _digest(
            [
                ("gymnasium", versions(["gymnasium"])["gymnasium"]),
                *((name, _text(ours / "envs" / name)) for name in (_WRAPPERS, *_SETTINGS)),
            ]
        ),
        "actors": _digest(
            (str(path.relative_to(ours)), found)
            for path in sorted(actors)
            if re.search("^(DESCRIPTOR|ACTORS) = ", found := constants(_text(path)), re.MULTILINE)
        ),
    }


def head(source: str) -> str:
    """What the entry of an algorithm is made from: docstring, constants and the class `Args` of its file.

    The loss is none of it, so that one who works on it has the shipped catalogue all the same. A file whose `Args` has
    a base class, or that has no `Args` at all, is taken whole.
    """
    args = _ARGS.search(source)
    if args is None or args[1]:
        return source
    after = _BLOCK.search(source, args.end())
    return constants(source) + source[args.start() : after.start() if after else len(source)]


def constants(source: str) -> str:
    """The beginning of the docstring and the assignments of a module."""
    blocks = [block for block in _BLOCK.split(source) if block]
    return "".join(block for at, block in enumerate(blocks) if at == 0 or _CONSTANT.match(block))


def _family_here(family: Mapping[str, Any]) -> dict[str, Any] | None:
    """The family as it is here; None if it was described with other packages than those that are installed."""
    if not are_importable(family["modules"]):
        advice = str(MissingExtra(f"the {family['title']} family", family["extra"]))
        # The ids are kept apart: one of them is answered with what to install.
        missing = [one["env_id"] for one in family["environments"]]
        return {**family, "installed": False, "advice": advice, "environments": [], "missing": missing}
    optional = {module: are_importable([module]) for module in family["optional"]}
    if versions(family["versions"]) != family["versions"] or optional != family["optional"]:
        return None
    return dict(family)


def _read() -> dict[str, Any] | None:
    try:
        shipped: dict[str, Any] = json.loads(FILE.read_bytes())
        return shipped if KEYS.keys() <= shipped["digests"].keys() & shipped["content"].keys() else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _text(path: Path) -> str:
    return path.read_text()


def _digest(parts: Iterable[tuple[str, str]]) -> str:
    state = hashlib.sha256()
    for name, text in parts:
        state.update(f"{name}\0{text}\0".encode())
    return state.hexdigest()
