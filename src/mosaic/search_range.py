"""`Search`: where a sweep looks for a good value of a setting, written beside its bounds in the Annotated of a field.

    learning_rate: Annotated[float, Gt(0), Search(1e-5, 1e-2, "log")] = 2.5e-4

It stands in the JSON Schema of the field under the key `search`, so that the form, the command line and the sweep know
it without importing the algorithm. Scales: `linear`; `log`, equal factors are equally likely; `power_of_two`, the
powers of two between the limits; `logit`, the log of the distance to one, for discounts. `Search(choices=(…))` lists.
"""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Scale: TypeAlias = Literal["linear", "log", "power_of_two", "logit"]
KEY = "search"
"""Key of the schema of a field."""


@dataclass(frozen=True)
class Search:
    """The range, or the choices, that a sweep takes values of a setting from unless the user says otherwise."""

    low: float = 0.0
    high: float = 0.0
    scale: Scale = "linear"
    choices: tuple[bool | int | float | str | None, ...] = ()

    def as_json(self) -> dict[str, Any]:
        if self.choices:
            return {"choices": list(self.choices)}
        return {"low": self.low, "high": self.high, "scale": self.scale}

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> dict[str, Any]:
        """pydantic asks each part of an Annotated for what it adds to the schema."""
        return {**handler(core_schema), KEY: self.as_json()}


def found_in(field: Any) -> dict[str, Any] | None:
    """What the schema of a field says of it; of a field that may be null, what its other member says."""
    if KEY in field:
        return field[KEY]
    return next((one[KEY] for one in field.get("anyOf", ()) if KEY in one), None)
