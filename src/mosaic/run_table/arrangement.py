"""How a table of runs is shown: what is remembered of it, and what a saved view has of it."""

from dataclasses import dataclass

DEFAULT = ("label", "state", "tags", "algo", "env", "seed", "return", "best", "steps", "time", "started")


@dataclass(frozen=True)
class Arrangement:
    """Columns by their whole names."""

    columns: tuple[str, ...] = DEFAULT
    sort: str = ""
    """Column; empty is newest first."""
    downwards: bool = False
    group: str = ""
    """Column; empty means no groups."""
    filter: str = ""
    only_differing: bool = False
