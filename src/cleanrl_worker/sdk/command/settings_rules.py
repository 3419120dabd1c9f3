"""The rules between the settings of an algorithm, read out of `Args.__post_init__` as data (`mosaic.rules`).

Read are sentences of the form `if CONDITION: raise ValueError(MESSAGE)`; a property that returns one expression is put
in its place. What is written in another way stays a rule of the worker, which says it when the run begins.
"""

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from mosaic.rules import NotARule, Rule, checked

STEPS = Rule(
    refused_if="total_timesteps < num_envs",
    message='f"total_timesteps is {total_timesteps}, less than num_envs, {num_envs}: not one step would be made"',
)
"""Of every algorithm."""


def rules_of(args: type[Any]) -> list[Rule]:
    """Those of the class that can be told as data, and the rule of all algorithms."""
    names = {field.name for field in fields(args)}
    return [*_own(args, names), *([STEPS] if {"total_timesteps", "num_envs"} <= names else [])]


def _own(args: type[Any], names: set[str]) -> Iterator[Rule]:
    try:
        body = _body(args.__post_init__)
    except (AttributeError, OSError, TypeError, SyntaxError):  # None, or one whose source is missing.
        return
    into = _Inlined(names, _properties(args))
    for statement in body:
        match statement:
            case ast.If(test=test, body=[ast.Raise(exc=ast.Call(args=[message]))], orelse=[]):
                try:
                    condition, text = (ast.unparse(into.visit(node)) for node in (test, message))
                    yield checked(Rule(refused_if=condition, message=text))
                except NotARule:
                    continue
            case _:
                continue


def _properties(args: type[Any]) -> dict[str, ast.expr]:
    """What each property returns, where that is one expression."""
    found: dict[str, ast.expr] = {}
    for name, value in inspect.getmembers(args, lambda member: isinstance(member, property)):
        try:
            body = _body(value.fget)
        except (OSError, TypeError, SyntaxError):
            continue
        if isinstance(body[-1], ast.Return) and body[-1].value is not None and len(body) == 1:
            found[name] = body[-1].value
    return found


def _body(function: Any) -> list[ast.stmt]:
    """The statements of a function, without its docstring."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(tree, ast.FunctionDef)
    has_docstring = ast.get_docstring(tree) is not None
    return tree.body[1:] if has_docstring and len(tree.body) > 1 else tree.body


class _Inlined(ast.NodeTransformer):
    """`self.setting` as `setting`, `self.property` as what it returns."""

    def __init__(self, names: set[str], properties: Mapping[str, ast.expr]) -> None:
        self._names = names
        self._properties = properties

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if not (isinstance(node.value, ast.Name) and node.value.id == "self"):
            raise NotARule(ast.unparse(node))
        if node.attr in self._names:
            return ast.Name(node.attr, ast.Load())
        if node.attr not in self._properties:
            raise NotARule(ast.unparse(node))
        # Copied: it may stand in several places.
        copied = ast.parse(ast.unparse(self._properties[node.attr]), mode="eval").body
        return self.visit(copied)
