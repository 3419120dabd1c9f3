"""The state that a session sends to its clients (docs/protocols/play.md has every field)."""

import base64
from typing import Any

import numpy as np

from mosaic.config import JsonValue
from mosaic.envs.facts import mission
from mosaic.play.actors.policy import PolicyActor
from mosaic.play.arenas.arena import Arena
from mosaic.play.arenas.legal_moves import moves_of
from mosaic.play.arenas.lockstep_arena import LockstepArena
from mosaic.play.arenas.symbolic_grid import symbolic_grid_of
from mosaic.play.json_values import to_json
from mosaic.play.key_maps import touch_of
from mosaic.play.session.player import Player
from mosaic.play.session.session import Session
from mosaic.spec.environment_settings import spoken

MAX_NUMBERS = 4096
"""Observations of more numbers than this are described, not sent."""


def state_of(session: Session) -> dict[str, Any]:
    now, arena = session.now, session.arena
    last, person = now.last, session.orders.human_input.person
    return {
        "status": _status(session),
        "env_settings": spoken(arena.settings),
        "mission": mission(arena.unwrapped),
        "reason": session.pace.reason,
        "episode": now.episode,
        "seed": now.seed,
        "t": now.t,
        "global_step": now.global_step,
        "returns": {seat: to_json(total) for seat, total in now.returns.items()},
        "over": now.over,
        "turn": arena.turn,
        "speed": session.pace.speed,
        "seats": {
            seat: {
                "actor": player.agent.word if player.agent else "human",
                "control": player.control,
                "trained_with": _trained_with(player, arena),
            }
            for seat, player in session.players.items()
        },
        "last": {
            "seat": last.seat,
            "actor": last.actor,
            "reward": to_json(last.reward),
            "action": to_json(last.choice.action) if last.choice else None,
            "probabilities": to_json(last.choice.probabilities) if last.choice else None,
            "values": to_json(last.choice.values) if last.choice else None,
            "value": to_json(last.choice.value) if last.choice else None,
            "note": last.choice.note if last.choice else "",
        },
        "observation": observation_of(now.observation, pixels=session.orders.pixels),
        "board": board.as_json() if (board := symbolic_grid_of(arena.env_id, arena.unwrapped)) else None,
        "person": person.seat,
        "actions": list(arena.at(person.seat).action_names),
        "keys": human.map.as_json() if (human := person.human) is not None else None,
        "touch": to_json(touch_of(arena.env_id, arena.at(person.seat).action_space)),
        "moves": moves_of(arena, person.seat) if person.control != "agent" else None,
        "score": now.score.as_json(),
        "lengths": dict(arena.lengths) if isinstance(arena, LockstepArena) else None,
        "steps_per_s": arena.steps_per_s,
        "pictures_problem": arena.pictures_problem,
        "replay": compared.as_json() if (compared := session.played_episode.comparison) else None,
    }


def _trained_with(player: Player, arena: Arena) -> str:
    """The settings that a policy was trained with in this environment, where it plays with others; else empty."""
    actor = player.agent.actor if player.agent is not None else None
    if not isinstance(actor, PolicyActor) or actor.trained_with is None or actor.trained_with == arena.settings:
        return ""
    return spoken(actor.trained_with) or "no settings"


def _status(session: Session) -> str:
    if session.orders.ending:
        return "ended"
    if session.pace.paused:
        return "paused"
    if session.now.over:
        return "over"
    actor_thread = session.players[session.arena.turn].actor_thread(session.now.t + 1)
    return "waiting" if actor_thread.is_person and getattr(actor_thread.actor, "waits", False) else "running"


def observation_of(observation: Any, *, pixels: bool) -> JsonValue:
    """Its numbers with their shape, a text, or a mapping of these; a picture as base64, where a client wants it."""
    if isinstance(observation, dict | tuple):
        parts = observation.items() if isinstance(observation, dict) else enumerate(observation)
        return {"kind": "mapping", "items": {str(key): observation_of(item, pixels=pixels) for key, item in parts}}
    if isinstance(observation, str):
        return {"kind": "text", "text": observation}
    array = np.asarray(observation)
    about: dict[str, JsonValue] = {"kind": "numbers", "shape": list(array.shape), "dtype": str(array.dtype)}
    if array.size <= MAX_NUMBERS:
        about["numbers"] = to_json(array.reshape(-1))
    elif array.dtype == np.uint8 and pixels:
        about["bytes"] = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return about
