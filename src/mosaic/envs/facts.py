"""What can be said of an environment and of an observation, as facts: a name and its arguments, `position(3, 0)`.

Plans reason with them, and prompts spell them out. `known` holds for a whole episode (the map), `seen` for one step.
Rows count downwards from 0 and columns from the left, as the state numbers of Gymnasium's grid worlds do.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, cast

import numpy as np

from mosaic.envs.family import Family

Value: TypeAlias = "int | float | bool | str | tuple[Value, ...]"

_COMPONENTS: Mapping[str, Sequence[str]] = {
    # What the numbers of a vector are, by the beginning of the environment's id.
    "CartPole": ("cart_position", "cart_velocity", "pole_angle", "pole_angular_velocity"),
    "MountainCar": ("position", "velocity"),
    "Acrobot": ("cos_first", "sin_first", "cos_second", "sin_second", "velocity_first", "velocity_second"),
    "Pendulum": ("cos_angle", "sin_angle", "angular_velocity"),
    "LunarLander": ("x", "y", "velocity_x", "velocity_y", "angle", "angular_velocity", "left_leg", "right_leg"),
}
_TAXI_PLACES = ("red", "green", "yellow", "blue")
_FACING = ("east", "south", "west", "north")
_ORDINARY = ("unseen", "empty")


@dataclass(frozen=True)
class Fact:
    name: str
    args: tuple[Value, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}({', '.join(str(arg) for arg in self.args)})" if self.args else self.name


class World(Protocol):
    """An environment of which something can be said: an arena of Play, for example."""

    @property
    def env_id(self) -> str: ...
    @property
    def family(self) -> Family: ...
    @property
    def unwrapped(self) -> Any: ...


def known(world: World) -> list[Fact]:
    """What does not change; empty where nothing is known. Only for the thread of the environment."""
    simulator = world.unwrapped
    match type(simulator).__name__:
        case "FrozenLakeEnv":
            return [*_cells(simulator.desc, {b"H": "hole", b"G": "goal"}), *_slippery(simulator.P)]
        case "CliffWalkingEnv":
            cliff = [Fact("cliff", (int(row), int(column))) for row, column in np.argwhere(simulator._cliff)]
            rows, columns = simulator.shape
            size = Fact("size", (rows, columns))
            return [size, *cliff, Fact("goal", (rows - 1, columns - 1)), *_slippery(simulator.P)]
        case "TaxiEnv":
            return [*_places(simulator.locs), *_walls(simulator.desc)]
        case _:
            return []


def seen(world: World, observation: Any) -> list[Fact]:
    """What an observation says."""
    simulator = world.unwrapped
    match type(simulator).__name__:
        case "FrozenLakeEnv":
            return [Fact("position", divmod(int(observation), int(simulator.ncol)))]
        case "CliffWalkingEnv":
            return [Fact("position", divmod(int(observation), int(simulator.shape[1])))]
        case "TaxiEnv":
            return _taxi(simulator, int(observation))
        case _:
            return _minigrid(observation) if world.family.name == "minigrid" else _plain(world, observation)


def mission(simulator: Any) -> str:
    """What is to be done in this episode, in words, where the environment says so: MiniGrid, BabyAI, and others that
    have a text `mission`; empty for all others.
    """
    told: Any = getattr(simulator, "mission", "")
    return told if isinstance(told, str) else ""


def _cells(desc: Any, names: Mapping[bytes, str]) -> list[Fact]:
    rows, columns = desc.shape
    marked = [
        Fact(names[bytes(desc[row, column])], (row, column))
        for row in range(rows)
        for column in range(columns)
        if bytes(desc[row, column]) in names
    ]
    return [Fact("size", (rows, columns)), *marked]


def _slippery(transitions: Any) -> list[Fact]:
    slips = any(len(outcomes) > 1 for actions in transitions.values() for outcomes in actions.values())
    return [Fact("slippery")] if slips else []


def _places(locations: Sequence[tuple[int, int]]) -> list[Fact]:
    named = zip(_TAXI_PLACES, locations, strict=True)
    return [Fact("size", (5, 5)), *(Fact("place", (name, *place)) for name, place in named)]


def _walls(desc: Any) -> list[Fact]:
    """`wall(Row, Column)`: no way east from there. The map has a frame, and a column of walls between any two cells."""
    return [
        Fact("wall", (row, column)) for row in range(5) for column in range(4) if desc[row + 1, 2 * column + 2] == b"|"
    ]


def _taxi(simulator: Any, state: int) -> list[Fact]:
    row, column, passenger, destination = (int(each) for each in simulator.decode(state))
    where = "taxi" if passenger == len(_TAXI_PLACES) else _TAXI_PLACES[passenger]
    return [
        Fact("position", (row, column)),
        Fact("passenger", (where,)),
        Fact("destination", (_TAXI_PLACES[destination],)),
    ]


def _minigrid(observation: Any) -> list[Fact]:
    """`sees(Object, Colour, State, Ahead, Right)` for all that is in view; what is carried lies at (0, 0)."""
    if not isinstance(observation, Mapping):
        return []
    seen_now = cast("Mapping[str, Any]", observation)
    from minigrid.core.constants import IDX_TO_COLOR, IDX_TO_OBJECT, STATE_TO_IDX

    states = {index: name for name, index in STATE_TO_IDX.items()}
    image = cast(Any, np.asarray(seen_now["image"]))
    width, height = image.shape[:2]
    found = [Fact("facing", (_FACING[int(seen_now["direction"])],)), Fact("mission", (str(seen_now["mission"]),))]
    for column in range(width):
        for row in range(height):
            thing, colour, state = (int(number) for number in image[column, row])
            name = IDX_TO_OBJECT[thing]
            if name in _ORDINARY:
                continue
            said = states[state] if name == "door" else "none"
            found.append(Fact("sees", (name, IDX_TO_COLOR[colour], said, height - 1 - row, column - width // 2)))
    return found


def _plain(world: World, observation: Any) -> list[Fact]:
    if isinstance(observation, Mapping):
        return [Fact(_name(key), (_value(item),)) for key, item in cast("Mapping[Any, Any]", observation).items()]
    if isinstance(observation, tuple):
        parts = cast("tuple[Any, ...]", observation)
        return [Fact("observation", (at, _value(item))) for at, item in enumerate(parts)]
    if isinstance(observation, str):
        return [Fact("observation", (observation,))]
    array = np.asarray(observation)
    if array.ndim == 0:
        return [Fact("state", (array.item(),))]
    if array.ndim > 1:
        return []  # Pixels say nothing in words.
    env_id = world.env_id.rpartition(":")[2]
    names = next((names for prefix, names in _COMPONENTS.items() if env_id.startswith(prefix)), ())
    if len(names) != array.size:
        return [Fact("component", (at, number)) for at, number in enumerate(array.tolist())]
    return [Fact(name, (number,)) for name, number in zip(names, array.tolist(), strict=True)]


def _value(item: Any) -> Value:
    if isinstance(item, np.ndarray | np.generic):
        item = cast(Any, item).tolist()
    if isinstance(item, list | tuple):
        return tuple(_value(each) for each in cast("Sequence[Any]", item))
    return item if isinstance(item, bool | int | float | str) else str(item)


def _name(key: Any) -> str:
    cleaned = "".join(letter if letter.isalnum() else "_" for letter in str(key)).lstrip("_0123456789")
    return cleaned[:1].lower() + cleaned[1:] or "observation"
