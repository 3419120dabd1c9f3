"""Columns as a data frame of the library that is installed: pandas, or else polars."""

import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any

from mosaic.errors import ConfigError, MissingPackage, Problem

LIBRARIES = ("pandas", "polars")


def data_frame(columns: Mapping[str, Sequence[Any]], library: str | None = None) -> Any:
    """With one row for each place of the columns, which are of one length."""
    if library not in (None, *LIBRARIES):
        raise ConfigError([Problem("library", f"is '{library}', not {' or '.join(LIBRARIES)}")], what="data frame")
    wanted = LIBRARIES if library is None else (library,)
    for name in wanted:
        if importlib.util.find_spec(name) is not None:
            return importlib.import_module(name).DataFrame({key: list(column) for key, column in columns.items()})
    raise MissingPackage("a data frame", wanted[0])
