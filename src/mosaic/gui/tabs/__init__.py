"""The tabs of the window, in order: a new one is a file in this folder and a line in this table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from PySide6.QtWidgets import QWidget

from mosaic.gui.models.studio import Studio
from mosaic.gui.tabs.artifacts import ArtifactsTab
from mosaic.gui.tabs.evaluate import EvaluateTab
from mosaic.gui.tabs.live import LiveTab
from mosaic.gui.tabs.log import LogTab
from mosaic.gui.tabs.metrics import MetricsTab
from mosaic.gui.tabs.notes import NotesTab
from mosaic.gui.tabs.overview import OverviewTab
from mosaic.gui.tabs.play import PlayTab
from mosaic.gui.tabs.sweeps import SweepsTab
from mosaic.gui.tabs.table import TableTab
from mosaic.gui.tabs.tensorboard import TensorBoardTab
from mosaic.gui.tabs.wandb import WandbTab
from mosaic.gui.theme import Theme


@dataclass(frozen=True)
class Tab:
    """Where a tab is, how it is called and what makes it."""

    title: str
    icon: str
    area: Literal["centre", "middle", "bottom"]
    make: Callable[[Studio, Theme], QWidget]
    is_shown: Callable[[Studio], bool] = lambda _: True
    """Whether it has something to show; one that has not is opened by `Shell.bring_up`."""


TABS: Sequence[Tab] = (
    Tab("Live view", "monitor-play", "centre", LiveTab),
    Tab("Play", "play", "centre", PlayTab),
    Tab("Metrics", "chart-line", "middle", MetricsTab),
    Tab("Evaluate", "brain-circuit", "centre", EvaluateTab),
    Tab("TensorBoard", "chart-column-big", "centre", TensorBoardTab, TensorBoardTab.has_a_page),
    Tab("W&B", "cloud-upload", "centre", WandbTab),
    Tab("Overview", "sliders-horizontal", "centre", OverviewTab),
    Tab("Artifacts", "package", "centre", ArtifactsTab),
    Tab("Log", "terminal", "bottom", LogTab),
    Tab("Dry runs", "flask-conical", "bottom", NotesTab),
    Tab("Sweeps", "layers", "centre", SweepsTab),
    Tab("Table", "table-2", "centre", TableTab),
)
