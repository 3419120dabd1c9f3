"""Rules between settings, as data: a condition and what to say, evaluated without running a user's code.

`total_timesteps < num_envs * num_steps` is a rule of an algorithm's `__post_init__`. A schema carries it as text, so
that a process which must not import the algorithm (it would load torch) can refuse what the algorithm would refuse.
Of Python it knows numbers, texts, the names of settings, arithmetic, comparisons, `and`, `or`, `not`, `a if b else c`,
min, max, abs, len, int, float and f-strings; nothing else, so a schema from anywhere is harmless.
"""

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

MAX_TEXT = 2_000
MAX_NODES = 400
_FORMAT = re.compile(r"[,_]?(\.\d{1,2})?[defgns%]?")

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
_COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
_CALLED: dict[str, Callable[..., Any]] = {
    "min": min,
    "max": max,
    "abs": abs,
    "len": len,
    "int": int,
    "float": float,
}


class NotARule(ValueError):
    """Text that says more than a rule may."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule between settings."""

    refused_if: str
    """An expression of settings; true is refused."""
    message: str
    """An f-string; its first word is the setting that is to blame."""

    def broken_by(self, settings: Mapping[str, Any]) -> str:
        """What to say; empty if the rule holds, or if its numbers cannot be compared."""
        try:
            if not _value(_parsed(self.refused_if), settings):
                return ""
            return str(_value(_parsed(self.message), settings))
        except (ArithmeticError, TypeError, KeyError):
            return ""


def checked(rule: Rule) -> Rule:
    """The rule, or NotARule if it has something in it that is not evaluated here."""
    for text in (rule.refused_if, rule.message):
        _parsed(text)
    return rule


@cache
def _parsed(text: str) -> ast.expr:
    if len(text) > MAX_TEXT:
        raise NotARule(f"a rule of {len(text)} characters")
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError) as error:
        raise NotARule(f"{text!r} is not an expression: {error}") from error
    nodes = list(ast.walk(tree))
    if len(nodes) > MAX_NODES:
        raise NotARule(f"a rule of {len(nodes)} parts")
    for node in nodes:
        if not _is_known(node):
            raise NotARule(f"{text!r} has a {type(node).__name__}, which no rule may have")
    return tree


def _is_known(node: ast.AST) -> bool:
    match node:
        case ast.Constant(value=value):
            return value is None or isinstance(value, (bool, int, float, str))
        case ast.BinOp(op=op):
            return type(op) in _BINARY
        case ast.UnaryOp(op=op):
            return type(op) in _UNARY
        case ast.Compare(ops=ops):
            return all(type(op) in _COMPARED for op in ops)
        case ast.Call(func=ast.Name(id=name), keywords=[]):
            return name in _CALLED
        case ast.FormattedValue(conversion=-1, format_spec=None | ast.JoinedStr()):
            return _FORMAT.fullmatch(_format_of(node)) is not None
        case _:
            simple = (ast.Name, ast.BoolOp, ast.IfExp, ast.JoinedStr, ast.expr_context)
            operators = (ast.operator, ast.unaryop, ast.cmpop, ast.boolop)
            return isinstance(node, (*simple, *operators))


def _format_of(node: ast.FormattedValue) -> str:
    parts = node.format_spec.values if isinstance(node.format_spec, ast.JoinedStr) else []
    # Anything but a text in it makes it unknown.
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "{" for part in parts)


def _value(node: ast.expr, settings: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return settings[name]
        case ast.BinOp(left=left, op=op, right=right):
            return _of_numbers(_BINARY[type(op)], _value(left, settings), _value(right, settings))
        case ast.UnaryOp(op=op, operand=operand):
            return _UNARY[type(op)](_value(operand, settings))
        case ast.BoolOp(op=op, values=values):
            found: Any = None
            for item in values:
                found = _value(item, settings)
                if bool(found) == isinstance(op, ast.Or):
                    break
            return found
        case ast.Compare(left=left, ops=ops, comparators=others):
            before = _value(left, settings)
            for op, other in zip(ops, others, strict=True):
                after = _value(other, settings)
                if not _COMPARED[type(op)](before, after):
                    return False
                before = after
            return True
        case ast.IfExp(test=test, body=body, orelse=other):
            return _value(body if _value(test, settings) else other, settings)
        case ast.Call(func=ast.Name(id=name), args=words):
            return _CALLED[name](*(_value(word, settings) for word in words))
        case ast.JoinedStr(values=parts):
            return "".join(str(_value(part, settings)) for part in parts)
        case ast.FormattedValue(value=value):
            return format(_value(value, settings), _format_of(node))
        case _:
            raise NotARule(type(node).__name__)


def _of_numbers(compute: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """Not of texts: "%" would format, and "*" would make a long one."""
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return compute(left, right)
    raise TypeError("a rule computes with numbers only")
