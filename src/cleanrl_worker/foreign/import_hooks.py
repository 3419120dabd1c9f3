"""Doing something to a module when it is imported, or standing in for one that is not there; nothing is imported early.

A script imports what it likes when it likes. What a hook changes is changed in the module itself, once, so that every
way to import a name from it sees the same thing.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType

Action = Callable[[ModuleType], None]


class _Hooked(importlib.abc.Loader):
    """Another loader, and then the action."""

    def __init__(self, loader: importlib.abc.Loader, action: Action) -> None:
        self._loader = loader
        self._action = action

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        self._action(module)

    def __getattr__(self, name: str) -> object:
        return getattr(self._loader, name)


class _Made(importlib.abc.Loader):
    def __init__(self, fill: Action) -> None:
        self._fill = fill

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        del spec
        return None

    def exec_module(self, module: ModuleType) -> None:
        self._fill(module)


class Hooks(importlib.abc.MetaPathFinder):
    """Asked first by every import."""

    def __init__(self) -> None:
        self._actions: dict[str, Action] = {}
        self._instead: dict[str, Action] = {}
        self._if_missing: dict[str, Action] = {}
        self._busy: set[str] = set()

    def install(self) -> None:
        sys.meta_path.insert(0, self)

    def when_imported(self, name: str, action: Action) -> None:
        """Now, if it is imported already."""
        if name in sys.modules:
            action(sys.modules[name])
        else:
            self._actions[name] = action

    def instead_of(self, name: str, fill: Action) -> None:
        """A module of ours under this name, and any below it, whatever is installed."""
        # A copy at once: other threads import meanwhile.
        for known in [one for one in list(sys.modules) if one == name or one.startswith(f"{name}.")]:
            del sys.modules[known]
        self._instead[name] = fill

    def if_missing(self, name: str, fill: Action) -> None:
        """A module of ours under this name, if there is none."""
        self._if_missing[name] = fill

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        del path, target
        fill = self._instead.get(fullname) or self._instead.get(f"{fullname.partition('.')[0]}.*")
        if fill is not None:
            return importlib.machinery.ModuleSpec(fullname, _Made(fill), is_package=True)
        if fullname in self._busy or fullname not in self._actions.keys() | self._if_missing.keys():
            return None
        self._busy.add(fullname)
        try:
            spec = importlib.util.find_spec(fullname)
        except ModuleNotFoundError:
            spec = None
        finally:
            self._busy.discard(fullname)
        if spec is None and fullname in self._if_missing:
            return importlib.machinery.ModuleSpec(fullname, _Made(self._if_missing[fullname]), is_package=True)
        if spec is not None and spec.loader is not None and fullname in self._actions:
            spec.loader = _Hooked(spec.loader, self._actions[fullname])
        return spec
