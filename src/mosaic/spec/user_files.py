"""`UserFile`, `DataSet`: a setting that names something of the user's, beside its bounds in the Annotated of a field.

    plans: Annotated[str, UserFile(".asl")] = ""
    dataset: Annotated[str, DataSet()] = ""

They stand in the JSON Schema of the field under the keys `file` and `data_set`. What is typed becomes an absolute path,
because the daemon and the worker that read it stand in other folders and have other variables of the environment.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic.config import flag_name
from mosaic.errors import ConfigError, Problem

KEY = "file"
DATA_SET_KEY = "data_set"


@dataclass(frozen=True)
class UserFile:
    """Files end so; a text that does not may mean something else."""

    ending: str

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> dict[str, Any]:
        """pydantic asks each part of an Annotated for what it adds to the schema."""
        return {**handler(core_schema), KEY: self.ending}


@dataclass(frozen=True)
class DataSet:
    """The name of a Minari data set on this machine, or its folder."""

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> dict[str, Any]:
        return {**handler(core_schema), DATA_SET_KEY: "minari"}


def absolute(schema: Mapping[str, Any], values: Mapping[str, Any], *, what: str) -> dict[str, str]:
    """Those settings that name a file or a data set, with its whole path; ConfigError for one that is not there."""
    found: dict[str, str] = {}
    for name, field in schema["properties"].items():
        text = values.get(name)
        if DATA_SET_KEY in field and isinstance(text, str):
            found[name] = _data_set(text, flag_name(name), what)
            continue
        if KEY not in field or not isinstance(text, str) or not text.endswith(field[KEY]):
            continue
        path = Path(text).expanduser().absolute()
        if not path.is_file():
            raise ConfigError([Problem(flag_name(name), f"there is no file {path}")], what=what)
        found[name] = str(path)
    return found


def _data_set(text: str, flag: str, what: str) -> str:
    """Where it lies: a folder that holds `data`, below Minari's own where `text` leads to none."""
    kept = os.environ.get("MINARI_DATASETS_PATH")
    root = Path(kept) if kept else Path.home() / ".minari" / "datasets"
    for folder in (Path(text).expanduser(), root / text) if text else ():
        if (folder / "data").is_dir():
            return str(folder.absolute())
    there = sorted(str(folder.parent.relative_to(root)) for folder in root.glob("**/data"))
    problem = f"there is no data set {text} in {root}" if text else f"is missing: a data set of {root}"
    listed = f"there are {', '.join(there)}" if there else "there is none; 'mosaic export-minari' makes one"
    raise ConfigError([Problem(flag, f"{problem}, or the path of its folder; {listed}")], what=what)
