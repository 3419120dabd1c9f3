"""One definition, three faces: a frozen dataclass becomes flags (tyro), validated JSON and JSON Schema (pydantic).

The only module that imports tyro or pydantic; tyro, and pydantic's schemas, only when they are first needed: the daemon
answers before. A setting is a dataclass field: the string under it is the help text
and the schema's description, `Annotated[float, Gt(0)]` its bounds, `Literal` its choices. tyro ignores bounds, so
flags are validated a second time through the same adapter as JSON. An error in a command line is a
ConfigError; numbers are read as users write them (1e5, 300k, 2M; `mosaic.numbers`).

In the flag of a `str | None` the word None is null, so the text "None" is written with a backslash before it, and a
text of backslashes and "None" with one more.
"""

import ast
import contextlib
import dataclasses
import inspect
import io
import json
import math
import os
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr
from functools import cache
from itertools import pairwise
from types import MappingProxyType, NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import pydantic
from annotated_types import Ge, Gt, Le, Lt
from pydantic_core import from_json as parse_json

from mosaic.errors import ConfigError, Problem
from mosaic.flag_words import MistypedNumber, number_or_mistyped, told_by_box, unknown_words, why_mistyped
from mosaic.numbers import parse_float, parse_int
from mosaic.plain_text import plain
from mosaic.rules import NotARule, Rule, checked

if TYPE_CHECKING:
    from pydantic.json_schema import GenerateJsonSchema
    from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

T = TypeVar("T")
U = TypeVar("U")
JsonValue: TypeAlias = pydantic.JsonValue
JsonObject: TypeAlias = dict[str, JsonValue]

RULES = "rules"
"""Key of a schema: rules between several settings."""
_BETWEEN = "__rules_between_settings__"
_RAISED = "Value error, "
"""What pydantic puts before the sentence of a rule in code."""
_FIRST_WORD = re.compile(r"(\w+) (.*)", re.DOTALL)
_SHOWN_CHARACTERS = 200
_ESCAPED_NONE = re.compile(r"\\*None")
_RULES = pydantic.ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


def tagged_by(field: str) -> Any:
    """Mark a union of dataclasses as told apart by their `Literal` field, so that errors name one member only."""
    return pydantic.Field(discriminator=field)


def from_json(cls: type[T], data: object, *, what: str = "config") -> T:
    """Build `cls` from parsed JSON, or raise ConfigError with every broken rule and its path."""
    try:
        return _validate(cls, data, what=what)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError([Problem("", f"not JSON: {error}")], what=what) from error


def from_json_text(cls: type[T], text: str | bytes, *, what: str = "config") -> T:
    """Build `cls` from JSON text; broken JSON is a ConfigError too."""
    return from_json(cls, loads(text, what=what), what=what)


def loads(text: str | bytes, *, what: str = "config") -> JsonObject:
    """Parse a JSON object; anything else is a ConfigError that says where the text breaks."""
    try:
        data: Any = parse_json(text, allow_inf_nan=False)
    except (TypeError, ValueError) as error:  # TypeError: a str with a lone surrogate
        raise ConfigError([Problem("", f"not JSON: {error}")], what=what) from None
    if not isinstance(data, dict):
        raise ConfigError([Problem("", f"must be a JSON object, not {type(data).__name__}")], what=what)
    return cast(JsonObject, data)


def any_json(text: str | bytes) -> Any:
    """Parse JSON of any kind that may come from anywhere; ValueError for what is not JSON, or nested too deeply.

    Unlike `json.loads`, whose RecursionError few callers think of.
    """
    try:
        return parse_json(text)
    except TypeError as error:  # a str with a lone surrogate
        raise ValueError(str(error)) from None


def to_json(value: object) -> JsonObject:
    """The JSON face of a config: `from_json(type(value), to_json(value)) == value`."""
    return _adapter(type(value)).dump_python(value, mode="json")


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
    setattr(cls, _BETWEEN, tuple(_rules_in(schema)))
    return cls


def _rules_in(schema: Mapping[str, Any]) -> Iterator[Rule]:
    """One that this version cannot read is left to the worker."""
    for rule in schema.get(RULES, ()):
        with contextlib.suppress(NotARule):
            yield checked(Rule(refused_if=str(rule["refused_if"]), message=str(rule["message"])))


_BOUNDS = {"exclusiveMinimum": Gt, "minimum": Ge, "exclusiveMaximum": Lt, "maximum": Le}
_TYPES = {"string": str, "integer": int, "number": float, "boolean": bool}


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


def from_flags(
    cls: type[T], argv: Sequence[str], *, prog: str, description: str | None = None, default: T | None = None
) -> T:
    """Build `cls` from command-line flags; `default` replaces the dataclass's own defaults.

    Unknown and malformed flags and values out of bounds are a ConfigError whose paths are the flags; `--help` prints
    and ends the process.
    """
    _prepare(cls)
    parsed, problems = _parsed(cls, argv, prog=prog, description=description, default=default, parts=[cls])
    return _checked([parsed], problems, prog=prog)[0]


def from_joined_flags(
    first: T, second: U, argv: Sequence[str], *, prog: str, description: str | None = None
) -> tuple[T, U]:
    """Two configs on one command line, without prefixes; the given objects are the defaults."""
    import tyro

    for part in (type(first), type(second)):
        _prepare(part)
    joined: Any = dataclasses.make_dataclass(
        "Joined",
        [
            ("first", Annotated[type(first), tyro.conf.arg(name="", help="")]),
            ("second", Annotated[type(second), tyro.conf.arg(name="", help="")]),
        ],
    )
    parsed, problems = _parsed(
        joined,
        argv,
        prog=prog,
        description=description or "",
        default=joined(first=first, second=second),
        parts=[type(first), type(second)],
    )
    _checked([parsed.first, parsed.second], problems, prog=prog)
    return parsed.first, parsed.second


def _parsed(
    cls: Any, argv: Sequence[str], *, prog: str, description: str | None, default: object, parts: Sequence[type[Any]]
) -> tuple[Any, list[Problem]]:
    """What tyro makes of the words, unchecked, and a problem for each word that is not a flag of `parts`."""
    import tyro

    boxed = io.StringIO()
    try:
        with redirect_stderr(boxed):
            parsed, left = cast(Any, tyro.cli)(
                cls,
                args=list(argv),
                prog=prog,
                description=description,
                default=default,
                registry=_registry(),
                return_unknown_args=True,
            )
    except SystemExit as end:
        if not end.code:
            raise
        raise ConfigError([told_by_box(boxed.getvalue())], what=prog) from None
    return parsed, unknown_words(left, ["--help", *(flag for part in parts for flag in flags_of(part))])


def _checked(values: Sequence[Any], problems: Sequence[Problem], *, prog: str) -> list[Any]:
    """The values, validated together, so that all their problems come at once."""
    found, whole = list(problems), list[Any]()
    for value in values:
        try:
            whole.append(validated(value, as_flags=True))
        except ConfigError as error:
            found += error.problems
    if found:
        raise ConfigError(found, what=prog)
    return whole


def flags_of(cls: type[Any], prefix: str = "") -> Iterator[str]:
    """Every flag of a config class."""
    for name, hint in get_type_hints(cls).items():
        if dataclasses.is_dataclass(hint) and isinstance(hint, type):
            yield from flags_of(hint, f"{prefix}{name}.")
            continue
        yield flag_name(prefix + name)
        if hint is bool:
            yield flag_name(f"{prefix}no_{name}")


def validated(value: T, *, what: str = "config", as_flags: bool = False) -> T:
    """Check an already built config by the rules of its JSON face."""
    try:
        return _validate(type(value), _unchecked_json(value), what=what)
    except ConfigError as error:
        if not as_flags:
            raise
        mistyped = dict(_mistyped(_unchecked_json(value)))
        problems = [Problem(one.path, mistyped.get(one.path, one.message)) for one in error.problems]
        raise as_flags_of(type(value), ConfigError(problems, what=what), what=what) from None


def as_flags_of(cls: type[Any], error: ConfigError, *, what: str) -> ConfigError:
    """The same problems in the words of a command line: `--num-envs` for the setting `num_envs`, wherever it stands."""
    names = sorted((field.name for field in dataclasses.fields(cls) if "_" in field.name), key=len, reverse=True)
    named = re.compile(rf"\b({'|'.join(map(re.escape, names))})\b") if names else None

    def spoken(problem: Problem) -> Problem:
        message = named.sub(lambda found: flag_name(found[1]), problem.message) if named else problem.message
        return Problem(flag_name(problem.path) if problem.path else "", message)

    return ConfigError([spoken(problem) for problem in error.problems], what=what)


def blamed(cls: Any, sentence: str) -> Problem:
    """ "gamma is 2, …" as a problem of `gamma`; a sentence that begins otherwise is one of the whole."""
    match = _FIRST_WORD.fullmatch(sentence)
    names = {field.name for field in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else set[str]()
    return Problem(match[1], match[2]) if match and match[1] in names else Problem("", sentence)


def _mistyped(data: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Words where numbers are meant, by their path, and what is wrong with each."""
    if why := why_mistyped(data):
        yield path, why
    elif isinstance(data, (dict, list, tuple)):
        items: Any = cast(Any, data).items() if isinstance(data, dict) else enumerate(cast(Any, data))
        for key, item in items:
            yield from _mistyped(item, f"{path}.{key}" if path else str(key))


def to_flags(value: object, *, changed_only: bool = False) -> list[str]:
    """The flags that make this value: `from_flags(type(value), to_flags(value)) == value`."""
    return list(_flags(value, prefix="", defaults=_defaults(type(value)) if changed_only else {}))


def flag_name(path: str) -> str:
    """`num_envs` is `--num-envs`."""
    return "--" + path.replace("_", "-")


def name_of_flag(word: str) -> str:
    """`--num-envs` is `num_envs`; a word that is not a flag stays as it is."""
    return word[2:].replace("-", "_") if word.startswith("--") else word


def _flags(value: Any, *, prefix: str, defaults: Mapping[str, object]) -> Iterator[str]:
    """A flag for each field that differs from `defaults`."""
    hints = get_type_hints(cast(Any, type(value)))
    has_default = _defaults(type(value)).keys()
    for field in dataclasses.fields(value):
        item, before = getattr(value, field.name), defaults.get(field.name, dataclasses.MISSING)
        path = prefix + field.name
        if dataclasses.is_dataclass(item):
            yield from _flags(item, prefix=f"{path}.", defaults=vars(before) if type(before) is type(item) else {})
        elif item == before:
            continue
        elif hints[field.name] is bool and field.name in has_default:
            yield flag_name(path) if item else flag_name(f"{prefix}no_{field.name}")
        elif isinstance(item, (list, tuple)):
            yield flag_name(path)
            yield from (_listed(path, element) for element in cast(Sequence[object], item))
        elif isinstance(item, dict):
            raise ConfigError([Problem(path, "is an object, which has no flag; use a config file")])
        else:
            word = _text_to_word(item) if _is_optional_text(hints[field.name]) else item
            # One word with "=", so that a value that begins with "-" is not read as a flag.
            yield f"{flag_name(path)}={word}"


def _listed(path: str, element: object) -> str:
    if isinstance(element, str) and element.startswith("-"):
        raise ConfigError([Problem(path, f"{element!r} begins with '-', which a flag cannot list; use a config file")])
    return str(element)


def _defaults(cls: Any) -> dict[str, object]:
    """The fields that have a default, and it."""
    defaults: dict[str, object] = {}
    for field in dataclasses.fields(cls):
        if field.default_factory is not dataclasses.MISSING:
            defaults[field.name] = field.default_factory()
        elif field.default is not dataclasses.MISSING:
            defaults[field.name] = field.default
    return defaults


@cache
def _registry() -> "ConstructorRegistry":
    from tyro.constructors import ConstructorRegistry

    registry = ConstructorRegistry()
    registry.primitive_rule(_primitive)
    return registry


def _primitive(info: "PrimitiveTypeInfo") -> "PrimitiveConstructorSpec[Any] | None":
    """Numbers, choices, and unions of these: a word that is none of them is kept, for all problems to be told at once.

    Of what is left, tyro's own rules see to texts and switches.
    """
    hint: Any = cast(Any, info).type
    if _is_optional_text(hint):
        # tyro's own rule reads None as null and so has no word for the text "None".
        return _spec("{None}|STR", _word_to_text, _text_to_word)
    members = [_bare(member) for member in (get_args(hint) if _is_union(hint) else (hint,))]
    is_ours = all(member in (int, float, NoneType) or get_origin(member) is Literal for member in members)
    if not is_ours or members == [NoneType]:
        return None
    return _spec("|".join(map(_metavar, members)), lambda word: _read(word, members), str)


def _spec(metavar: str, read: Callable[[str], Any], show: Callable[[Any], str]) -> "PrimitiveConstructorSpec[Any]":
    from tyro.constructors import PrimitiveConstructorSpec

    return PrimitiveConstructorSpec(
        nargs=1,
        metavar=metavar,
        instance_from_str=lambda words: read(words[0]),
        is_instance=_is_vouched_for,
        str_from_instance=lambda value: [show(value)],
    )


def _is_vouched_for(_: object) -> bool:
    """Asked of defaults only, which are the class's own."""
    return True


def _metavar(member: Any) -> str:
    if member is NoneType:
        return "{None}"
    return member.__name__.upper() if member in (int, float) else "{" + ",".join(map(str, get_args(member))) + "}"


def _read(word: str, members: Sequence[Any]) -> Any:
    """The value that a word means; where it means none, what is said about that is found later."""
    if word == "None" and NoneType in members:
        return None
    for choice in (choice for member in members for choice in get_args(member)):
        if word == str(choice):
            return choice
    read: Any = word
    for kind, parse in ((int, parse_int), (float, parse_float)):
        if kind in members:
            read = number_or_mistyped(parse, word)
            if not isinstance(read, MistypedNumber):
                break
    return read


def _is_union(hint: Any) -> bool:
    return get_origin(hint) in (Union, UnionType)


def _bare(hint: Any) -> Any:
    """Without its bounds."""
    return hint.__origin__ if hasattr(hint, "__metadata__") else hint


def _is_optional_text(hint: Any) -> bool:
    # An Annotated member has its bare type as __origin__.
    return {getattr(member, "__origin__", member) for member in get_args(hint)} == {str, NoneType}


def _text_to_word(text: str | None) -> str:
    if text is None:
        return "None"
    return "\\" + text if _ESCAPED_NONE.fullmatch(text) else text


def _word_to_text(word: str) -> str | None:
    if word == "None":
        return None
    return word[1:] if _ESCAPED_NONE.fullmatch(word) else word


def _unchecked_json(value: object) -> object:
    # The adapter's own dump warns about values that break the rules, which is what is about to be checked.
    return dataclasses.asdict(value) if dataclasses.is_dataclass(value) and not isinstance(value, type) else value


def prepare(cls: type[Any]) -> None:
    """Make now what the first reading or writing of one would make."""
    _adapter(cls)


@cache
def _schema_text(cls: type[Any]) -> str:
    """Made once: it takes tens of milliseconds."""
    return json.dumps(_described_adapter(cls).json_schema(schema_generator=_schema_generator()))


@cache
def _adapter(cls: type[T]) -> "pydantic.TypeAdapter[T]":
    _prepare(cls)
    return pydantic.TypeAdapter(cls)


@cache
def _described_adapter(cls: type[T]) -> "pydantic.TypeAdapter[T]":
    """One that knows the help texts too; to read them takes longer than all the rest."""
    _describe(cls)
    _prepare(cls)
    return pydantic.TypeAdapter(cls)


def _validate(cls: type[T], data: object, *, what: str) -> T:
    try:
        # Through JSON text, because strict mode accepts a list for a tuple there and only there.
        value, problems = _adapter(cls).validate_json(json.dumps(data, default=os.fspath)), list[Problem]()
        problems += _broken_between(cls, value)
    except pydantic.ValidationError as error:
        value, problems = None, _problems(error, data, cls)
    # pydantic's JsonValue lets NaN through, which is not JSON.
    known = {problem.path for problem in problems}
    problems += [Problem(path, "must be a finite number") for path in _not_finite(data) if path not in known]
    if problems:
        raise ConfigError(problems, what=what)
    return cast(T, value)


def _broken_between(cls: type[Any], value: Any) -> list[Problem]:
    """Rules between settings that do not hold; one for each setting that is to blame."""
    found: dict[str, Problem] = {}
    for rule in getattr(cls, _BETWEEN, ()):
        if sentence := rule.broken_by(vars(value)):
            problem = blamed(cls, sentence)
            found.setdefault(problem.path, problem)
    return list(found.values())


def _not_finite(data: Any, path: str = "") -> Iterator[str]:
    if isinstance(data, float) and not math.isfinite(data):
        yield path
    elif isinstance(data, (dict, list, tuple)):
        items: Any = cast(Any, data).items() if isinstance(data, dict) else enumerate(cast(Any, data))
        for key, item in items:
            yield from _not_finite(item, f"{path}.{key}" if path else str(key))


@cache
def _schema_generator() -> "type[GenerateJsonSchema]":
    from pydantic.json_schema import GenerateJsonSchema

    class Schema(GenerateJsonSchema):
        """With the defaults that a factory makes."""

        def get_default_value(self, schema: Any) -> Any:
            factory: Any = schema.get("default_factory")
            return factory() if factory else super().get_default_value(schema)

    return Schema


def _prepare(cls: Any) -> None:
    """Give a dataclass, and every dataclass in its fields, our rules; pydantic reads them from the class."""
    for member in get_args(cls):
        _prepare(member)
    if not isinstance(cls, type) or not dataclasses.is_dataclass(cls) or "__pydantic_config__" in vars(cls):
        return
    cast(Any, cls).__pydantic_config__ = _RULES
    for hint in get_type_hints(cls, include_extras=True).values():
        _prepare(hint)


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


def _problems(error: pydantic.ValidationError, data: object, cls: Any) -> list[Problem]:
    found: list[Problem] = []
    for item in error.errors(include_url=False):
        problem = Problem(_path(item["loc"], data, absent=item["type"].startswith("missing")), _sentence(item))
        # A rule in code (`__post_init__`) is about the whole, and its sentence begins with the setting to blame.
        is_rule = item["type"] == "value_error" and not problem.path
        found.append(blamed(cls, problem.message) if is_rule else problem)
    return found


def _path(parts: tuple[int | str, ...], data: Any, *, absent: bool) -> str:
    """Where in `data`; pydantic also names the member of a union that it tried, which no writer of JSON knows."""
    path: list[str] = []
    for part in parts:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            continue
        path.append(str(part))
    return ".".join([*path, str(parts[-1])] if absent else path)


def _sentence(item: Mapping[str, Any]) -> str:
    if item["type"] == "unexpected_keyword_argument":
        return "is not a known key"
    if item["type"].startswith("missing"):
        return "is missing"
    message = str(item["msg"]).removeprefix(_RAISED).replace("Input should be", "must be")
    given = item["input"]
    if not isinstance(given, (bool, int, float, str)):
        return message
    shown = repr(given)
    return f"{message} (got {shown if len(shown) <= _SHOWN_CHARACTERS else shown[:_SHOWN_CHARACTERS] + '…'})"
