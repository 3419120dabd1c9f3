"""The tabs of the window, in order: a new one is a file in this folder and a line in this table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from PySide6.QtWidgets import QWidget

from mosaic.gui.models.studio import Studio
from mosaic.gui.tabs.log import LogTab
from mosaic.gui.tabs.metrics import MetricsTab
from mosaic.gui.tabs.overview import OverviewTab
from mosaic.gui.theme import Theme


@dataclass(frozen=True)
class Tab:
    """Where a tab is, how it is called and what makes it."""

    title: str
    icon: str
    area: Literal["centre", "bottom"]
    make: Callable[[Studio, Theme], QWidget]


TABS: Sequence[Tab] = (
    Tab("Metrics", "chart-line", "centre", MetricsTab),
    Tab("Overview", "sliders-horizontal", "centre", OverviewTab),
    Tab("Log", "terminal", "bottom", LogTab),
)
