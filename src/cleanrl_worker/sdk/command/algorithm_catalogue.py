"""Which algorithms there are: the files in `algorithms/`, found by name and read without importing them.

Those of users (`cleanrl_worker.sdk.command.own_algorithm`) are found by their names too, and have the same rights.
"""

import ast
import functools
import importlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, cast

import cleanrl_worker
from cleanrl_worker.sdk.command import own_algorithm
from cleanrl_worker.sdk.policy import Policy, PolicyFile
from cleanrl_worker.sdk.run import Run
from mosaic.envs.tensor import tensor_tasks
from mosaic.errors import UnknownAlgorithm
from mosaic.scripts import code_gate
from mosaic.spec.catalogue import fitting as environment_fitting
from mosaic.spec.files.source_copy import SourceCopy

PACKAGE = "cleanrl_worker.algorithms"


class Algorithm(Protocol):
    """What an algorithm's file defines."""

    Args: type[Any]
    ACTIONS: str | tuple[str, ...]
    """"discrete", "multi_discrete" or "continuous", or several of these."""

    # OFFLINE = True: it learns from a data set. RESIDENT = True: its environments are functions of tensors.
    # OBSERVATIONS: "vector" where the file says neither "pixels" nor "discrete"; `needed_observations` below reads it.
    # sources(args, env_settings): the files that a run is trained by and keeps a copy of, where there are any.

    def train(self, run: Run, args: Any, /) -> None: ...

    def load(self, file: PolicyFile, /) -> Policy: ...


def upstream_parts(algorithm: Algorithm) -> tuple[str, ...]:
    """`UPSTREAM`, which a file may define: names of the state dicts in the tuple that upstream saves, the actor first.

    Without it, upstream's file of this algorithm is one state dict (alone, or under `model_weights`). None says that
    upstream saves no such file.
    """
    return getattr(algorithm, "UPSTREAM", ()) or ()


def saved_by_upstream(algorithm: Algorithm) -> bool:
    """Whether a file of upstream's may be this algorithm's though nothing says so."""
    return getattr(algorithm, "UPSTREAM", ()) is not None


def names() -> list[str]:
    """Our own; those of users are known to `load` only."""
    return sorted(path.stem for path in _folder().glob("*.py") if not path.stem.startswith("_"))


def load(name: str) -> Algorithm:
    """Our algorithm of this name, or a user's; raises UnknownAlgorithm, or the error in the user's file."""
    if name in names():
        return cast(Algorithm, importlib.import_module(f"{PACKAGE}.{name}"))
    try:
        return cast(Algorithm, own_algorithm.of_name(name).module)
    except UnknownAlgorithm as error:
        hint = f"there are {', '.join(names())}; of your own: {code_gate.absent(name)}"
        raise UnknownAlgorithm(name, error.near, hint=hint) from error


def is_known(name: str) -> bool:
    """Whether `load` finds it; the error of a file that is there but cannot be loaded is raised."""
    try:
        load(name)
    except UnknownAlgorithm:
        return False
    return True


def source_of(name: str) -> SourceCopy | None:
    """The code of an algorithm of a user's as this process has loaded it; None for ours."""
    return None if name in names() else own_algorithm.of_name(name).source


def sources_of(algorithm: Algorithm) -> Callable[[Any, Mapping[str, Any]], SourceCopy | None] | None:
    """What finds the files that a run is trained by, of its settings and those of its environment."""
    return getattr(algorithm, "sources", None)


def observations(name: str) -> Literal["vector", "pixels"]:
    """What an algorithm sees: one vector, or a stack of pictures (its file says `OBSERVATIONS = "pixels"`)."""
    return "pixels" if needed_observations(name) == "pixels" else "vector"


def needed_observations(name: str) -> str:
    """What an environment must show to it: `vector` is anything that can be one, `discrete` the number of a state."""
    if name in names():
        needed = _constant(name, "OBSERVATIONS")
    else:
        needed = getattr(load(name), "OBSERVATIONS", "") if name and is_known(name) else ""
    return str(needed or "vector")


def is_resident(name: str) -> bool:
    """Whether its environments live on its device, as functions of tensors (its file says `RESIDENT = True`)."""
    return bool(_constant(name, "RESIDENT") if name in names() else getattr(load(name), "RESIDENT", False))


def limits_of(algorithm: Any) -> dict[str, Any]:
    """What the schema of an algorithm says of where it can learn, beside its settings."""
    actions, is_resident = kinds_of(algorithm), getattr(algorithm, "RESIDENT", False)
    return _limits(actions, is_resident=is_resident, is_offline=getattr(algorithm, "OFFLINE", False))


def _limits(actions: Sequence[str], *, is_resident: bool, is_offline: bool) -> dict[str, Any]:
    only_in = {environment_fitting.ONLY_IN: tensor_tasks.ids_for(actions)} if is_resident else {}
    return {**only_in, environment_fitting.OFFLINE: True} if is_offline else only_in


def needs(name: str) -> "_Needs":
    """Of one of ours, without importing it."""
    actions = environment_fitting.spelled(cast(Any, _constant(name, "ACTIONS")))
    is_resident, is_offline = (bool(_constant(name, constant)) for constant in ("RESIDENT", "OFFLINE"))
    limits = _limits(environment_fitting.kinds_of(actions), is_resident=is_resident, is_offline=is_offline)
    return _Needs(name, actions, needed_observations(name), limits)


def fitting(actions: str, shown: str = "vector") -> list[str]:
    """Algorithms for this kind of action space and of observation."""
    return environment_fitting.fitting([needs(name) for name in names()], actions, shown)


def kinds_of(algorithm: Algorithm) -> list[str]:
    """The kinds of actions that an algorithm can choose."""
    return environment_fitting.kinds_of(environment_fitting.spelled(algorithm.ACTIONS))


class _Needs(NamedTuple):
    name: str
    actions: str
    observations: str
    schema: Mapping[str, Any]


@functools.cache
def _constant(name: str, variable: str) -> object:
    """Parsing a file takes 20 ms, and the start of a run asks several times."""
    source = (_folder() / f"{name}.py").read_text()
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == variable for t in node.targets):
            return ast.literal_eval(node.value)
    return None


def _folder() -> Path:
    return Path(cleanrl_worker.__file__).parent / "algorithms"
