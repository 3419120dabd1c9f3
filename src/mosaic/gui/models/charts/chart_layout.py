"""Which charts the Metrics tab shows, in which order and how large: what the user has changed of it, kept as JSON."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast, get_args

from mosaic.gui.models.wording import title_of

Kind: TypeAlias = Literal["curve", "pair", "scatter", "parallel", "heat"]
Span: TypeAlias = tuple[int, int]
"""Columns and lines of the page that a chart takes."""
WIDEST, HIGHEST = 4, 3
_MARK = '["'
"""What the key of a chart begins with that is not simply the curves of a tag."""


@dataclass(frozen=True)
class ChartSpec:
    """What a chart is about."""

    kind: Kind = "curve"
    y: str = ""
    """A tag; of a scatter plot the name of a column, of a heat map "weights" or "gradients"."""
    x: str = ""
    """A tag, or the name of a column; of a heat map the parameter, or empty for all."""
    columns: tuple[str, ...] = ()
    """The axes of parallel coordinates."""

    @property
    def key(self) -> str:
        """By which pages and layouts know the chart; that of the curves of a tag is the tag."""
        return self.y if self.kind == "curve" else json.dumps([self.kind, self.y, self.x, *self.columns])

    @property
    def title(self) -> str:
        match self.kind:
            case "curve":
                return title_of(self.y)
            case "pair":
                return f"{title_of(self.y)} against {title_of(self.x).lower()}"
            case "scatter":
                return f"Runs: {column_title(self.y)} / {column_title(self.x)}"
            case "parallel":
                return "Runs: parallel coordinates"
            case "heat":
                return self.y.capitalize() if not self.x else f"{self.y.capitalize()} of {self.x}"

    @property
    def about(self) -> str:
        """The names of what is shown, in full."""
        return " · ".join(part for part in (self.y, self.x, *self.columns) if part)


def column_title(name: str) -> str:
    """`charts/SPS.last` is "steps per second, last"."""
    tag, dot, wanted = name.rpartition(".")
    if "/" in name and dot:
        return f"{title_of(tag).lower()}, {wanted}"
    return name.replace("_", " ")


def spec_of(key: str) -> ChartSpec:
    """Of a key; what is none is the curves of a tag."""
    if key.startswith(_MARK):
        try:
            kind, y, x, *columns = cast("list[Any]", json.loads(key))
        except ValueError:
            return ChartSpec(y=key)
        if kind in get_args(Kind) and all(isinstance(part, str) for part in (y, x, *columns)):
            return ChartSpec(kind, y, x, tuple(columns))
    return ChartSpec(y=key)


class ChartLayout:
    """What the user has added, taken away, moved and resized; the rest is as it comes."""

    def __init__(self) -> None:
        self.added: list[str] = []
        self.removed: set[str] = set()
        self._order: list[str] = []
        self._sizes: dict[str, Span] = {}

    @property
    def is_changed(self) -> bool:
        return bool(self.added or self.removed or self._order or self._sizes)

    def arranged(self, natural: Sequence[str]) -> list[str]:
        """The charts to show, of those that there are by themselves and those that were added."""
        there = [key for key in dict.fromkeys([*natural, *self.added]) if key not in self.removed]
        placed = {key: place for place, key in enumerate(self._order)}
        # What was never moved follows behind, in its own order.
        return sorted(there, key=lambda key: placed.get(key, len(placed)))

    def span_of(self, key: str) -> Span | None:
        """None is the size that the page gives it."""
        return self._sizes.get(key)

    def add(self, key: str) -> None:
        self.removed.discard(key)
        if spec_of(key).kind != "curve" and key not in self.added:
            self.added.append(key)

    def remove(self, key: str) -> None:
        if key in self.added:
            self.added.remove(key)
        self.removed.add(key)

    def move(self, key: str, place: int, shown: Sequence[str]) -> None:
        """Put a chart at a place among those that are shown; others keep their order."""
        others = [each for each in shown if each != key]
        place = max(0, min(place, len(others)))
        now = [*others[:place], key, *others[place:]]
        self._order = now + [each for each in self._order if each not in now]

    def resize(self, key: str, span: Span) -> None:
        self._sizes[key] = (max(1, min(span[0], WIDEST)), max(1, min(span[1], HIGHEST)))

    def reset(self) -> None:
        """All charts as they come, and none that was added."""
        self.__init__()

    def to_json(self) -> str:
        return json.dumps(
            {
                "added": self.added,
                "removed": sorted(self.removed),
                "order": self._order,
                "sizes": {key: list(span) for key, span in self._sizes.items()},
            }
        )

    def restore(self, text: str) -> None:
        """As it was kept; a text that is none leaves the charts as they come."""
        self.reset()
        try:
            kept = json.loads(text)
            added, removed, order = ([str(key) for key in kept[name]] for name in ("added", "removed", "order"))
            spans = {str(key): (int(width), int(height)) for key, (width, height) in kept["sizes"].items()}
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            return
        for key in added:
            self.add(key)
        self.removed, self._order = set(removed), order
        for key, span in spans.items():
            self.resize(key, span)
