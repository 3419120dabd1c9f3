"""The value of an expression in a user's source, as far as that can be told without running it."""

import ast
import math
from collections.abc import Callable, Mapping
from typing import Any

LARGEST_POWER = 64
LARGEST_BITS, LONGEST = 1024, 10_000
"""Of numbers and of texts and lists: a user's source must not fill our memory."""
Operation = Callable[[Any, Any], Any]
_OPERATORS: Mapping[type[ast.operator], Operation] = {
    ast.Add: lambda left, right: left + right,
    ast.Sub: lambda left, right: left - right,
    ast.Mult: lambda left, right: left * right,
    ast.Div: lambda left, right: left / right,
    ast.FloorDiv: lambda left, right: left // right,
}
_CALLS: Mapping[str, Callable[[Any], Any]] = {"int": int, "float": float, "bool": bool, "str": str}


class Unknown(Exception):
    """Only running the script would tell."""


def value_of(node: ast.expr, *, stem: str) -> Any:
    """A constant; `stem` stands for what scripts make of their own file name."""
    try:
        return _value(node, stem)
    except (ArithmeticError, TypeError, ValueError, RecursionError) as error:
        raise Unknown(str(error)) from error


def _value(node: ast.expr, stem: str) -> Any:
    match node:
        case ast.Constant(value=None | bool() | int() | float() | str()):
            return node.value
        case ast.List() | ast.Tuple():
            return [_value(item, stem) for item in node.elts]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, stem)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            power = _value(right, stem)
            base = _value(left, stem)
            if abs(power) > LARGEST_POWER or (isinstance(base, int) and base.bit_length() * power > LARGEST_BITS):
                raise Unknown("a huge number")
            return base**power
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            one, other = _value(left, stem), _value(right, stem)
            if isinstance(op, ast.Mult):
                _check_size(one, other)
            return _OPERATORS[type(op)](one, other)
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in _CALLS:
            return _CALLS[name](_value(argument, stem))
        case _ if "__file__" in ast.unparse(node) and "name" in ast.unparse(node):
            # os.path.basename(__file__)[: -len(".py")] and its kin.
            return stem
        case _:
            raise Unknown(ast.unparse(node))


def _check_size(one: Any, other: Any) -> None:
    for times, repeated in ((one, other), (other, one)):
        if isinstance(repeated, str | list) and isinstance(times, int) and times * len(repeated) > LONGEST:  # type: ignore[reportUnknownArgumentType]
            raise Unknown("a huge text or list")
    if isinstance(one, int) and isinstance(other, int) and one.bit_length() + other.bit_length() > LARGEST_BITS:
        raise Unknown("a huge number")


def is_finite(value: object) -> bool:
    return not isinstance(value, float) or math.isfinite(value)
