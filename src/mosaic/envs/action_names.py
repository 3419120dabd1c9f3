"""What the actions of a discrete space are called: by the environment's name, else by what it says itself."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

NAMES: Mapping[str, tuple[str, ...]] = {
    # By the beginning of the environment's id.
    "CartPole": ("push left", "push right"),
    "Acrobot": ("torque −1", "no torque", "torque +1"),
    "MountainCar-": ("push left", "no push", "push right"),
    "LunarLander": ("nothing", "left engine", "main engine", "right engine"),
    "CarRacing": ("nothing", "right", "left", "gas", "brake"),
    "FrozenLake": ("left", "down", "right", "up"),
    "CliffWalking": ("up", "right", "down", "left"),
    "Taxi": ("south", "north", "east", "west", "pick up", "drop off"),
    "Blackjack": ("stick", "hit"),
    # Squares are counted down the columns.
    "tictactoe": (
        "top left",
        "middle left",
        "bottom left",
        "top",
        "middle",
        "bottom",
        "top right",
        "middle right",
        "bottom right",
    ),
    "connect_four": tuple(f"column {at + 1}" for at in range(7)),
    "rps": ("rock", "paper", "scissors"),
    "simple": ("nothing", "left", "right", "down", "up"),
    "cooperative_pong": ("nothing", "up", "down"),
    "knights_archers_zombies": ("forward", "backward", "turn left", "turn right", "attack", "nothing"),
    "pursuit": ("left", "right", "up", "down", "nothing"),
}


def known_names(env_id: str, count: int) -> tuple[str, ...]:
    """What so many actions are called, by the name of the environment alone; empty if that is not known."""
    bare = bare_name(env_id)
    return next((names for prefix, names in NAMES.items() if bare.startswith(prefix) and count == len(names)), ())


def bare_name(env_id: str) -> str:
    """Without the module that registers it and the namespace."""
    return env_id.rpartition(":")[2].rpartition("/")[2]


def action_names(env: Any) -> tuple[str, ...]:
    """What the actions of a discrete space are called."""
    from gymnasium import spaces

    if not isinstance(env.action_space, spaces.Discrete):
        return ()
    space = cast(Any, env.action_space)
    count, first = int(space.n), int(space.start)
    env_id = env.spec.id if env.spec else ""
    # By its class too: a user's own FrozenLake, under another id, has the same actions.
    if names := known_names(env_id, count) or known_names(type(env.unwrapped).__name__, count):
        return names
    if meanings := atari_meanings(env):
        return tuple(meaning.lower() for meaning in meanings)
    enumerated: Any = getattr(env.unwrapped, "actions", None)
    if isinstance(enumerated, type) and hasattr(enumerated, "forward"):
        named = {int(each): each.name for each in cast("Iterable[Any]", enumerated)}
        return tuple(named.get(at, str(at)) for at in range(count))
    return tuple(str(first + at) for at in range(count))


def atari_meanings(env: Any) -> list[str]:
    """What the emulator calls them, UPRIGHTFIRE; empty for what is not an Atari game."""
    asked: Any = getattr(env.unwrapped, "get_action_meanings", None)
    return [str(meaning) for meaning in asked()] if asked is not None else []
