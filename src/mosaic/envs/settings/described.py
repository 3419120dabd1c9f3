"""The settings of many environments, described briefly: the ids of one constructor share its schema.

A family has `settings`, schemas by the first id that has each. An environment has {"of": one of these ids,
"changed": what is different for this id}: the arguments that it is registered with, the modes of its Atari game.
"""

from typing import Any

from mosaic.envs.settings.settings_schema import settings_schema
from mosaic.errors import MosaicError


class Described:
    """The schemas of one family, collected while its environments are described."""

    def __init__(self) -> None:
        self.schemas: dict[str, dict[str, Any]] = {}

    def of(self, env_id: str) -> dict[str, Any]:
        """`settings` of one environment; nothing for one that cannot be made here."""
        try:
            schema = settings_schema(env_id)
        except (MosaicError, ImportError):
            return {}
        properties = schema["properties"]
        for name, other in self.schemas.items():
            if _shape(other) == _shape(schema):
                changed = {
                    key: differing
                    for key, one in properties.items()
                    if (differing := _differing(one, other["properties"][key]))
                }
                return {"settings": {"of": name, "changed": changed}}
        self.schemas[env_id] = schema
        return {"settings": {"of": env_id, "changed": {}}}


def _shape(schema: dict[str, Any]) -> Any:
    """Two schemas with the same one differ in values only, so that one can be told by its differences."""
    properties = schema["properties"]
    return schema["additionalProperties"], {name: (*one, one.get("description")) for name, one in properties.items()}


def _differing(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in one.items() if other[key] != value}
