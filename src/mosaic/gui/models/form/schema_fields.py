"""JSON Schema as the fields of a form: kind, default, bounds, choices and help of each setting, by its path."""

import json
import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from mosaic.config import JsonObject, JsonValue, flag_name
from mosaic.numbers import parse_float, parse_int, show_number
from mosaic.spec import environment_settings, user_files

Kind: TypeAlias = Literal["number", "integer", "switch", "choice", "text", "secret", "json"]
ENVIRONMENT_SETTINGS = "environment.settings"
"""Where a run config has the settings of its environment."""
NONE_WORDS = frozenset({"", "none", "null"})
_KINDS: Mapping[str, Kind] = {"number": "number", "integer": "integer", "boolean": "switch", "string": "text"}
_WORDS = {
    "wandb": "W&B",
    "spade": "SPADE",
    "vpn": "VPN",
    "http": "HTTP",
    "https": "HTTPS",
    "cuda": "CUDA",
    "cpus": "CPUs",
    "gpus": "GPUs",
    "gae": "GAE",
    "kl": "KL",
    "api": "API",
    "tensorboard": "TensorBoard",
    "fastlane": "FastLane",
}
"""Words that are not written in lower case."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One leaf of a schema."""

    path: str
    """Where its value stands in the document: metadata.worker.config.seed."""
    title: str
    kind: Kind
    default: JsonValue = None
    doc: str = ""
    is_optional: bool = False
    """None is a value too."""
    choices: tuple[JsonValue, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    below: float | None = None
    min_length: int = 0
    example: str = ""
    """Shown while nothing is typed."""
    is_long: bool = False
    """A text of several lines."""
    file_ending: str = ""
    """Of files that it may name; empty for a setting that names none."""

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]

    @property
    def flag(self) -> str:
        is_of_environment = self.path.startswith(f"{ENVIRONMENT_SETTINGS}.")
        return environment_settings.flag_of(self.name) if is_of_environment else flag_name(self.name)

    @property
    def bounds(self) -> str:
        """In words: at least 0, at most 1."""
        parts = [
            f"{word} {show_number(bound)}"
            for word, bound in (
                ("at least", self.minimum),
                ("more than", self.above),
                ("at most", self.maximum),
                ("less than", self.below),
            )
            if bound is not None
        ]
        return ", ".join(parts)

    def parse(self, text: str) -> JsonValue:
        """The value that a text stands for; ValueError says what is wrong with it."""
        if self.is_optional and text.strip().lower() in NONE_WORDS:
            return None
        match self.kind:
            case "number" | "integer":
                value = parse_int(text) if self.kind == "integer" else parse_float(text)
                self._check_bounds(value)
                return value
            case "switch" | "choice" | "json":
                return self._parse_json(text)
            case "text" | "secret":
                if len(text) < self.min_length:
                    raise ValueError("must not be empty" if not text else f"must have {self.min_length} characters")
                return text

    def show(self, value: JsonValue) -> str:
        """The text of a value; one of a wrong type is shown as it is, and `parse` says what is wrong with it."""
        if value is None and (self.is_optional or self.kind not in ("choice", "json")):
            return ""
        if isinstance(value, str) and self.kind not in ("switch", "choice", "json"):
            return value
        if isinstance(value, (int, float)) and not isinstance(value, bool) and self.kind in ("number", "integer"):
            return show_number(value)
        return json.dumps(value)

    def _check_bounds(self, value: float) -> None:
        for bound, holds, word in (
            (self.minimum, operator.ge, "at least"),
            (self.above, operator.gt, "more than"),
            (self.maximum, operator.le, "at most"),
            (self.below, operator.lt, "less than"),
        ):
            if bound is not None and not holds(value, bound):
                raise ValueError(f"must be {word} {show_number(bound)}")

    def _parse_json(self, text: str) -> JsonValue:
        try:
            value: JsonValue = json.loads(text)
        except (ValueError, RecursionError):
            raise ValueError('is not JSON; write 3, "text" or [64, 64]') from None
        if self.kind == "switch" and not isinstance(value, bool):
            raise ValueError("must be on or off")
        if self.kind == "choice" and not any(
            value == choice and type(value) is type(choice) for choice in self.choices
        ):
            raise ValueError(f"must be one of {', '.join(map(choice_title, self.choices))}")
        return value


def settings_of(schema: JsonObject, *, inside: Mapping[str, JsonObject], kind: str) -> Iterator[Setting]:
    """The leaves of a schema, in order.

    `inside` puts another schema where this one has an object of free keys (by path); of a union told apart by a field,
    the member whose field is `kind` is taken.
    """
    yield from _Walk(cast("dict[str, Any]", schema), inside, kind).object(cast("dict[str, Any]", schema), "", None)


def title_of_name(name: str) -> str:
    """`learning_rate` is "Learning rate"."""
    words = [_WORDS.get(word, word) for word in name.split("_")]
    if len(words) > 1 and words[-1] == "s":
        words[-1] = "(s)"
    first = words[0]
    return " ".join([first[:1].upper() + first[1:], *words[1:]])


def choice_title(value: JsonValue) -> str:
    return value if isinstance(value, str) else "none" if value is None else json.dumps(value)


class _Walk:
    def __init__(self, root: dict[str, Any], inside: Mapping[str, JsonObject], kind: str) -> None:
        self._definitions: dict[str, Any] = root.get("$defs", {})
        self._inside = inside
        self._kind = kind

    def object(self, spec: dict[str, Any], path: str, default: JsonValue) -> Iterator[Setting]:
        properties: dict[str, Any] = spec.get("properties", {})
        for name, given in properties.items():
            child_path = f"{path}.{name}" if path else name
            child = self._resolved(given)
            child_default = _member(default, name, child.get("default"))
            if child_path in self._inside:
                other = cast("dict[str, Any]", self._inside[child_path])
                yield from _Walk(other, {}, self._kind).object(other, child_path, None)
            elif "properties" not in child:
                yield _leaf(child, child_path, child_default)
            elif list(child["properties"]) == ["enabled"]:
                # A lone switch is called as what it switches.
                inner = self._resolved(child["properties"]["enabled"])
                described = inner | {"description": child.get("description", "")}
                value = _member(child_default, "enabled", inner.get("default"))
                yield _leaf(described, f"{child_path}.enabled", value, title=title_of_name(name))
            else:
                yield from self.object(child, child_path, child_default)

    def _resolved(self, spec: dict[str, Any]) -> dict[str, Any]:
        if "$ref" in spec:
            found = self._resolved(self._definitions[spec["$ref"].rpartition("/")[2]])
            return found | {key: value for key, value in spec.items() if key != "$ref"}
        if "discriminator" in spec:
            member = self._resolved({"$ref": spec["discriminator"]["mapping"][self._kind]})
            # The default of the whole is of one kind: it says nothing about the members of another.
            is_default = _member(spec.get("default"), spec["discriminator"]["propertyName"], None) == self._kind
            return member | ({"default": spec["default"]} if is_default else {})
        return spec


def _member(default: object, name: str, otherwise: JsonValue) -> JsonValue:
    """The default of a member, where the whole has one."""
    return cast(JsonObject, default).get(name) if isinstance(default, dict) else otherwise


def _leaf(spec: dict[str, Any], path: str, default: JsonValue, *, title: str = "") -> Setting:
    members = [one for one in spec.get("anyOf", [spec]) if one.get("type") != "null"]
    core: dict[str, Any] = members[0] if len(members) == 1 else {}
    choices = tuple(core.get("enum", [core["const"]] if "const" in core else ()))
    return Setting(
        path=path,
        title=title or title_of_name(path.rpartition(".")[2]),
        kind="choice" if choices else _KINDS.get(str(core.get("type")), "json"),
        default=default,
        doc=spec.get("description", ""),
        is_optional="anyOf" in spec and len(members) < len(spec["anyOf"]),
        choices=choices,
        minimum=core.get("minimum"),
        maximum=core.get("maximum"),
        above=core.get("exclusiveMinimum"),
        below=core.get("exclusiveMaximum"),
        min_length=core.get("minLength", 0),
        example=f"FILE{core[user_files.KEY]}" if user_files.KEY in core else "",
        file_ending=core.get(user_files.KEY, ""),
    )
