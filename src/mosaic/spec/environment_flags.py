"""`--env.NAME VALUE`, `--env-kwargs JSON` and `--wrap WRAPPER` of a command line: taken out of its words, then read by
a schema."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mosaic import config
from mosaic.errors import ConfigError, Problem
from mosaic.spec import environment_settings, setting_values, wrappers
from mosaic.spec.environment_settings import PREFIX

KWARGS = "--env-kwargs"
ENV_FLAGS = ("--env-id", "--env_id")
NO_WRAP = "--no-wrap"


@dataclass(frozen=True, kw_only=True)
class EnvironmentFlags:
    """What a command line says about settings, before anything is known of the environment."""

    words: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    """By the name of the setting; None where the flag has no value."""
    kwargs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What the JSON says."""
    wraps: Sequence[str] | None = None
    """The words of each wrapper, in order; an empty list is `--no-wrap`."""

    def __bool__(self) -> bool:
        return bool(self.words or self.kwargs) or self.wraps is not None

    @property
    def names(self) -> list[str]:
        """Of the wrappers."""
        return [wrappers.name_of(text) for text in self.wraps or ()]

    def with_names(self, reference_of: Callable[[str], str]) -> "EnvironmentFlags":
        """With wrappers of files by their references."""
        if not self.wraps:
            return self
        named = [(text.strip(), wrappers.name_of(text)) for text in self.wraps]
        return replace(self, wraps=[reference_of(name) + text.removeprefix(name) for text, name in named])

    def settings(self, schema: Mapping[str, Any] | None, *, env_id: str, what: str) -> dict[str, Any]:
        """The settings, checked; without a schema unchecked, for a worker to check."""
        known: Mapping[str, Any] = {} if schema is None else schema["properties"]
        made = {**self.kwargs}
        for name, word in self.words.items():
            made[name] = setting_values.read_word(word, known.get(name, {}))
        if self.wraps is not None:
            about: Mapping[str, Any] = known.get(wrappers.SETTING, {}).get("known", {})
            made[wrappers.SETTING] = [_wrapper(text, about, what=what) for text in self.wraps]
        if schema is not None and (problems := environment_settings.problems_of(made, schema, env_id=env_id)):
            raise ConfigError(problems, what=what)
        return made


def with_reference(words: Sequence[str], reference_of: Callable[[str], str]) -> list[str]:
    """The words with the environment's reference in the place of its path."""
    made, is_value = list[str](), False
    for word in words:
        flag, equals, value = word.partition("=")
        if is_value:
            word = reference_of(word)
        elif equals and flag in ENV_FLAGS:
            word = f"{flag}={reference_of(value)}"
        is_value = word in ENV_FLAGS
        made.append(word)
    return made


def take(words: Sequence[str], *, what: str) -> tuple[list[str], EnvironmentFlags]:
    """The other words, and those about settings. A value may begin with one dash: `--env.gravity -5`."""
    rest: list[str] = []
    named: dict[str, str | None] = {}
    kwargs: dict[str, Any] = {}
    wraps: list[str] | None = None
    left = list(words)
    while left:
        flag, equals, value = (word := left.pop(0)).partition("=")
        is_ours = flag.startswith(PREFIX) or flag.replace("_", "-") in (KWARGS, wrappers.FLAG)
        if word == "--":
            rest += [word, *left]
            break
        if word.replace("_", "-") == NO_WRAP:
            if wraps:
                raise ConfigError([Problem(NO_WRAP, f"contradicts {wrappers.FLAG}")], what=what)
            wraps = []
            continue
        if not is_ours:
            rest.append(word)
            continue
        has_value = bool(equals) or bool(left and not left[0].startswith("--"))
        given = (value if equals else left.pop(0)) if has_value else None
        if flag.startswith(PREFIX):
            _add(named, flag.removeprefix(PREFIX), given, what=what)
        elif flag == wrappers.FLAG:
            wraps = _added(wraps, given, what=what)
        else:
            kwargs |= _object(given, what=what)
    for name in named.keys() & kwargs.keys():
        raise ConfigError([Problem(PREFIX + name, f"stands in {KWARGS} too; give it once")], what=what)
    if wraps is not None and wrappers.SETTING in (named.keys() | kwargs.keys()):
        raise ConfigError([Problem(wrappers.FLAG, "was given as a setting too; give it once")], what=what)
    return rest, EnvironmentFlags(words=named, kwargs=kwargs, wraps=wraps)


def _added(wraps: list[str] | None, given: str | None, *, what: str) -> list[str]:
    if wraps == []:
        raise ConfigError([Problem(NO_WRAP, f"contradicts {wrappers.FLAG}")], what=what)
    if not given:
        raise ConfigError([Problem(wrappers.FLAG, "needs a wrapper, as in --wrap TimeLimit:200")], what=what)
    return [*(wraps or []), given]


def _wrapper(text: str, known: wrappers.Known, *, what: str) -> dict[str, Any]:
    try:
        return wrappers.read_words(text, known).as_json()
    except wrappers.BadWords as error:
        raise ConfigError([Problem(wrappers.FLAG, str(error))], what=what) from None


def _add(named: dict[str, str | None], name: str, value: str | None, *, what: str) -> None:
    name = name.replace("-", "_")
    if not name:
        raise ConfigError([Problem(PREFIX, "lacks the name of a setting, as in --env.is_slippery false")], what=what)
    if name in named:
        raise ConfigError([Problem(PREFIX + name, "was given twice")], what=what)
    named[name] = value


def _object(text: str | None, *, what: str) -> dict[str, Any]:
    if text is None:
        raise ConfigError([Problem(KWARGS, """needs a JSON object, as in '{"gravity": -5}'""")], what=what)
    try:
        return dict(config.loads(text))
    except ConfigError as error:
        raise ConfigError([Problem(KWARGS, error.problems[0].message)], what=what) from None
