"""What a learning BDI agent of a session knows, and goes on with in a later one.

Learning is that of the algorithm `bdi_q`. The table is a JSON file:

    {"format": "mosaic-bdi-q-1", "env_id": …, "plans": …, "episodes": n, "values": {situation: {plan: [value, visits]}}}

and "source" with a copy of the plans where these came with a policy.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge, Gt, Le

from cleanrl_worker.algorithms.bdi_q import Coefficients, Table, table_of
from cleanrl_worker.sdk import policy
from mosaic import config
from mosaic.errors import ActorFailed, PolicyError
from mosaic.play.actors.bdi.bdi_actor import Settings
from mosaic.spec.files import source_copy
from mosaic.spec.files.shared_files import write_atomically
from mosaic.spec.files.source_copy import SourceCopy

FORMAT = "mosaic-bdi-q-1"
ALGORITHM = "bdi_q"


@dataclass(frozen=True, kw_only=True)
class LearnerSettings(Settings):
    """Settings of an agent that learns which plan to choose; quicker than in a training run, which is longer."""

    learning_rate: Annotated[float, Gt(0), Le(1)] = 0.3
    """Share of the error that an update takes away."""
    gamma: Annotated[float, Gt(0), Le(1)] = 0.99
    """Worth of a reward one step later."""
    exploration: Annotated[float, Ge(0), Le(1)] = 0.3
    """Share of choices that are made at random in a situation that is new."""
    exploration_visits: Annotated[int, Ge(1)] = 10
    """After this many choices in a situation that share is half as large, after twice as many a third, and so on."""
    learn: bool = True
    """Go on learning; else the best known plan is taken and nothing changes."""

    @property
    def coefficients(self) -> Coefficients:
        return Coefficients(self.learning_rate, self.gamma, self.exploration, self.exploration_visits)


@dataclass
class Learnt:
    """What every plan is worth in every situation that was met, and where."""

    env_id: str
    plans: str
    """The word that finds them."""
    table: Table = field(default_factory=Table)
    episodes: int = 0
    source: SourceCopy | None = None
    """The plans themselves, of a policy."""

    def save(self, path: Path) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        data = {
            "format": FORMAT,
            "env_id": self.env_id,
            "plans": self.plans,
            "episodes": self.episodes,
            **({"source": self.source.to_json()} if self.source is not None else {}),
            "values": self.table.rows,
        }
        write_atomically(path, json.dumps(data, indent=1) + "\n")


def load(path: Path) -> Learnt:
    """From a file that a session has written, or from a policy."""
    if path.suffix != ".json":
        return _of_policy(path)
    try:
        data: Any = config.any_json(path.read_bytes())
        if data["format"] != FORMAT:
            raise ValueError(f"its format is not {FORMAT}")
        rows = {
            str(situation): {str(plan): [float(value), int(visits)] for plan, (value, visits) in row.items()}
            for situation, row in data["values"].items()
        }
        source = source_copy.from_json(data["source"]) if "source" in data else None
        return Learnt(str(data["env_id"]), str(data["plans"]), Table(rows), int(data["episodes"]), source)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ActorFailed(f"{path} is not a table of learnt plans: {error}") from error


def _of_policy(path: Path) -> Learnt:
    file = policy.read(path)
    if file.algo != ALGORITHM or file.source is None:
        raise PolicyError(f"{path} was trained by {file.algo}: it has learnt no plans; 'policy:{path}' plays with it")
    return Learnt(file.env_id, file.source.file, table_of(file.group("agent")), source=file.source)
