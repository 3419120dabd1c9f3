"""A config class as flags, by tyro; what tyro does not check is checked as JSON is.

In the flag of a `str | None` the word None is null, so the text "None" is written with a backslash before it, and a
text of backslashes and "None" with one more.
"""

import dataclasses
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from mosaic.config.checked_json import add_rules, unchecked_json, validated
from mosaic.errors import ConfigError, Problem
from mosaic.flag_words import MistypedNumber, number_or_mistyped, told_by_box, unknown_words, why_mistyped
from mosaic.numbers import parse_float, parse_int

if TYPE_CHECKING:
    from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

T = TypeVar("T")
U = TypeVar("U")
_ESCAPED_NONE = re.compile(r"\\*None")


def from_flags(
    cls: type[T], argv: Sequence[str], *, prog: str, description: str | None = None, default: T | None = None
) -> T:
    """Build `cls` from command-line flags; `default` replaces the dataclass's own defaults.

    Unknown and malformed flags and values out of bounds are a ConfigError whose paths are the flags; `--help` prints
    and ends the process.
    """
    add_rules(cls)
    parsed, problems = _parsed(cls, argv, prog=prog, description=description, default=default, parts=[cls])
    return _checked([parsed], problems, prog=prog)[0]


def from_joined_flags(
    first: T, second: U, argv: Sequence[str], *, prog: str, description: str | None = None
) -> tuple[T, U]:
    """Two configs on one command line, without prefixes; the given objects are the defaults."""
    import tyro

    for part in (type(first), type(second)):
        add_rules(part)
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
            whole.append(validated(value))
        except ConfigError as error:
            mistyped = dict(_mistyped(unchecked_json(value)))
            said = [Problem(one.path, mistyped.get(one.path, one.message)) for one in error.problems]
            found += as_flags_of(cast(Any, type(value)), ConfigError(said), what=prog).problems
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


def as_flags_of(cls: type[Any], error: ConfigError, *, what: str) -> ConfigError:
    """The same problems in the words of a command line: `--num-envs` for the setting `num_envs`, wherever it stands."""
    names = sorted((field.name for field in dataclasses.fields(cls) if "_" in field.name), key=len, reverse=True)
    named = re.compile(rf"\b({'|'.join(map(re.escape, names))})\b") if names else None

    def spoken(problem: Problem) -> Problem:
        message = named.sub(lambda found: flag_name(found[1]), problem.message) if named else problem.message
        return Problem(flag_name(problem.path) if problem.path else "", message)

    return ConfigError([spoken(problem) for problem in error.problems], what=what)


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
