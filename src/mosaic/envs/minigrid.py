"""MiniGrid and BabyAI: small grid worlds with a symbolic view."""

from itertools import product
from typing import TYPE_CHECKING, Any

from mosaic.envs.family import Family, flat_encoder, parts_encoder
from mosaic.spec.catalogue.extras import MINIGRID, MINIGRID_IDS

if TYPE_CHECKING:
    from gymnasium import Space

    from mosaic.envs.observations.observation_rule import Encoder

_LARGEST = (10, 5, 3)
"""Largest value of each channel of a cell: object type, colour, state (or the agent's direction)."""


def _encoder(space: "Space[Any]") -> "Encoder":
    """The cells scaled to [0, 1], the direction as a one-hot, and the mission where it varies, in one flat vector.

    A mission made of placeholders (colour, object) adds one one-hot per placeholder. Where the text is fixed it says
    nothing and is dropped; BabyAI's missions are sentences without end and are dropped too: use `observations="raw"`.
    """
    import numpy as np
    from gymnasium import spaces

    from mosaic.envs.observations.observation_rule import Encoder

    parts: dict[str, Any] = getattr(space, "spaces", {})
    if not {"image", "direction"} <= parts.keys():
        return flat_encoder(space)
    missions = _mission_table(parts.get("mission"))
    scale = 1 / np.array(_LARGEST, dtype=np.float32)
    cells: int = parts["image"].low.size
    length = cells + 4 + (len(next(iter(missions.values()))) if missions else 0)

    def encode(obs: dict[str, Any]) -> Any:
        row = np.zeros(length, dtype=np.float32)
        row[:cells] = (obs["image"] * scale).reshape(-1)
        row[cells + int(obs["direction"])] = 1.0
        if missions:
            row[cells + 4 :] = missions[obs["mission"]]
        return row

    return Encoder(space=spaces.Box(0.0, 1.0, (length,), np.float32), encode=encode)


def _parts_encoder(space: "Space[Any]") -> "Encoder":
    """The view as a picture with a channel for each object, colour and state, beside the direction and the mission."""
    import numpy as np
    from gymnasium import spaces
    from minigrid.core.constants import COLOR_TO_IDX, OBJECT_TO_IDX

    from mosaic.envs.observations.observation_rule import Encoder
    from mosaic.envs.observations.parted_rows import PartedRows

    parts: dict[str, Any] = getattr(space, "spaces", {})
    if not {"image", "direction"} <= parts.keys():
        return parts_encoder(space)
    missions = _mission_table(parts.get("mission"))
    words = len(next(iter(missions.values()))) if missions else 0
    # The state of the cell of the agent is its direction, so there are four.
    kinds = max(OBJECT_TO_IDX.values()) + 1, max(COLOR_TO_IDX.values()) + 1, _LARGEST[2] + 1
    first = np.cumsum((0, *kinds[:-1]))
    width, height = (int(side) for side in parts["image"].shape[:2])
    cells = np.arange(width * height)[:, None]
    found: dict[str, Any] = {
        "image": spaces.Box(0.0, 1.0, (width, height, sum(kinds)), np.float32),
        "direction": spaces.Box(0.0, 1.0, (4,), np.float32),
    }
    if words:
        found["mission"] = spaces.Box(0.0, 1.0, (words,), np.float32)
    seen = PartedRows(found)
    length, picture = seen.shape[0], seen.slices["image"].stop

    def encode(obs: dict[str, Any]) -> Any:
        row = np.zeros(length, dtype=np.float32)
        row[:picture].reshape(len(cells), -1)[cells, obs["image"].reshape(-1, 3) + first] = 1.0
        row[picture + int(obs["direction"])] = 1.0
        if missions:
            row[picture + 4 :] = missions[obs["mission"]]
        return row

    return Encoder(seen, encode)


def _mission_table(space: Any) -> dict[str, list[float]]:
    """Each possible mission text with its one-hots; empty where the text cannot vary or cannot be enumerated."""
    placeholders: list[list[str]] = getattr(space, "ordered_placeholders", None) or []
    if not placeholders:
        return {}
    table: dict[str, list[float]] = {}
    for words in product(*placeholders):
        hot = [float(word == chosen) for options, chosen in zip(placeholders, words, strict=True) for word in options]
        table[space.mission_func(*words)] = hot
    return table if len(table) > 1 else {}


FAMILY = Family(
    name="minigrid",
    title="MiniGrid",
    observation_rule=(
        "the 7×7×3 symbolic view scaled to [0, 1], then the direction as a one-hot of 4, then (only where the mission "
        "has variable words) one one-hot per variable word; BabyAI's free-form missions are dropped"
    ),
    actions="discrete",
    observations="composite",
    distribution="minigrid",
    extra=MINIGRID.name,
    modules=MINIGRID.modules,
    entry_points=("minigrid.",),
    # Their patterns are missing in MiniGrid's own wheel (3.2), so no reset of them works.
    unlisted=("minigrid.envs.wfc",),
    id_pattern=MINIGRID_IDS,
    encoder=_encoder,
    parts_encoder=_parts_encoder,
)
