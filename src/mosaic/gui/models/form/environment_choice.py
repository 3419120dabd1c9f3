"""Settings of the environment that is chosen in a form, remembered for each one while the window is open."""

from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import QObject, Signal

from mosaic.config import JsonObject, JsonValue
from mosaic.gui.models.form import environment_fields
from mosaic.gui.models.form.form_field import Field


class EnvironmentChoice(QObject):
    """Fields by path, made anew for each environment."""

    rebuilt = Signal()
    """Other fields: another environment."""
    field_changed = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.env_id = ""
        self.fields: dict[str, Field] = {}
        self._about: tuple[Any, ...] = ()
        self._typed: dict[str, JsonObject] = {}

    @property
    def values(self) -> JsonObject:
        """What was changed, by the name of the setting."""
        return environment_fields.values_of(self.fields)

    @property
    def problem(self) -> str:
        """The first thing that is wrong; empty if nothing is."""
        broken = (field for field in self.fields.values() if field.broken_rule)
        return next((f"{field.setting.title}: {field.broken_rule}" for field in broken), "")

    def use(self, env_id: str, schema: Mapping[str, Any] | None, before: Mapping[str, JsonValue] | None = None) -> None:
        """The settings of this environment; `before` are the values that they have if the user changes none."""
        if (env_id, schema, before) == self._about:
            return
        if self.env_id:
            self._typed[self.env_id] = self.values
        self._about = (env_id, schema, before)
        self.env_id = env_id
        self.fields = environment_fields.fields_of(schema, before) if env_id else {}
        environment_fields.type_values(self.fields, self._typed.get(env_id, {}) if self.fields else {})
        self.rebuilt.emit()

    def type(self, path: str, text: str) -> None:
        field = self.fields[path]
        if text != field.text:
            field.type(text)
            self.field_changed.emit(path)

    def reset(self, path: str) -> None:
        setting = self.fields[path].setting
        self.type(path, setting.show(setting.default))

    def reset_all(self) -> None:
        for path in self.fields:
            self.reset(path)
