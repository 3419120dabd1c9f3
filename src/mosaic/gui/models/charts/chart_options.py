"""How charts are shown: what the user chooses above them."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from mosaic.gui.models.charts.seed_summary import Middle

XAxis: TypeAlias = Literal["step", "relative", "wall", "value"]
Seeds: TypeAlias = Literal["each"] | Middle

SMOOTHING = 20


@dataclass(frozen=True)
class ChartOptions:
    """One for all charts; whether y is logarithmic may differ from chart to chart."""

    x: XAxis = "step"
    seeds: Seeds = "each"
    window: int = SMOOTHING
    """Values that are averaged; 1 means no smoothing."""
    log: bool = False
