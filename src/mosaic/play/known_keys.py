"""What is known of the keys of environments, by the beginning of their names."""

from collections.abc import Mapping, Sequence

ARROWS = {"LEFT": "Left", "RIGHT": "Right", "UP": "Up", "DOWN": "Down", "FIRE": "Space"}
MINIGRID = {
    "left": "Left",
    "right": "Right",
    "forward": "Up",
    "pickup": "P",
    "drop": "D",
    "toggle": "Space",
    "done": "Return",
}
DISCRETE: Mapping[str, tuple[Mapping[str, int], int | None]] = {
    # env id prefix, as in `mosaic.envs.action_names`: keys, idle action
    "CartPole": ({"Left": 0, "Right": 1}, None),
    "Acrobot": ({"Left": 0, "Right": 2}, 1),
    "MountainCar-": ({"Left": 0, "Right": 2}, 1),
    "LunarLander": ({"Left": 1, "Up": 2, "Right": 3}, 0),
    "CarRacing": ({"Right": 1, "Left": 2, "Up": 3, "Down": 4}, 0),
    "FrozenLake": ({"Left": 0, "Down": 1, "Right": 2, "Up": 3}, None),
    "CliffWalking": ({"Up": 0, "Right": 1, "Down": 2, "Left": 3}, None),
    "Taxi": ({"Down": 0, "Up": 1, "Right": 2, "Left": 3, "P": 4, "D": 5}, None),
    "Blackjack": ({"S": 0, "H": 1}, None),
    # Squares are counted down the columns; the keys lie as on a number pad.
    "tictactoe": ({"7": 0, "4": 1, "1": 2, "8": 3, "5": 4, "2": 5, "9": 6, "6": 7, "3": 8}, None),
    "connect_four": ({str(at + 1): at for at in range(7)}, None),
    "rps": ({"R": 0, "P": 1, "S": 2}, None),
    "simple": ({"Left": 1, "Right": 2, "Down": 3, "Up": 4}, 0),
    "cooperative_pong": ({"Up": 1, "Down": 2}, 0),
    "knights_archers_zombies": ({"Up": 0, "Down": 1, "Left": 2, "Right": 3, "Space": 4}, 5),
    "pursuit": ({"Left": 0, "Right": 1, "Up": 2, "Down": 3}, 4),
}
TOUCH: Mapping[str, Sequence[Sequence[int]]] = {
    "tictactoe": ((0, 3, 6), (1, 4, 7), (2, 5, 8)),
    "connect_four": (tuple(range(7)),),
}
"""Actions that a click into the picture means: rows of equal places over all of it."""
CONTINUOUS: Mapping[str, Mapping[str, Sequence[float]]] = {
    "Pendulum": {"Left": [-2.0], "Right": [2.0]},
    "MountainCarContinuous": {"Left": [-1.0], "Right": [1.0]},
    "CarRacing": {"Left": [-1.0, 0.0, 0.0], "Right": [1.0, 0.0, 0.0], "Up": [0.0, 1.0, 0.0], "Down": [0.0, 0.0, 0.8]},
    "LunarLander": {"Up": [1.0, 0.0], "Left": [0.0, -1.0], "Right": [0.0, 1.0]},
}
PAIRS = (("Left", "Right"), ("Down", "Up"), ("A", "D"), ("S", "W"), ("J", "L"), ("K", "I"), ("F", "H"), ("G", "T"))
"""Down and up of each component of a continuous action that nothing more is known of."""
DIGITS = "0123456789"

PAD = {
    "Left": "Pad Left",
    "Right": "Pad Right",
    "Up": "Pad Up",
    "Down": "Pad Down",
    "Space": "Pad A",
    "P": "Pad X",
    "D": "Pad B",
    "Return": "Pad Start",
}
"""What of a gamepad does the same as a key, by default."""
STICK_AS_PAD = {"Stick Left": "Pad Left", "Stick Right": "Pad Right", "Stick Up": "Pad Up", "Stick Down": "Pad Down"}
"""A stick that is pushed far counts as the cross, where actions are discrete."""
AXES: Mapping[str, Mapping[str, Sequence[float]]] = {
    "Pendulum": {"Stick X": [2.0]},
    "MountainCarContinuous": {"Stick X": [1.0]},
    "CarRacing": {"Stick X": [1.0, 0.0, 0.0], "Trigger R": [0.0, 1.0, 0.0], "Trigger L": [0.0, 0.0, 1.0]},
    "LunarLander": {"Trigger R": [1.0, 0.0], "Stick X": [0.0, 1.0]},
}
USUAL_AXES = ("Stick X", "Stick Y", "Stick 2 X", "Stick 2 Y", "Trigger L", "Trigger R")
"""One for each component of a continuous action that nothing more is known of."""
