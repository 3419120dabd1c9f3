"""Saved views: how the table and the charts are shown and which runs are selected, under a name.

They lie in one file of the home, `views.json`: `{"v": 1, "views": [{"name": …}, …]}`. It is replaced as a whole, under
a lock, so that windows and commands may write at once. A file that cannot be read is set aside under another name and
said, and the list begins empty; a view that cannot be read is said too, and stays in the file as it is.
"""

import json
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any, cast

from annotated_types import MaxLen, MinLen

from mosaic import config
from mosaic.config import JsonObject, JsonValue
from mosaic.errors import ConfigError, HomeUnusable, Problem, UnknownName
from mosaic.near_names import near_names
from mosaic.plain_text import plain_line
from mosaic.run_table.arrangement import Arrangement
from mosaic.spec.files.shared_files import one_at_a_time, read_small, write_atomically
from mosaic.spec.run_dir import Home

LONGEST_NAME = 80
MOST_RUNS = 10_000
VERSION = 1


class UnknownView(UnknownName):
    kind = "view"
    listing = "'mosaic views' lists them"


@dataclass(frozen=True, kw_only=True)
class SavedView:
    """One of them."""

    name: Annotated[str, MinLen(1), MaxLen(LONGEST_NAME)]
    table: Arrangement = field(default_factory=Arrangement)
    widths: dict[str, int] = field(default_factory=dict[str, int])
    """Of columns, in pixels."""
    charts: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """As the charts of the window say it."""
    runs: Annotated[tuple[str, ...], MaxLen(MOST_RUNS)] = ()
    """Ids of the runs that are selected."""
    shows: str = ""
    """The tab that is looked at."""
    saved_at: float = 0.0
    """Unix seconds."""


class SavedViews:
    """Those of a home."""

    def __init__(self, home: Home) -> None:
        self.path = home.root / "views.json"
        self._lock = home.root / "views.lock"
        """Held (flock) while the file is rewritten."""

    def listed(self) -> tuple[list[SavedView], list[str]]:
        """By name; and what could not be read, in sentences. Nothing is raised of a damaged file."""
        if not self.path.exists():
            return [], []
        try:
            return self._views(self._read())
        except ConfigError:
            return self._read_again()
        except OSError as error:
            return [], [f"{self.path} cannot be read: {error.strerror or error}; there are no saved views until it can"]

    def find(self, name: str) -> SavedView:
        views, problems = self.listed()
        for view in views:
            if view.name == name:
                return view
        names = [view.name for view in views]
        hint = "; ".join(problems)
        raise UnknownView(plain_line(name), near_names(name, names), hint=hint)

    def save(self, view: SavedView) -> None:
        """In the place of one with the same name."""
        name = view.name.strip()
        if problem := _wrong_with(name):
            raise ConfigError([Problem("", problem)], what="name of a view")
        made = config.to_json(view) | {"name": name, "saved_at": time.time()}
        # What cannot be read again is not written.
        config.from_json(SavedView, made, what="view")
        with self._writing() as kept:
            kept[:] = [one for one in kept if _name_of(one) != name]
            kept.append(made)

    def delete(self, name: str) -> None:
        self.find(name)
        with self._writing() as kept:
            kept[:] = [one for one in kept if _name_of(one) != name]

    def rename(self, name: str, to: str) -> None:
        view, to = self.find(name), to.strip()
        if problem := _wrong_with(to):
            raise ConfigError([Problem("", problem)], what="name of a view")
        with self._writing() as kept:
            renamed = config.to_json(view) | {"name": to}
            kept[:] = [one for one in kept if _name_of(one) not in (name, to)] + [renamed]

    def _read_again(self) -> tuple[list[SavedView], list[str]]:
        """Under the lock: another process may have set a damaged file aside and begun a new one."""
        try:
            with one_at_a_time(self._lock):
                if not self.path.exists():
                    return [], []
                try:
                    return self._views(self._read())
                except ConfigError as error:
                    return [], [self._set_aside(error)]
        except OSError as error:
            return [], [f"{self.path} is damaged, and cannot be set aside: {error.strerror or error}"]

    @contextmanager
    def _writing(self) -> Generator[list[JsonValue]]:
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with one_at_a_time(self._lock):
                kept: list[JsonValue] = []
                if self.path.exists():
                    try:
                        kept = list(self._read())
                    except ConfigError as error:
                        self._set_aside(error)
                yield kept
                text = json.dumps({"v": VERSION, "views": kept}, indent=1, ensure_ascii=False) + "\n"
                write_atomically(self.path, text)
        except OSError as error:
            raise HomeUnusable(
                f"{self.path} could not be written: {error.strerror or error}; nothing was changed"
            ) from error

    def _read(self) -> Sequence[JsonValue]:
        document: JsonObject = config.loads(read_small(self.path), what=str(self.path))
        views = document.get("views")
        if document.get("v") != VERSION or not isinstance(views, list):
            raise ConfigError([Problem("", "is not a list of views of this version")], what=str(self.path))
        return cast("list[JsonValue]", views)

    @staticmethod
    def _views(found: Sequence[JsonValue]) -> tuple[list[SavedView], list[str]]:
        views: dict[str, SavedView] = {}
        problems: list[str] = []
        for one in found:
            try:
                view = config.from_json(SavedView, cast(Any, one), what="view")
                views[view.name] = view
            except (ConfigError, RecursionError) as error:
                why = " ".join(str(error).split())
                problems.append(
                    f"the saved view “{plain_line(_name_of(one) or '?')}” cannot be read and is left out: {why}"
                )
        return sorted(views.values(), key=lambda view: view.name.lower()), problems

    def _set_aside(self, error: Exception) -> str:
        """Where it went, in a sentence."""
        why = " ".join(str(error).split()).removeprefix(f"{self.path}: ")
        for number in range(1, 1000):
            aside = self.path.with_name(f"{self.path.name}.damaged-{number}")
            if aside.exists():
                continue
            try:
                self.path.rename(aside)
            except OSError as problem:
                return (
                    f"{self.path} cannot be read ({why}), nor set aside ({problem.strerror}); there are no saved views"
                )
            return (
                f"the file of saved views could not be read ({why}): it is kept as {aside}, and the list begins empty"
            )
        return f"{self.path} cannot be read ({why}); remove it to begin a new list"


def _name_of(one: object) -> str:
    name = cast("dict[str, object]", one).get("name") if isinstance(one, dict) else ""
    return name if isinstance(name, str) else ""


def _wrong_with(name: str) -> str:
    if not name:
        return "is empty; give the view a name"
    if len(name) > LONGEST_NAME:
        return f"is too long: at most {LONGEST_NAME} characters"
    return "" if name.isprintable() else "has a character that cannot be shown"
