"""Keyboard maps: which keys mean which action, by family, and the action that the keys held down make together.

A map is `{"keys": {"Left": 0, "Right": 1}, "idle": null}`. Keys have Qt's names; a chord is joined by "+" ("Up+Space").
With a continuous space a key means a vector, and the vectors of all keys held down are added. `idle` is the action of
no key at all; where it is null the environment waits for a key.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gymnasium import spaces

from mosaic.config import JsonValue
from mosaic.errors import ActorFailed
from mosaic.play.values import action_from_json, to_json

_ARROWS = {"LEFT": "Left", "RIGHT": "Right", "UP": "Up", "DOWN": "Down", "FIRE": "Space"}
_MINIGRID = {
    "left": "Left",
    "right": "Right",
    "forward": "Up",
    "pickup": "P",
    "drop": "D",
    "toggle": "Space",
    "done": "Return",
}
_DISCRETE: Mapping[str, tuple[Mapping[str, int], int | None, tuple[str, ...]]] = {
    # env id prefix: keys, idle action, names of the actions
    "CartPole": ({"Left": 0, "Right": 1}, None, ("push left", "push right")),
    "Acrobot": ({"Left": 0, "Right": 2}, 1, ("torque −1", "no torque", "torque +1")),
    "MountainCar-": ({"Left": 0, "Right": 2}, 1, ("push left", "no push", "push right")),
    "LunarLander": ({"Left": 1, "Up": 2, "Right": 3}, 0, ("nothing", "left engine", "main engine", "right engine")),
    "CarRacing": ({"Right": 1, "Left": 2, "Up": 3, "Down": 4}, 0, ("nothing", "right", "left", "gas", "brake")),
    "FrozenLake": ({"Left": 0, "Down": 1, "Right": 2, "Up": 3}, None, ("left", "down", "right", "up")),
    "CliffWalking": ({"Up": 0, "Right": 1, "Down": 2, "Left": 3}, None, ("up", "right", "down", "left")),
    "Taxi": (
        {"Down": 0, "Up": 1, "Right": 2, "Left": 3, "P": 4, "D": 5},
        None,
        ("south", "north", "east", "west", "pick up", "drop off"),
    ),
    "Blackjack": ({"S": 0, "H": 1}, None, ("stick", "hit")),
}
_CONTINUOUS: Mapping[str, Mapping[str, Sequence[float]]] = {
    "Pendulum": {"Left": [-2.0], "Right": [2.0]},
    "MountainCarContinuous": {"Left": [-1.0], "Right": [1.0]},
    "CarRacing": {"Left": [-1.0, 0.0, 0.0], "Right": [1.0, 0.0, 0.0], "Up": [0.0, 1.0, 0.0], "Down": [0.0, 0.0, 0.8]},
    "LunarLander": {"Up": [1.0, 0.0], "Left": [0.0, -1.0], "Right": [0.0, 1.0]},
}
_PAIRS = (("Left", "Right"), ("Down", "Up"), ("A", "D"), ("S", "W"), ("J", "L"), ("K", "I"), ("F", "H"), ("G", "T"))
"""Down and up of each component of a continuous action that nothing more is known of."""
_DIGITS = "0123456789"


@dataclass(frozen=True)
class KeyMap:
    """What keys mean."""

    keys: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    idle: JsonValue = None

    def action(self, down: Sequence[str], space: Any) -> Any:
        """What the keys held down mean, or None: wait."""
        held = frozenset(down)
        if isinstance(space, spaces.Box):
            moves = [self.keys[key] for key in held if key in self.keys]
            if not moves:
                return None if self.idle is None else action_from_json(self.idle, space)
            total = np.clip(np.sum(np.array(moves, dtype=np.float64), axis=0), space.low, space.high)
            return total.astype(space.dtype)
        # The largest chord wins: Up+Space means more than Up.
        chords = [(key, action) for key, action in self.keys.items() if frozenset(key.split("+")) <= held]
        if chords:
            return action_from_json(max(chords, key=lambda chord: chord[0].count("+"))[1], space)
        return None if self.idle is None else action_from_json(self.idle, space)


def checked(data: Any, space: Any) -> KeyMap:
    """A map that somebody edited, or ActorFailed with what is wrong with it."""
    keys: Any = data.get("keys") if isinstance(data, dict) else None
    if not isinstance(keys, dict) or not all(isinstance(key, str) and key for key in keys):
        raise ActorFailed('a keyboard map is {"keys": {"Left": action, …}, "idle": action or null}')
    made = KeyMap({key: to_json(action_from_json(action, space)) for key, action in keys.items()}, data.get("idle"))
    if made.idle is not None:
        action_from_json(made.idle, space)
    return made


def default_map(env_id: str, env: Any) -> KeyMap:
    """The map that an environment begins with; empty for a space that keys cannot fill."""
    space, name = env.action_space, env_id.rpartition(":")[2]
    if isinstance(space, spaces.Box):
        return _continuous(name, space)
    if not isinstance(space, spaces.Discrete):
        return KeyMap()
    for prefix, (keys, idle, names) in _DISCRETE.items():
        if name.startswith(prefix) and int(space.n) == len(names):
            return KeyMap(dict(keys), idle)
    meanings = _atari_meanings(env)
    if meanings:
        return KeyMap({_chord(meaning): at for at, meaning in enumerate(meanings) if meaning != "NOOP"}, 0)
    enumerated = getattr(env.unwrapped, "actions", None)
    if isinstance(enumerated, type) and hasattr(enumerated, "forward"):
        actions: Any = enumerated
        return KeyMap({_MINIGRID[each.name]: int(each) for each in actions if each.name in _MINIGRID})
    start = int(space.start)
    return KeyMap({digit: start + at for at, digit in enumerate(_DIGITS) if at < int(space.n)})


def action_names(env: Any) -> tuple[str, ...]:
    """What the actions of a discrete space are called."""
    space = env.action_space
    if not isinstance(space, spaces.Discrete):
        return ()
    count = int(space.n)
    env_id = env.spec.id if env.spec else ""
    # By its class too: somebody's own FrozenLake, under another id, has the same actions.
    known_as = (env_id.rpartition(":")[2], type(env.unwrapped).__name__)
    for prefix, (_, _, names) in _DISCRETE.items():
        if any(name.startswith(prefix) for name in known_as) and count == len(names):
            return names
    if meanings := _atari_meanings(env):
        return tuple(meaning.lower() for meaning in meanings)
    enumerated: Any = getattr(env.unwrapped, "actions", None)
    if isinstance(enumerated, type) and hasattr(enumerated, "forward"):
        named = {int(each): each.name for each in enumerated}  # type: ignore[attr-defined]
        return tuple(named.get(at, str(at)) for at in range(count))
    return tuple(str(int(space.start) + at) for at in range(count))


def _continuous(name: str, space: Any) -> KeyMap:
    idle = to_json(np.clip(np.zeros(space.shape), space.low, space.high).astype(space.dtype))
    for prefix, moves in _CONTINUOUS.items():
        if name.startswith(prefix) and space.shape == (len(next(iter(moves.values()))),):
            return KeyMap({key: list(move) for key, move in moves.items()}, idle)
    if len(space.shape) != 1:
        return KeyMap({}, idle)
    keys: dict[str, JsonValue] = {}
    for at, (down, up) in enumerate(_PAIRS[: space.shape[0]]):
        for key, bound in ((down, space.low[at]), (up, space.high[at])):
            move = [0.0] * space.shape[0]
            move[at] = float(np.clip(bound, -1.0, 1.0))
            keys[key] = list(move)
    return KeyMap(keys, idle)


def _atari_meanings(env: Any) -> list[str]:
    asked: Any = getattr(env.unwrapped, "get_action_meanings", None)
    return [str(meaning) for meaning in asked()] if asked is not None else []


def _chord(meaning: str) -> str:
    """UPRIGHTFIRE as "Up+Right+Space"."""
    found: list[str] = []
    while meaning:
        word = next((word for word in _ARROWS if meaning.startswith(word)), None)
        if word is None:
            return meaning.capitalize()
        found.append(_ARROWS[word])
        meaning = meaning.removeprefix(word)
    return "+".join(found)
