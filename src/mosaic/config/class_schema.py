"""A config class as a JSON Schema, with the strings under its fields; and a class made of a schema."""

import ast
import contextlib
import dataclasses
import inspect
import json
import textwrap
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_type_hints

import pydantic
from annotated_types import Ge, Gt, Le, Lt

from mosaic.config.checked_json import BETWEEN, JsonObject, add_rules
from mosaic.plain_text import plain
from mosaic.rules import NotARule, Rule, checked

if TYPE_CHECKING:
    from pydantic.json_schema import GenerateJsonSchema

T = TypeVar("T")
RULES = "rules"
"""Key of a schema: rules between several settings."""
_BOUNDS = {"exclusiveMinimum": Gt, "minimum": Ge, "exclusiveMaximum": Lt, "maximum": Le}
_TYPES = {"string": str, "integer": int, "number": float, "boolean": bool}


def json_schema(cls: type[Any]) -> JsonObject:
    """JSON Schema with descriptions, defaults, bounds and choices: all that a form needs to know."""
    return json.loads(_schema_text(cls))


def class_from_schema(schema: Mapping[str, Any], *, name: str) -> type[Any]:
    """A config class with the rules of a schema, for a process that must not import the class itself.

    Those between several settings stand under the schema's key `rules` (`mosaic.rules`).
    """
    import tyro

    required: Any = dataclasses.MISSING
    made: list[tuple[str, Any, Any]] = []
    for key, spec in schema["properties"].items():
        text = plain(spec.get("description", ""))
        hint = Annotated[_hint_of(spec), tyro.conf.arg(help=text), pydantic.Field(description=text)]
        default = spec.get("default", required)
        made.append(
            (
                key,
                hint,
                dataclasses.field(default=tuple(cast("list[Any]", default)) if isinstance(default, list) else default),
            )
        )
    cls = dataclasses.make_dataclass(name, made, frozen=True, kw_only=True)
    setattr(cls, BETWEEN, tuple(_rules_in(schema)))
    return cls


def _rules_in(schema: Mapping[str, Any]) -> Iterator[Rule]:
    """One that this version cannot read is left to the worker."""
    for rule in schema.get(RULES, ()):
        with contextlib.suppress(NotARule):
            yield checked(Rule(refused_if=str(rule["refused_if"]), message=str(rule["message"])))


def _hint_of(spec: Mapping[str, Any]) -> Any:
    if "anyOf" in spec:
        members = [None if one.get("type") == "null" else _hint_of(one) for one in spec["anyOf"]]
        return Union[tuple(members)]  # noqa: UP007
    if "enum" in spec or "const" in spec:
        return Literal[tuple(spec.get("enum", [spec.get("const")]))]
    if spec["type"] == "array":
        return tuple[_hint_of(spec["items"]), ...]
    bounds = [make(spec[bound]) for bound, make in _BOUNDS.items() if bound in spec]
    return Annotated[_TYPES[spec["type"]], *bounds] if bounds else _TYPES[spec["type"]]


@cache
def _schema_text(cls: type[Any]) -> str:
    """Made once: it takes tens of milliseconds."""
    return json.dumps(_described_adapter(cls).json_schema(schema_generator=_schema_generator()))


@cache
def _described_adapter(cls: type[T]) -> "pydantic.TypeAdapter[T]":
    """One that knows the help texts too; to read them takes longer than all the rest."""
    _describe(cls)
    add_rules(cls)
    return pydantic.TypeAdapter(cls)


@cache
def _schema_generator() -> "type[GenerateJsonSchema]":
    from pydantic.json_schema import GenerateJsonSchema

    class Schema(GenerateJsonSchema):
        """With the defaults that a factory makes."""

        def get_default_value(self, schema: Any) -> Any:
            factory: Any = schema.get("default_factory")
            return factory() if factory else super().get_default_value(schema)

    return Schema


def _describe(cls: Any) -> None:
    """Write the strings under the fields of a dataclass, and of every dataclass in its fields, into the fields."""
    for member in get_args(cls):
        _describe(member)
    if not isinstance(cls, type) or not dataclasses.is_dataclass(cls):
        return
    texts = {name: text for base in reversed(cls.__mro__) for name, text in _texts_under_fields(base).items()}
    for field in dataclasses.fields(cls):
        if text := texts.get(field.name):
            field.metadata = MappingProxyType({"description": text, **field.metadata})
    for hint in get_type_hints(cls, include_extras=True).values():
        _describe(hint)


@cache
def _texts_under_fields(cls: type[Any]) -> dict[str, str]:
    """Of the class itself; none for one that was made without source."""
    if not dataclasses.is_dataclass(cls):
        return {}
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    except (OSError, TypeError):
        return {}
    texts: dict[str, str] = {}
    for statement, after in pairwise(cast(ast.ClassDef, tree.body[0]).body):
        match statement, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                texts[name] = inspect.cleandoc(text)
            case _:
                pass
    return texts
