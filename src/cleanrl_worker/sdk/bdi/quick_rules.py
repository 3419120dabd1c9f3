"""Rules that are quick to follow. The interpreter copies a rule, with fresh variables, each time it tries it.

It does so with `copy.deepcopy`, which takes most of the time of an agent that reasons by rules; this makes the same
copy, and leaves alone what holds no variable.
"""

from typing import Any

from agentspeak import BinaryExpr, LinkedList, Literal, UnaryExpr, Var, Wildcard, runtime


class QuickRule(runtime.Rule):
    def __deepcopy__(self, _: Any) -> "QuickRule":
        fresh: dict[Var, Var] = {}
        return QuickRule(_term(self.head, fresh), _query(self.query, fresh))


def _term(term: Any, fresh: dict[Var, Var]) -> Any:
    if isinstance(term, Wildcard):
        return term
    if isinstance(term, Var):
        return fresh.setdefault(term, Var())
    if isinstance(term, Literal):
        if not term.args and not term.annots:
            return term
        annotations = frozenset(_term(each, fresh) for each in term.annots)
        return Literal(term.functor, [_term(arg, fresh) for arg in term.args], annotations)
    if isinstance(term, BinaryExpr):
        return BinaryExpr(term.binary_op, _term(term.left, fresh), _term(term.right, fresh))
    if isinstance(term, UnaryExpr):
        return UnaryExpr(term.unary_op, _term(term.operand, fresh))
    if isinstance(term, LinkedList):
        return LinkedList(_term(term.head, fresh), _term(term.tail, fresh))
    if isinstance(term, tuple):
        return tuple(_term(each, fresh) for each in term)
    return term


def _query(query: Any, fresh: dict[Var, Var]) -> Any:
    if isinstance(query, runtime.TermQuery):
        return runtime.TermQuery(_term(query.term, fresh))
    if isinstance(query, runtime.AndQuery | runtime.OrQuery):
        return type(query)(_query(query.left, fresh), _query(query.right, fresh))
    if isinstance(query, runtime.UnifyQuery):
        return runtime.UnifyQuery(_term(query.left, fresh), _term(query.right, fresh))
    if isinstance(query, runtime.NotQuery):
        return runtime.NotQuery(_query(query.query, fresh))
    if isinstance(query, runtime.ActionQuery):
        return runtime.ActionQuery(_term(query.term, fresh), query.impl)
    return query
