"""What the daemon's news are made of when they reach the window."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mosaic.config import JsonObject
from mosaic.gui.models.daemon.log_request import LogAnswer
from mosaic.rpc.client import AlertNews
from mosaic.spec.manifest import Artifact
from mosaic.spec.run_record import RunRecord


@dataclass(frozen=True)
class Points:
    """New points of one tag, in the order in which they were logged."""

    steps: NDArray[np.float64] | Sequence[float]
    times: NDArray[np.float64] | Sequence[float]
    values: NDArray[np.float64] | Sequence[float]


@dataclass(frozen=True)
class NewPoints:
    """Points that a run's curves have more than before."""

    run_id: str
    points: dict[str, Points] = field(default_factory=dict[str, Points])
    """By tag."""
    anew: bool = False
    """All earlier points are void: the run was resumed from before some of them."""


@dataclass(frozen=True)
class Detail:
    """What a run was made from and what it has left behind so far."""

    run_id: str
    config: JsonObject
    artifacts: tuple[Artifact, ...]


@dataclass(frozen=True)
class Notice:
    """Something that a person should know and that stops nothing."""

    message: str
    run_id: str = ""
    kind: Literal["warn", "info"] = "warn"


@dataclass(frozen=True)
class Batch:
    """Some news."""

    records: tuple[RunRecord, ...] = ()
    removed: tuple[str, ...] = ()
    points: tuple[NewPoints, ...] = ()
    log: tuple[LogAnswer, ...] = ()
    details: tuple[Detail, ...] = ()
    notices: tuple[Notice, ...] = ()
    alerts: tuple[AlertNews, ...] = ()
