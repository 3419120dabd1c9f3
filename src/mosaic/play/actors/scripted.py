"""`scripted:FILE.py`: a user's Python file. Its functions, of which only the first is needed:

    def select_action(view): ...          # the action, or a Choice; view.observation, view.step, view.legal, view.info
    def reset(seed): ...                  # an episode begins
    def observe(outcome): ...             # what came of it: outcome.reward, outcome.observation, …
    def close(): ...

or a single `make(context)` that returns an object with these four.
"""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from mosaic.errors import ActorFailed
from mosaic.play.actor import Actor, Choice, Context, Outcome, View
from mosaic.scripts.allowed_folders import Allowed
from mosaic.spec.actors import ActorDescriptor

DESCRIPTOR = ActorDescriptor(
    id="scripted",
    label="Script",
    description="A Python file of your own that defines select_action(view).",
    argument="FILE.py",
)


class ScriptedActor:
    """The functions of a file."""

    def __init__(self, script: Any) -> None:
        self._script = script

    def reset(self, seed: int) -> None:
        if hasattr(self._script, "reset"):
            self._script.reset(seed)

    def select_action(self, view: View) -> Choice:
        chosen: Any = self._script.select_action(view)
        return chosen if isinstance(chosen, Choice) else Choice(action=chosen)

    def observe(self, outcome: Outcome) -> None:
        if hasattr(self._script, "observe"):
            self._script.observe(outcome)

    def close(self) -> None:
        if hasattr(self._script, "close"):
            self._script.close()


def make(argument: str, context: Context) -> Actor:
    script = _load(Allowed(context.home).real_path(Path(argument)))
    maker = getattr(script, "make", None)
    if callable(maker):
        return ScriptedActor(maker(context))
    if not callable(getattr(script, "select_action", None)):
        raise ActorFailed(f"{argument} defines neither select_action(view) nor make(context)")
    return ScriptedActor(script)


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("mosaic_script", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise ActorFailed(f"{path} is not a Python file that exists")
    module = importlib.util.module_from_spec(spec)
    # What lies beside it is its own; last, so that none of it takes the place of a library.
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise ActorFailed(f"{path}, line {error.lineno}: {error.msg}") from error
    except Exception as error:  # A border: a user's file may raise anything.
        raise ActorFailed(f"{path} raised when it was loaded: {error!r}") from error
    return module
