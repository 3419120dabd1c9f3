"""Values of a JSON document by dotted path."""

from collections.abc import Iterator
from typing import Any, cast

from mosaic.config import JsonObject, JsonValue


def put(document: JsonObject, path: str, value: JsonValue) -> None:
    """Set a value, with the objects on the way to it."""
    *parents, name = path.split(".")
    node: Any = document
    for parent in parents:
        node = node.setdefault(parent, {})
    node[name] = value


def look_up(document: JsonObject, path: str, default: JsonValue) -> JsonValue:
    """The value at a path, or `default` if there is none."""
    node: JsonValue = document
    for name in path.split("."):
        if not isinstance(node, dict) or name not in node:
            return default
        node = node[name]
    return node


def leaves(document: JsonObject, prefix: str = "") -> Iterator[str]:
    """Paths of all that is not an object."""
    for name, value in document.items():
        if isinstance(value, dict):
            yield from leaves(cast(JsonObject, value), f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"
