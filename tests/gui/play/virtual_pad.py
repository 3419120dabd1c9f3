"""A gamepad that is not there: SDL's own virtual controller, read by the studio's reader as any other.

Standard input is a JSON object a line: {"axis": [0, -0.8]}, {"button": [0, true]}, {"detach": true}. The reader runs in
the main thread, as it does for real devices; its standard input is a pipe that ends when this one does.
"""

import ctypes
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

from mosaic.gui.models.play import gamepad_child

GAMEPAD, AXES, BUTTONS = 1, 6, 15
FULL = 32767


class VirtualPad:
    """Attached to the SDL that pygame has loaded into this process."""

    def __init__(self) -> None:
        [path] = {word for word in Path("/proc/self/maps").read_text().split() if "libSDL2-2" in word}
        self._sdl: Any = ctypes.CDLL(path)
        self._sdl.SDL_JoystickOpen.restype = ctypes.c_void_p
        self._sdl.SDL_JoystickSetVirtualAxis.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int16]
        self._sdl.SDL_JoystickSetVirtualButton.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_uint8]
        self._index = self._sdl.SDL_JoystickAttachVirtual(GAMEPAD, AXES, BUTTONS, 0)
        self._pad: Any = self._sdl.SDL_JoystickOpen(self._index)

    def push(self, axis: int, value: float) -> None:
        self._sdl.SDL_JoystickSetVirtualAxis(self._pad, axis, int(value * FULL))

    def press(self, button: int, down: bool) -> None:
        self._sdl.SDL_JoystickSetVirtualButton(self._pad, button, int(down))

    def detach(self) -> None:
        self._sdl.SDL_JoystickDetachVirtual(self._index)


def main() -> int:
    pads = gamepad_child.Pads()
    virtual = VirtualPad()
    commands = os.fdopen(os.dup(0))
    reading, writing = os.pipe()
    os.dup2(reading, 0)

    def obey() -> None:
        for line in commands:
            command = json.loads(line)
            if "axis" in command:
                virtual.push(*command["axis"])
            if "button" in command:
                virtual.press(*command["button"])
            if "detach" in command:
                virtual.detach()
        os.close(writing)

    threading.Thread(target=obey, daemon=True).start()
    return gamepad_child.follow(pads)


if __name__ == "__main__":
    sys.exit(main())
