"""`UserFile`: a setting that may name a file of the user's, written beside its bounds in the Annotated of a field.

    plans: Annotated[str, UserFile(".asl")] = ""

It stands in the JSON Schema of the field under the key `file`. A path that is typed becomes absolute, because the
daemon and the worker that read it stand in other folders.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic.config import flag_name
from mosaic.errors import ConfigError, Problem

KEY = "file"


@dataclass(frozen=True)
class UserFile:
    """Files end so; a text that does not may mean something else."""

    ending: str

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> dict[str, Any]:
        """pydantic asks each part of an Annotated for what it adds to the schema."""
        return {**handler(core_schema), KEY: self.ending}


def absolute(schema: Mapping[str, Any], values: Mapping[str, Any], *, what: str) -> dict[str, str]:
    """Those settings that name a file, with its whole path; ConfigError for one that is not there."""
    found: dict[str, str] = {}
    for name, field in schema["properties"].items():
        text = values.get(name)
        if KEY not in field or not isinstance(text, str) or not text.endswith(field[KEY]):
            continue
        path = Path(text).expanduser().absolute()
        if not path.is_file():
            raise ConfigError([Problem(flag_name(name), f"there is no file {path}")], what=what)
        found[name] = str(path)
    return found
