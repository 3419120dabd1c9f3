"""Wrappers as a field of a form: one a line, as `--wrap` takes them, checked by the schemas of the catalogue."""

from dataclasses import dataclass, field
from typing import cast

from mosaic.config import JsonValue
from mosaic.gui.models.form.schema_fields import ENVIRONMENT_SETTINGS, Setting
from mosaic.spec import wrappers

PATH = f"{ENVIRONMENT_SETTINGS}.{wrappers.SETTING}"
DOC = (
    "Put around the environment, the innermost first, one a line: TimeLimit:200, FrameStackObservation:4,"
    " NormalizeObservation, or of your own shaping.py:Bonus:scale=0.5."
)


@dataclass(frozen=True, kw_only=True)
class WrapperSetting(Setting):
    """A text of several lines that means a list of wrappers."""

    known: wrappers.Known = field(default_factory=dict[str, dict[str, object]])

    @property
    def flag(self) -> str:
        return wrappers.FLAG

    def parse(self, text: str) -> JsonValue:
        lines = [line for line in text.splitlines() if line.strip()]
        read = [wrappers.read_words(line, self.known) for line in lines]
        wrong = next((one for made in read for one in wrappers.wrong_with(*made[:2], self.known)), "")
        if wrong:
            raise ValueError(wrong)
        # The text does not show the moments of a training, which stay while it is not changed.
        is_default = text.strip() == self.show(self.default).strip()
        return self.default if is_default else cast("JsonValue", [made.as_json() for made in read])

    def show(self, value: JsonValue) -> str:
        """A value of a wrong type shows nothing, and the daemon refuses it."""
        if not isinstance(value, list):
            return ""
        return "\n".join(wrappers.worded(one) for one in value if isinstance(one, dict) and "name" in one)


def wrapper_setting(known: wrappers.Known, default: JsonValue) -> WrapperSetting:
    return WrapperSetting(
        path=PATH,
        title="Wrappers",
        kind="text",
        default=default,
        doc=DOC,
        is_optional=True,
        is_long=True,
        example="TimeLimit:200",
        known=known,
    )
