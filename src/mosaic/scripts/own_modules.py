"""Modules that lie beside a file of a user's: a process has those of one folder at a time.

Two folders may each have a `nets.py`, and Python knows one module of a name. So when another algorithm is turned to,
the modules of the one before leave `sys.modules` and its folder leaves the path; they come back when it is turned to
again. An environment or a wrapper is executed among the modules of its own folder (`among`).
"""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

OURS = ("mosaic", "cleanrl_worker")


class ModulesBeside:
    """The modules of one folder, that of the algorithm among them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._others: frozenset[str] | None = None
        self._modules: dict[str, ModuleType] = {}

    def enter(self) -> None:
        if self._others is None:
            self._others = frozenset(sys.modules)
        sys.modules.update(self._modules)
        # First, as with `python FILE`.
        sys.path.insert(0, str(self.folder))

    def leave(self) -> None:
        """Nothing leaves that was there before, nor what an environment within the folder has installed."""
        others = self._others or frozenset()
        added = {name: module for name, module in list(sys.modules.items()) if name.partition(".")[0] not in others}
        tops = {name for name, module in added.items() if "." not in name and _lies_in(module, self.folder)}
        self._modules = {name: module for name, module in added.items() if name.partition(".")[0] in tops}
        for name in self._modules:
            del sys.modules[name]
        if str(self.folder) in sys.path:
            sys.path.remove(str(self.folder))


_now: ModulesBeside | None = None


def turn_to(beside: ModulesBeside | None) -> None:
    """Have these modules and no other algorithm's; None has none."""
    global _now
    if beside is _now:
        return
    if _now is not None:
        _now.leave()
    _now = beside
    if beside is not None:
        beside.enter()


_beside: dict[Path, ModulesBeside] = {}


@contextmanager
def among(folder: Path) -> Generator[None]:
    """While a file of this folder is executed. What it imports later is found too, behind all that is installed."""
    before = _now
    if before is not None and before.folder == folder:
        yield
        return
    turn_to(_beside.setdefault(folder, ModulesBeside(folder)))
    try:
        yield
    finally:
        turn_to(before)
        if str(folder) not in sys.path:
            sys.path.append(str(folder))


def imported_by_main(path: Path) -> frozenset[str]:
    """What `python FILE` has imported from the folder of this file before the file is loaded as an algorithm."""
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    if main is None or Path(main).resolve() != path.resolve():
        return frozenset()
    modules = list(sys.modules.items())
    tops = {name for name, module in modules if name not in OURS and _lies_in(module, path.parent)}
    return frozenset(name for name, _ in modules if name != "__main__" and name.partition(".")[0] in tops)


def _lies_in(module: Any, folder: Path) -> bool:
    """Directly, as a file or as a package. What a module says is looked up without its own `__getattr__`."""
    about: dict[str, Any] = getattr(module, "__dict__", {})
    places = [*(about.get("__path__") or ()), about.get("__file__")]
    return any(Path(place).parent == folder for place in places if isinstance(place, str))
