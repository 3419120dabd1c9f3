"""Settings of an environment as fields of a form, made from their JSON Schema; only what is changed is a setting."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mosaic.config import JsonObject, JsonValue
from mosaic.gui.models.form.form_field import Field
from mosaic.gui.models.form.schema_fields import ENVIRONMENT_SETTINGS, Setting, settings_of
from mosaic.gui.models.form.wrapper_setting import wrapper_setting
from mosaic.spec import wrappers

WHOLE = Setting(
    path=ENVIRONMENT_SETTINGS,
    title="Settings",
    kind="json",
    default={},
    doc="Arguments of the environment's constructor, as a JSON object; a worker checks them.",
)
"""One field for all, where only a worker can tell which there are."""


def fields_of(schema: Mapping[str, Any] | None, before: Mapping[str, JsonValue] | None = None) -> dict[str, Field]:
    """A field for each setting, by path; `before` are values that stand in the place of the constructor's defaults."""
    given = before or {}
    if schema is None:
        return {WHOLE.path: Field(replace(WHOLE, default=dict(given)), _check_object)}
    found: dict[str, Field] = {}
    for setting in settings_of(dict(schema), inside={}, kind=""):
        # What has no default may be left empty, and is then left to the environment.
        is_optional = setting.is_optional or "default" not in schema["properties"][setting.name]
        default = given.get(setting.name, setting.default)
        path = f"{ENVIRONMENT_SETTINGS}.{setting.name}"
        if setting.name == wrappers.SETTING:
            known = schema["properties"][wrappers.SETTING].get("known", {})
            found[path] = Field(wrapper_setting(known, given.get(setting.name)))
            continue
        doc = setting.doc or "Argument of the environment's constructor."
        found[path] = Field(replace(setting, path=path, default=default, is_optional=is_optional, doc=doc))
    return found


def _check_object(text: str) -> None:
    try:
        value: Any = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ValueError('must be a JSON object, as {"gravity": -5}')


def values_of(fields: Mapping[str, Field]) -> JsonObject:
    """What differs from the defaults, by the name of the setting."""
    found: JsonObject = {}
    for path, field in fields.items():
        if path == ENVIRONMENT_SETTINGS and isinstance(field.value, dict):
            found |= field.value
        elif path.startswith(f"{ENVIRONMENT_SETTINGS}.") and field.is_changed and not field.broken_rule:
            found[field.setting.name] = field.value
    return found


def type_values(fields: Mapping[str, Field], values: Mapping[str, JsonValue]) -> list[str]:
    """Put values into the fields; the names for which there is none."""
    if ENVIRONMENT_SETTINGS in fields:
        field = fields[ENVIRONMENT_SETTINGS]
        if not values:
            return []
        field.type(field.setting.show(dict(values)))
        return []
    left: list[str] = []
    for name, value in values.items():
        found = fields.get(f"{ENVIRONMENT_SETTINGS}.{name}")
        if found is None:
            left.append(name)
        else:
            found.type(found.setting.show(value))
    return left
