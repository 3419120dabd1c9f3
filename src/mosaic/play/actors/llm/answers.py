"""What a model may answer: the JSON schema of an action space, and the action that an answer means."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from mosaic.errors import ActorFailed
from mosaic.play.arenas.arena import Arena
from mosaic.play.json_values import action_from_json

TOOL = "act"


class NoAction(Exception):
    """An answer that is not an action; the message is for the model."""


class Actions:
    """The actions of one environment, as a model is told of them."""

    def __init__(self, arena: Arena) -> None:
        self._space = arena.action_space
        self.names = _unique(arena.action_names)

    def allowed(self, legal: Any) -> list[str]:
        """Names of the discrete actions that may be chosen now."""
        if legal is None:
            return list(self.names)
        return [name for name, may in zip(self.names, legal, strict=True) if may]

    def described(self, legal: Any) -> str:
        """For the prompt."""
        space = self._space
        if isinstance(space, spaces.Discrete):
            return ", ".join(self.allowed(legal))
        if isinstance(space, spaces.Box):
            low, high = (np.asarray(bound, dtype=np.float64).reshape(-1).round(4) for bound in (space.low, space.high))
            each = ", ".join(f"{a:g} to {b:g}" for a, b in zip(low, high, strict=True))
            return f"a list of {low.size} numbers, each within its bounds: {each}"
        if isinstance(space, spaces.MultiDiscrete):
            each = ", ".join(f"0 to {int(n) - 1}" for n in np.asarray(space.nvec).reshape(-1))
            return f"a list of whole numbers, each within its bounds: {each}"
        return f"a list of {int(np.prod(space.shape or ()))} numbers, each 0 or 1"

    def schema(self, legal: Any) -> dict[str, Any]:
        """An object with the reason first: a model that says why before it says what chooses better."""
        if isinstance(self._space, spaces.Discrete):
            action: dict[str, Any] = {"type": "string", "enum": self.allowed(legal)}
        else:
            kind = "number" if isinstance(self._space, spaces.Box) else "integer"
            action = {"type": "array", "items": {"type": kind}, "description": self.described(None)}
        reason = {"type": "string", "description": "why, in one short sentence"}
        return {
            "type": "object",
            "properties": {"reason": reason, "action": action},
            "required": ["reason", "action"],
            "additionalProperties": False,
        }

    def understood(self, answer: str, legal: Any) -> tuple[Any, str]:
        """The action and the reason of an answer, or NoAction with what is wrong with it."""
        found = _object(answer)
        if "action" not in found:
            raise NoAction('the JSON object has no "action"')
        return self._action(found["action"], legal), str(found.get("reason", ""))

    def _action(self, said: Any, legal: Any) -> Any:
        space = self._space
        if isinstance(space, spaces.Discrete):
            allowed = self.allowed(legal)
            name = str(said).strip().lower()
            if name not in allowed:
                raise NoAction(f"{said!r:.80} is not one of the actions {', '.join(allowed)}")
            return int(space.start) + self.names.index(name)
        try:
            action = action_from_json(said, space)
        except ActorFailed as error:
            raise NoAction(str(error)) from error
        if isinstance(space, spaces.Box) and not bool(((action >= space.low) & (action <= space.high)).all()):
            raise NoAction(f"{said!r:.80} is out of bounds: {self.described(None)}")
        return action


def _unique(names: Sequence[str]) -> list[str]:
    """Lower case, so that an answer need not match it; with the number where two are called alike."""
    lowered = [name.lower() for name in names]
    return [f"{at}: {name}" if lowered.count(name) > 1 else name for at, name in enumerate(lowered)]


def _object(answer: str) -> dict[str, Any]:
    """The last JSON object in an answer, which may stand in prose or in a fence."""
    decoder = json.JSONDecoder()
    found: dict[str, Any] | None = None
    at = answer.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(answer, at)
        except (ValueError, RecursionError):
            at = answer.find("{", at + 1)
            continue
        found = value if isinstance(value, dict) else found
        at = answer.find("{", end)
    if found is None:
        raise NoAction("the answer holds no JSON object")
    return found
