"""From the dataclass that a script hands to tyro to a JSON Schema, by reading its source."""

import ast
from collections.abc import Iterator
from typing import Any

from mosaic.scripts.constant_values import Unknown, is_finite, value_of

_TYPES = {"int": "integer", "float": "number", "bool": "boolean", "str": "string", "Path": "string"}
_LISTS = ("list", "List", "tuple", "Tuple", "Sequence")


def tyro_class(tree: ast.Module) -> ast.ClassDef | None:
    """The class of `tyro.cli(Args)`, if this file defines it."""
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="tyro"), attr="cli") | ast.Name(id="cli"),
                args=[ast.Name(id=name), *_],
            ) if name in classes:
                return classes[name]
            case _:
                continue
    return None


def properties_of(
    tree: ast.Module, cls: ast.ClassDef, *, stem: str, above: tuple[str, ...] = ()
) -> dict[str, dict[str, Any]]:
    """A property for each field that a flag can set; those of its bases in the same file too."""
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    found: dict[str, dict[str, Any]] = {}
    above = (*above, cls.name)
    for base in cls.bases:
        # Python would refuse a class among its own bases; reading it must not go round in circles.
        if isinstance(base, ast.Name) and base.id in classes and base.id not in above:
            found |= properties_of(tree, classes[base.id], stem=stem, above=above)
    for field, text in _fields(cls):
        spec = _property(field, text, stem)
        if spec is not None:
            assert isinstance(field.target, ast.Name)
            found[field.target.id] = spec
    return found


def _fields(cls: ast.ClassDef) -> Iterator[tuple[ast.AnnAssign, str]]:
    """Annotated names, and the string under each."""
    following: list[ast.stmt | None] = [*cls.body[1:], None]
    for node, after in zip(cls.body, following, strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            match after:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield node, " ".join(text.split())
                case _:
                    yield node, ""


def _property(field: ast.AnnAssign, text: str, stem: str) -> dict[str, Any] | None:
    core, optional = _core(field.annotation)
    if core is None:
        return None
    spec: dict[str, Any] = {"description": text}
    try:
        default = _checked(core, _default(field, stem))
    except Unknown as error:
        # Left to the script unless the user says otherwise.
        default, optional = None, True
        spec["description"] = f"{text} (the script's own default: {error})".strip()
    if default is None or optional:
        return spec | {"anyOf": [core, {"type": "null"}], "default": default}
    return spec | core | {"default": default}


def _core(annotation: ast.expr) -> tuple[dict[str, Any] | None, bool]:
    """The schema of an annotation, and whether None is allowed; no schema for what no flag can carry."""
    match annotation:
        case ast.Constant(value=str(text)):
            inner = _parsed(text)
            return (None, False) if inner is None else _core(inner)
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in _TYPES:
            return {"type": _TYPES[name]}, False
        case ast.Subscript(value=ast.Name(id="Optional") | ast.Attribute(attr="Optional"), slice=inner):
            return _core(inner)[0], True
        case ast.Subscript(value=ast.Name(id="Annotated") | ast.Attribute(attr="Annotated"), slice=ast.Tuple() as all_):
            return _core(all_.elts[0])
        case ast.Subscript(value=ast.Name(id="Literal") | ast.Attribute(attr="Literal"), slice=inner):
            return _literal(inner), False
        case ast.Subscript(value=ast.Name(id="Union") | ast.Attribute(attr="Union"), slice=ast.Tuple(elts=members)):
            return _union(members)
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            return _union([left, right])
        case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name), slice=inner) if name in _LISTS:
            item = _core(inner.elts[0] if isinstance(inner, ast.Tuple) else inner)[0]
            return (None if item is None else {"type": "array", "items": item}), False
        case _:
            return None, False


def _parsed(text: str) -> ast.expr | None:
    """An annotation in quotes; None for one that is not an expression."""
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        return None


def _union(members: list[ast.expr]) -> tuple[dict[str, Any] | None, bool]:
    kept = [one for one in members if not (isinstance(one, ast.Constant) and one.value is None)]
    return (_core(kept[0])[0], len(kept) < len(members)) if len(kept) == 1 else (None, False)


def _literal(inner: ast.expr) -> dict[str, Any] | None:
    items = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    values = [item.value for item in items if isinstance(item, ast.Constant)]
    return {"enum": values} if len(values) == len(items) and all(isinstance(one, str | int) for one in values) else None


def _default(field: ast.AnnAssign, stem: str) -> Any:
    match field.value:
        case None:
            raise Unknown("none; it must be given")
        case ast.Call(func=ast.Name(id="field") | ast.Attribute(attr="field"), keywords=keywords):
            for keyword in keywords:
                if keyword.arg == "default":
                    return value_of(keyword.value, stem=stem)
                if keyword.arg == "default_factory" and isinstance(keyword.value, ast.Lambda):
                    return value_of(keyword.value.body, stem=stem)
            raise Unknown(ast.unparse(field.value))
        case value:
            return value_of(value, stem=stem)


def _checked(core: dict[str, Any], given: Any) -> Any:
    """A default as its type has it; CleanRL writes `start_e: float = 1`."""
    default: Any = given
    if default is None:
        return None
    kind = core.get("type")
    if kind == "number" and type(default) in (int, float) and is_finite(default):
        return float(default)
    kinds: dict[str, type[Any]] = {"integer": int, "boolean": bool, "string": str, "array": list}
    if type(default) is kinds.get(str(kind)) or default in core.get("enum", ()):
        return default
    raise Unknown(repr(default))
