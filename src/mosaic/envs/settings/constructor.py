"""The arguments that a constructor takes, also those that it hands on to another one with `**kwargs`.

A MiniGrid level takes `size` itself and hands `agent_view_size` on to its base class. Which arguments can be handed on
is read from the source of the constructor: those of the other one, without those that the call fills in itself.
"""

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple, get_type_hints

REQUIRED = inspect.Parameter.empty
IGNORED = ("EzPickle",)
"""Bases that only note the arguments, to make the same object again from a pickle."""
_DEEPEST = 8


class Argument(NamedTuple):
    """One argument of a constructor."""

    hint: Any
    """Its annotation, or None."""
    default: Any
    """REQUIRED if there is none."""


class Arguments(NamedTuple):
    """All of them, by name."""

    named: dict[str, Argument]
    is_open: bool
    """It takes others too, and nothing says which."""


def arguments_of(creator: Callable[..., Any], *, depth: int = _DEEPEST) -> Arguments:
    """Of a class or a function that makes an environment."""
    function: Any = creator.__init__ if isinstance(creator, type) else creator
    found: dict[str, Argument] = {}
    rest = ""
    hints = _hints(function)
    for name, parameter in inspect.signature(creator).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            rest = name
        elif parameter.kind not in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
            found[name] = Argument(hints.get(name), parameter.default)
    if not rest:
        return Arguments(found, is_open=False)
    handed_on = [_handed_on(called, call, depth) for called, call in _calls(creator, function, rest)] if depth else []
    for other in handed_on:
        found |= {name: argument for name, argument in other.named.items() if name not in found}
    return Arguments(found, is_open=not handed_on or any(other.is_open for other in handed_on))


def _handed_on(called: Any, call: ast.Call, depth: int) -> Arguments:
    """What is left to give for a call such as `super().__init__(size=size, **kwargs)`."""
    whole = arguments_of(called, depth=depth - 1)
    # `Base.__init__(self, …)` gives the object itself first, which is not an argument of the class.
    given = [one for one in call.args if not (isinstance(one, ast.Name) and one.id == "self")]
    filled = {word.arg for word in call.keywords} | set(list(whole.named)[: len(given)])
    if any(isinstance(one, ast.Starred) for one in given):
        filled -= set(whole.named)
    return Arguments({name: one for name, one in whole.named.items() if name not in filled}, whole.is_open)


def _calls(creator: Any, function: Any, rest: str) -> Iterator[tuple[Any, ast.Call]]:
    """Calls in the constructor that get its `**kwargs`, and what each calls."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        hands_on = any(
            word.arg is None and isinstance(word.value, ast.Name) and word.value.id == rest for word in node.keywords
        )
        called = _called(creator, function, node.func) if hands_on else None
        if called is not None:
            yield called, node


def _called(creator: Any, function: Any, word: ast.expr) -> Any:
    """The class or function that a word means; None if that cannot be told, or does not matter."""
    names = getattr(function, "__globals__", {})
    match word:
        case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr="__init__"):
            return _next_class(creator, function)
        case ast.Attribute(value=ast.Name(id=name), attr="__init__") | ast.Name(id=name):
            found = names.get(name)
            return found if callable(found) and name not in IGNORED else None
        case _:
            return None


def _next_class(creator: Any, function: Any) -> Any:
    """The class whose constructor `super().__init__` is, in the class that defines `function`."""
    order = creator.__mro__
    own = next((at for at, one in enumerate(order) if vars(one).get("__init__") is function), 0)
    for one in order[own + 1 :]:
        if "__init__" in vars(one) and one is not object and one.__name__ not in IGNORED:
            return one
    return None


def _hints(function: Any) -> dict[str, Any]:
    """Its annotations, evaluated one by one: those that mean nothing here are left out."""
    names = getattr(sys.modules.get(getattr(function, "__module__", "")), "__dict__", {})
    found: dict[str, Any] = {}
    for name, hint in getattr(function, "__annotations__", {}).items():
        try:
            found |= get_type_hints(SimpleNamespace(__annotations__={name: hint}), dict(names))
        except Exception:  # A border: an annotation is any expression of another package.
            continue
    return found
