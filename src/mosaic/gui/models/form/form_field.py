"""A field of the form without its widget: what was typed, what it means, and what is wrong with it."""

from collections.abc import Callable

from mosaic.config import JsonValue
from mosaic.gui.models.form.schema_fields import Setting


class Field:
    """One setting and what was typed into it."""

    def __init__(self, setting: Setting, check: Callable[[str], object] = lambda _: None) -> None:
        self.setting = setting
        self.refusal = ""
        """What the daemon said about this very value."""
        self.hint = ""
        """Worth knowing, stops nothing."""
        self.text = ""
        self.value: JsonValue = None
        """None too for a text that means nothing: `problem` tells."""
        self._check = check
        self.broken_rule = ""
        """What is wrong with the text, as far as the schema tells."""
        self.type(setting.show(setting.default))

    @property
    def problem(self) -> str:
        return self.broken_rule or self.refusal

    @property
    def is_changed(self) -> bool:
        return bool(self.broken_rule) or self.value != self.setting.default

    def type(self, text: str) -> None:
        self.text, self.value = text, None
        self.refusal = self.hint = self.broken_rule = ""
        try:
            self._check(text)
            self.value = self.setting.parse(text)
        except ValueError as error:
            self.broken_rule = str(error)
