"""Which arena a session needs: one environment, a table for several, or copies in lock-step; and who sits where."""

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from mosaic import envs
from mosaic.envs import pettingzoo
from mosaic.errors import ConfigError, Problem
from mosaic.play.arenas.arena import Arena
from mosaic.play.arenas.game_arena import GameArena
from mosaic.play.arenas.lockstep_arena import LockstepArena
from mosaic.spec.episode_file import Shown
from mosaic.spec.run_config import MAX_GRID, PlayExtras
from mosaic.spec.seat_names import EVERY_SEAT, SEAT


def arena_of(
    env_id: str,
    options: PlayExtras,
    *,
    pictures: bool,
    observations: Shown = "raw",
    settings: Mapping[str, Any] | None = None,
) -> Arena:
    several = envs.family_of(env_id) is pettingzoo.FAMILY
    if several and observations == "pixels":
        problem = f"pixels are for environments for one, and {env_id} is for several"
        raise ConfigError([Problem("extras.observations", problem)], what="play")
    if not options.lockstep:
        if several:
            return GameArena(env_id, pictures=pictures, settings=settings)
        return Arena(env_id, pictures=pictures, observations=observations, settings=settings)
    if several:
        raise ConfigError([Problem("extras.lockstep", f"{env_id} is for several players already")], what="play")
    if len(options.actors) > MAX_GRID or EVERY_SEAT in options.actors:
        raise ConfigError([Problem("extras.actors", f"lock-step is for 1 to {MAX_GRID} named seats")], what="play")
    seats = [seat_name(word) for word in options.actors]
    return LockstepArena(env_id, seats, pictures=pictures, observations=observations, settings=settings)


def seat_name(word: str) -> str:
    """The seat of a copy; a mere number has no sound of a seat."""
    return f"copy_{word}" if word.isdecimal() else word


def seated(env_id: str, words: Mapping[str, str], arena: Arena) -> dict[str, str]:
    """The actor of each seat, in the order of the seats. A seat has its name or its number, or is one of all others."""
    named: dict[str, str] = {}
    problems: list[Problem] = []
    for word, actor in words.items():
        if word == EVERY_SEAT:
            continue
        seat = _seat(word, arena.seats)
        if seat is None:
            problems.append(Problem(f"extras.actors.{word}", _no_such(env_id, word, arena.seats)))
        elif seat in named:
            problems.append(Problem(f"extras.actors.{word}", f"{seat} has an actor already: {named[seat]}"))
        else:
            named[seat] = actor
    missing = [seat for seat in arena.seats if seat not in named]
    if EVERY_SEAT in words:
        named |= dict.fromkeys(missing, words[EVERY_SEAT])
    elif not problems:
        problems += [Problem(f"extras.actors.{seat}", "is missing") for seat in missing]
    if problems:
        raise ConfigError(problems, what="play")
    return {seat: named[seat] for seat in arena.seats}


def _seat(word: str, seats: Sequence[str]) -> str | None:
    if word in seats:
        return word
    if word.isdecimal() and 1 <= int(word) <= len(seats):
        return seats[int(word) - 1]
    return seat_name(word) if seat_name(word) in seats else None


def _no_such(env_id: str, word: str, seats: Sequence[str]) -> str:
    near = difflib.get_close_matches(word, seats, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    if seats == (SEAT,):
        return f"{env_id} has one seat, {SEAT}{hint}; lock-step gives each actor a copy of its own"
    return f"{env_id} has no such seat; it has {', '.join(seats)}{hint}"
