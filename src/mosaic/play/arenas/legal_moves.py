"""The moves that the rules allow now, with readable names, where there are too many actions for keys."""

from typing import Any

import numpy as np
from gymnasium import spaces

from mosaic.config import JsonValue
from mosaic.play.arenas.arena import Arena

FEW = 12
"""So many actions have keys."""
MOST = 400
GO_COLUMNS = "ABCDEFGHJKLMNOPQRST"
"""Without I, as on every board."""


def moves_of(arena: Arena, seat: str) -> JsonValue:
    """`[action, name]` of each; None where keys are enough, or the rules allow everything."""
    mask = arena.legal(seat) if seat == arena.turn and not arena.over else None
    if mask is None or len(mask) <= FEW or not isinstance(arena.at(seat).action_space, spaces.Discrete):
        return None
    start = int(getattr(arena.at(seat).action_space, "start", 0))
    allowed = [start + int(at) for at in np.flatnonzero(mask)][:MOST]
    simulator = arena.unwrapped
    names = {action: _name(arena, simulator, seat, action) for action in allowed}
    return [[action, names[action]] for action in sorted(allowed, key=lambda action: names[action])]


def _name(arena: Arena, simulator: Any, seat: str, action: int) -> str:
    game = arena.env_id.rpartition("/")[2]
    if game.startswith("chess"):
        from pettingzoo.classic.chess import chess_utils

        board = simulator.board
        return str(board.san(chess_utils.action_to_move(board, action, arena.seats.index(seat))))
    if game.startswith(("go-", "go_")):
        side = round(np.sqrt(len(arena.legal(seat)) - 1))
        row, column = divmod(action, side)
        return "pass" if action == side * side else f"{GO_COLUMNS[column]}{side - row}"
    return str(action)
