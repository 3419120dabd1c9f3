"""`a[0] = np.array([1])`: NumPy 2 refuses an array of one number in the place of a number; older scripts store it.

No array can be taught this, so the script's compiled code is: a store that NumPy refuses is done again with the number
itself. A store that works costs nothing more, and every line keeps its number.
"""

import ast
from types import CodeType
from typing import Any

import numpy as np

STORE, VALUE = "__store_one_number__", "__value_to_store__"
REFUSALS = ("TypeError", "ValueError")
_DOES_SOMETHING = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)


def compiled(source: bytes, path: str) -> CodeType:
    """The script's code, with a second try behind each store into a subscript where NumPy asks for it."""
    tree = ast.parse(source, path)
    if _is_refused():
        tree = ast.fix_missing_locations(_SecondTry().visit(tree))
    return compile(tree, path, "exec", dont_inherit=True)


def store(target: Any, index: Any, value: Any) -> bool:
    """Whether the refused store was one of an array of one number, and has been done."""
    if not isinstance(target, np.ndarray) or not isinstance(value, np.ndarray) or value.size != 1 or not value.ndim:
        return False
    if not np.isscalar(target[index]):
        return False
    target[index] = value.item()
    return True


def _is_refused() -> bool:
    try:
        np.zeros(1)[0] = np.ones(1)
    except (TypeError, ValueError):
        return True
    return False


class _SecondTry(ast.NodeTransformer):
    def visit_Assign(self, node: ast.Assign) -> Any:
        match node.targets:
            case [ast.Subscript(value=target, slice=index)] if not _does_something(target) and _is_plain(index):
                return self._tried(node, target, index)
            case _:
                return node

    def _tried(self, node: ast.Assign, target: ast.expr, index: ast.expr) -> list[ast.stmt]:
        before: list[ast.stmt] = []
        if _does_something(node.value):
            # Evaluated once, and first, as Python does.
            before.append(ast.Assign([ast.Name(VALUE, ast.Store())], node.value))
            node.value = ast.Name(VALUE, ast.Load())
        again = ast.Call(ast.Name(STORE, ast.Load()), [target, index, node.value], [])
        handler = ast.ExceptHandler(
            ast.Tuple([ast.Name(name, ast.Load()) for name in REFUSALS], ast.Load()),
            None,
            [ast.If(ast.UnaryOp(ast.Not(), again), [ast.Raise()], [])],
        )
        made = [*before, ast.Try([node], [handler], [], [])]
        return [ast.copy_location(one, node) for one in made]


def _does_something(node: ast.expr) -> bool:
    """Whether it may not be evaluated twice."""
    return any(isinstance(one, _DOES_SOMETHING) for one in ast.walk(node))


def _is_plain(index: ast.expr) -> bool:
    """One place and no part of the array."""
    return not _does_something(index) and not any(isinstance(one, ast.Slice | ast.Starred) for one in ast.walk(index))
