"""`python -m mosaic.gui.models.play.gamepad_child`: what the gamepads of this machine do, a JSON object a line.

    {"pads": ["Xbox Series X Controller"], "down": ["Pad A", "Stick Left"], "axes": {"Stick X": -0.8}}

A line is written when something has changed. In a process of its own, because SDL wants a thread and its signals for
itself, and a driver that hangs must not hang the window. It ends when its standard input does.
"""

import json
import os
import select
import sys
import time
from collections.abc import Mapping
from typing import Any

from mosaic.installation import package_line

LOOK_S = 0.008
"""Between two looks at gamepads that are there."""
WAIT_S = 0.5
"""Between two looks whether one has come."""
FAR = 0.5
"""A stick pushed this far counts as a direction."""
NEAR = 0.08
"""A stick nearer to its middle than this is at rest."""
FULL = 32767
BUTTONS = {
    "A": "Pad A",
    "B": "Pad B",
    "X": "Pad X",
    "Y": "Pad Y",
    "LEFTSHOULDER": "Pad L",
    "RIGHTSHOULDER": "Pad R",
    "START": "Pad Start",
    "BACK": "Pad Back",
    "DPAD_UP": "Pad Up",
    "DPAD_DOWN": "Pad Down",
    "DPAD_LEFT": "Pad Left",
    "DPAD_RIGHT": "Pad Right",
}
AXES = {
    "LEFTX": ("Stick X", 1),
    "LEFTY": ("Stick Y", -1),
    "RIGHTX": ("Stick 2 X", 1),
    "RIGHTY": ("Stick 2 Y", -1),
    "TRIGGERLEFT": ("Trigger L", 1),
    "TRIGGERRIGHT": ("Trigger R", 1),
}
"""With the sign that makes up and right positive."""
PLAIN = ("Pad A", "Pad B", "Pad X", "Pad Y")
"""Buttons of a joystick whose layout SDL does not know."""


class Pads:
    """All gamepads together: whichever is used acts."""

    def __init__(self) -> None:
        os.environ |= {"SDL_VIDEODRIVER": "dummy", "SDL_JOYSTICK_ALLOW_BACKGROUND_EVENTS": "1"}
        os.environ["PYGAME_HIDE_SUPPORT_PROMPT"] = "1"
        import pygame
        from pygame._sdl2 import controller

        self._pygame: Any = pygame
        self._controller: Any = controller
        # SDL looks at gamepads when it looks at events, and at those only with a screen, of which this one is none.
        pygame.display.init()
        pygame.joystick.init()
        controller.init()
        self._open: list[Any] = []

    def read(self) -> dict[str, Any]:
        """What is held down now, and how far; without waiting."""
        pygame = self._pygame
        changed = (pygame.JOYDEVICEADDED, pygame.JOYDEVICEREMOVED)
        if any(event.type in changed for event in pygame.event.get()) or len(self._open) != self._count:
            self._open = [self._opened(at) for at in range(self._count)]
        down: set[str] = set()
        axes: dict[str, float] = {}
        for pad in self._open:
            held, pushed = self._of_joystick(pad) if hasattr(pad, "get_numaxes") else self._of_controller(pad)
            down |= held
            axes |= pushed
        return {"pads": [str(_name(pad)) for pad in self._open], "down": sorted(down | _far(axes)), "axes": axes}

    @property
    def _count(self) -> int:
        return int(self._pygame.joystick.get_count())

    def _opened(self, at: int) -> Any:
        known = self._controller.is_controller(at)
        return self._controller.Controller(at) if known else self._pygame.joystick.Joystick(at)

    def _of_controller(self, pad: Any) -> tuple[set[str], dict[str, float]]:
        pygame = self._pygame
        down = {name for word, name in BUTTONS.items() if pad.get_button(getattr(pygame, f"CONTROLLER_BUTTON_{word}"))}
        axes = {
            name: sign * pad.get_axis(getattr(pygame, f"CONTROLLER_AXIS_{word}")) / FULL
            for word, (name, sign) in AXES.items()
        }
        return down, _moved(axes)

    def _of_joystick(self, pad: Any) -> tuple[set[str], dict[str, float]]:
        count = pad.get_numbuttons()
        names = [PLAIN[at] if at < len(PLAIN) else f"Pad {at + 1}" for at in range(count)]
        down = {names[at] for at in range(count) if pad.get_button(at)}
        for at in range(pad.get_numhats()):
            x, y = pad.get_hat(at)
            down |= {"Pad Left"} if x < 0 else {"Pad Right"} if x > 0 else set()
            down |= {"Pad Down"} if y < 0 else {"Pad Up"} if y > 0 else set()
        sticks = list(AXES.values())[: min(pad.get_numaxes(), 4)]
        return down, _moved({name: sign * pad.get_axis(at) for at, (name, sign) in enumerate(sticks)})


def main() -> int:
    try:
        pads = Pads()
    except ImportError:
        _say({"pads": [], "down": [], "axes": {}, "problem": f"gamepads need pygame: {package_line('pygame-ce')}"})
        return 0
    return follow(pads)


def follow(pads: Pads) -> int:
    """Until the reader is gone."""
    said: dict[str, Any] = {}
    while True:
        now = pads.read()
        if now != said:
            said = now
            _say(now)
        if select.select([sys.stdin], [], [], 0)[0] and not os.read(0, 64):
            return 0
        time.sleep(LOOK_S if now["pads"] else WAIT_S)


def _say(what: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def _name(pad: Any) -> str:
    return pad.get_name() if hasattr(pad, "get_name") else pad.name


def _moved(axes: Mapping[str, float]) -> dict[str, float]:
    return {name: round(min(max(value, -1.0), 1.0), 2) for name, value in axes.items() if abs(value) > NEAR}


def _far(axes: Mapping[str, float]) -> set[str]:
    x, y = axes.get("Stick X", 0.0), axes.get("Stick Y", 0.0)
    pushed = {"Stick Left": -x, "Stick Right": x, "Stick Down": -y, "Stick Up": y}
    return {name for name, value in pushed.items() if value > FAR}


if __name__ == "__main__":
    raise SystemExit(main())
