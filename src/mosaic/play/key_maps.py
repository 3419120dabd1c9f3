"""Keyboard and gamepad maps: which keys mean which action, and the action that all that is held down makes together.

A map is `{"keys": {"Left": 0, "Pad Left": 0, "Right": 1}, "idle": null, "axes": {}}`. Keys have Qt's names, buttons of
a gamepad begin with "Pad"; a chord is joined by "+" ("Up+Space"). With a continuous space a key means a vector, and an
axis of a gamepad ("Stick X", from -1 to 1) the vector that it is multiplied with; all of them are added. `idle` is the
action of no key at all; where it is null the environment waits for a key.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gymnasium import spaces

from mosaic.config import JsonValue
from mosaic.envs.action_names import NAMES, atari_meanings, bare_name
from mosaic.errors import ActorFailed
from mosaic.play.json_values import action_from_json, to_json
from mosaic.play.known_keys import (
    ARROWS,
    AXES,
    CONTINUOUS,
    DIGITS,
    DISCRETE,
    MINIGRID,
    PAD,
    PAIRS,
    STICK_AS_PAD,
    TOUCH,
    USUAL_AXES,
)

AT_REST = 0.05
"""A stick that is let go does not come to rest at zero exactly."""


@dataclass(frozen=True)
class KeyMap:
    """What keys and axes mean."""

    keys: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    idle: JsonValue = None
    axes: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Of a gamepad, for continuous actions."""

    def action(self, down: Sequence[str], space: Any, axes: Mapping[str, float] | None = None) -> Any:
        """What is held down means, or None: wait."""
        if isinstance(space, spaces.Box):
            moves = [np.array(self.keys[key], dtype=np.float64) for key in dict.fromkeys(down) if key in self.keys]
            moves += [np.array(self.axes[name], np.float64) * value for name, value in self.pushed(axes or {}).items()]
            if not moves:
                return self._idle(space)
            total = np.clip(np.sum(moves, axis=0), space.low, space.high)
            return total.astype(space.dtype)
        held = {key if key in self.keys else STICK_AS_PAD.get(key, key) for key in down}
        # The largest chord wins: Up+Space means more than Up.
        chords = [(key, action) for key, action in self.keys.items() if held.issuperset(key.split("+"))]
        if chords:
            return action_from_json(max(chords, key=lambda chord: chord[0].count("+"))[1], space)
        return self._idle(space)

    def pushed(self, axes: Mapping[str, float]) -> dict[str, float]:
        """The axes that mean something and are not at rest."""
        return {name: value for name, value in axes.items() if name in self.axes and abs(value) > AT_REST}

    def as_json(self) -> dict[str, JsonValue]:
        return {"keys": dict(self.keys), "idle": self.idle, "axes": dict(self.axes)}

    def _idle(self, space: Any) -> Any:
        return None if self.idle is None else action_from_json(self.idle, space)


def checked(data: Any, space: Any) -> KeyMap:
    """A map that the user edited, or ActorFailed with what is wrong with it."""
    keys: Any = data.get("keys") if isinstance(data, dict) else None
    axes: Any = data.get("axes", {}) if isinstance(data, dict) else None
    if not all(isinstance(part, dict) and all(isinstance(key, str) and key for key in part) for part in (keys, axes)):
        raise ActorFailed('a keyboard map is {"keys": {"Left": action, …}, "idle": action or null, "axes": {…}}')
    if axes and not isinstance(space, spaces.Box):
        raise ActorFailed("axes are for continuous actions; here the stick counts as the cross of the gamepad")
    made = KeyMap(
        {key: to_json(action_from_json(action, space)) for key, action in keys.items()},
        data.get("idle"),
        {name: to_json(action_from_json(vector, space)) for name, vector in axes.items()},
    )
    if made.idle is not None:
        action_from_json(made.idle, space)
    return made


def default_map(env_id: str, env: Any) -> KeyMap:
    """The map that an environment begins with; empty for a space that keys cannot fill."""
    space, name = env.action_space, bare_name(env_id)
    if isinstance(space, spaces.Box):
        return _continuous(name, space)
    if not isinstance(space, spaces.Discrete):
        return KeyMap()
    made = _discrete(name, space, env)
    return KeyMap({**made.keys, **_on_pad(made.keys)}, made.idle)


def touch_of(env_id: str, space: Any) -> Sequence[Sequence[int]] | None:
    """What a click into the picture means, where that is known: rows of equal places."""
    for prefix, rows in TOUCH.items():
        if bare_name(env_id).startswith(prefix) and int(getattr(space, "n", 0)) == sum(map(len, rows)):
            return rows
    return None


def _on_pad(keys: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The same actions on a gamepad, where it has something that goes by the name."""
    chords = {key: key.split("+") for key in keys}
    return {
        "+".join(PAD[part] for part in chord): keys[key]
        for key, chord in chords.items()
        if all(part in PAD for part in chord)
    }


def _discrete(name: str, space: Any, env: Any) -> KeyMap:
    for prefix, (keys, idle) in DISCRETE.items():
        if name.startswith(prefix) and int(space.n) == len(NAMES[prefix]):
            return KeyMap(dict(keys), idle)
    meanings = atari_meanings(env)
    if meanings:
        return KeyMap({_chord(meaning): at for at, meaning in enumerate(meanings) if meaning != "NOOP"}, 0)
    enumerated = getattr(env.unwrapped, "actions", None)
    if isinstance(enumerated, type) and hasattr(enumerated, "forward"):
        actions: Any = enumerated
        return KeyMap({MINIGRID[each.name]: int(each) for each in actions if each.name in MINIGRID})
    start = int(space.start)
    return KeyMap({digit: start + at for at, digit in enumerate(DIGITS) if at < int(space.n)})


def _continuous(name: str, space: Any) -> KeyMap:
    idle = to_json(np.clip(np.zeros(space.shape), space.low, space.high).astype(space.dtype))
    for prefix, moves in CONTINUOUS.items():
        if name.startswith(prefix) and space.shape == (len(next(iter(moves.values()))),):
            axes: dict[str, JsonValue] = {name: list(vector) for name, vector in AXES[prefix].items()}
            return KeyMap({key: list(move) for key, move in moves.items()}, idle, axes)
    if len(space.shape) != 1:
        return KeyMap({}, idle)
    keys: dict[str, JsonValue] = {}
    for at, (down, up) in enumerate(PAIRS[: space.shape[0]]):
        for key, bound in ((down, space.low[at]), (up, space.high[at])):
            move = [0.0] * space.shape[0]
            move[at] = float(np.clip(bound, -1.0, 1.0))
            keys[key] = list(move)
    return KeyMap(keys, idle, {axis: _along(at, space) for at, axis in enumerate(USUAL_AXES[: space.shape[0]])})


def _along(at: int, space: Any) -> JsonValue:
    """The vector of one component, as far as its bounds and no further than one."""
    return [float(min(space.high[at], 1.0)) if each == at else 0.0 for each in range(space.shape[0])]


def _chord(meaning: str) -> str:
    """UPRIGHTFIRE as "Up+Right+Space"."""
    found: list[str] = []
    while meaning:
        word = next((word for word in ARROWS if meaning.startswith(word)), None)
        if word is None:
            return meaning.capitalize()
        found.append(ARROWS[word])
        meaning = meaning.removeprefix(word)
    return "+".join(found)
