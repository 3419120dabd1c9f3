"""A person plays in the terminal: keys go to the session, its picture and a line of numbers come back."""

import contextlib
import os
import select
import sys
import termios
import threading
import time
import tty
from collections.abc import Generator, Mapping
from typing import Any

from mosaic.cli.daemon.connection import BadArguments
from mosaic.cli.live.run_frames import NothingToSee, RunFrames, frames_of
from mosaic.cli.live.terminal_pictures import DRAW, Canvas, Way, ask, canvas
from mosaic.cli.live.watch import CLEAR, HIDE_CURSOR, HOME, RESET, SHOW_CURSOR
from mosaic.cli.terminal.plain_output import ESC, draw
from mosaic.cli.terminal.printing import clean, fit, is_terminal
from mosaic.errors import MosaicError
from mosaic.fastlane.viewer_lease import Wishes
from mosaic.rpc.client import Client, PlayLink
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import TERMINAL

START_S = 30.0
LOOK_S = 0.05
ARROWS = {"A": "Up", "B": "Down", "C": "Right", "D": "Left"}
NAMED = {" ": "Space", "\r": "Return", "\n": "Return", "\t": "Tab", "\x7f": "Backspace"}
QUIT = ("Q", "\x03", "\x04")
COMMANDS = {"Backspace": "reset"}
GAMEPAD = "Pad "
"""What begins with this is not a key of a terminal."""
SIGNS = {"Left": "←", "Right": "→", "Up": "↑", "Down": "↓"}


def refuse_pipe() -> None:
    if not is_terminal() or not sys.stdin.isatty():
        raise BadArguments("a person needs a terminal to play in; another actor plays without one: --actor random")


def play_in_terminal(client: Client, run: RunRecord) -> None:
    """Until the last episode is over, or the person quits."""
    with _controls(client, run) as table, _keyboard():
        # After raw mode is set: the terminal's answer to what it can draw comes as keys.
        way = ask()
        listening = threading.Thread(target=_press_keys, args=(table,), name="keys", daemon=True)
        listening.start()
        try:
            _show(client, run, table, way)
        finally:
            table.over.set()
            listening.join(1.0)


class _Table:
    """The session's newest state."""

    def __init__(self, link: PlayLink) -> None:
        self.link = link
        self.state: Mapping[str, Any] = {}
        self.said = ""
        self.over = threading.Event()

    def listen(self) -> None:
        # A border: a session or a daemon that goes away ends the stream in its own way.
        with contextlib.suppress(MosaicError):
            for state in self.link:
                if "status" in state:
                    self.state = {**self.state, **state}
                elif state.get("error"):
                    self.said = str(state["error"])
        self.over.set()


@contextlib.contextmanager
def _controls(client: Client, run: RunRecord) -> Generator[_Table]:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and client.get(run.run_id).state not in TERMINAL:
        table = _Table(client.play(run.run_id))
        thread = threading.Thread(target=table.listen, name="play", daemon=True)
        thread.start()
        while not table.state and not table.over.is_set():
            table.over.wait(LOOK_S)
        if table.state:
            keys = table.state.get("keys")
            if not keys or not table.state.get("actions"):
                table.link.send("stop")
                raise BadArguments(
                    "in a terminal a person plays a few discrete actions by keys; the studio's Play tab has the others"
                )
            try:
                yield table
            finally:
                table.link.send("stop")
                table.over.wait(2.0)
                table.link.close()
            return
        table.link.close()


@contextlib.contextmanager
def _keyboard() -> Generator[None]:
    """Keys as they are pressed, unseen; as it was afterwards."""
    before = termios.tcgetattr(sys.stdin)
    tty.setcbreak(sys.stdin)
    sys.stdout.write(HIDE_CURSOR)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
        sys.stdout.write(f"{RESET}{SHOW_CURSOR}\n")
        sys.stdout.flush()


def _press_keys(table: _Table) -> None:
    while not table.over.is_set():
        if not select.select([sys.stdin], [], [], LOOK_S)[0]:
            continue
        for key in names_of(os.read(sys.stdin.fileno(), 64).decode(errors="ignore")):
            if key in QUIT:
                table.over.set()
                return
            if key in COMMANDS:
                table.link.send(COMMANDS[key])
            else:
                # A terminal does not tell when a key goes up.
                table.link.send("keys", down=[key])
                table.link.send("keys", down=[])


def names_of(text: str) -> list[str]:
    """What was pressed, as keyboard maps spell it."""
    found: list[str] = []
    while text:
        if text[:2] in ("\x1b[", "\x1bO") and text[2:3] in ARROWS:
            found.append(ARROWS[text[2]])
            text = text[3:]
            continue
        found.append(NAMED.get(text[0], text[0].upper()))
        text = text[1:]
    return found


def _show(client: Client, run: RunRecord, table: _Table, way: Way) -> None:
    try:
        with frames_of(client, run, Wishes(mode="single", fps=30, tile_width=320, budget=1.0)) as coming:
            size, last, drawn = Canvas(0, 0), None, table.state
            for run_frames in coming:
                if table.over.is_set() or table.state.get("status") == "ended":
                    return
                # The numbers may come after the picture that they belong to.
                if run_frames is not None or table.state is not drawn:
                    last, drawn = run_frames or last, table.state
                    size = _draw(last, table, way, size)
    except NothingToSee:
        _show_text(table)


def _draw(run_frames: RunFrames | None, table: _Table, way: Way, before: Canvas) -> Canvas:
    if run_frames is None:
        return before
    room = canvas(3)
    start = HOME if room == before else CLEAR + HOME
    [tile] = run_frames.head.tiles
    state = table.state
    if len(state.get("returns", {})) < 2:
        # Of this very picture; the state may be older or newer.
        state = {**state, "t": tile.episode_length, "returns": {"": tile.episode_return}}
    lines = [fit(clean(line), room.columns) for line in caption(state, table.said)]
    sys.stdout.write(start)
    draw(DRAW[way](run_frames.pixels, room))
    sys.stdout.write("\n".join(f"{line}{ESC}[K" for line in lines) + f"{ESC}[J")
    sys.stdout.flush()
    return room


def _show_text(table: _Table) -> None:
    """An environment that cannot be drawn: its numbers."""
    shown: Mapping[str, Any] = {}
    while not table.over.wait(LOOK_S) and table.state.get("status") != "ended":
        if table.state is not shown:
            shown = table.state
            seen = shown.get("observation", {})
            sys.stdout.write(f"{CLEAR}{HOME}{seen.get('numbers', seen)}\n" + "\n".join(caption(shown, table.said)))
            sys.stdout.flush()


def _standing(state: Mapping[str, Any]) -> str:
    """The return; with several seats that of each, and whose turn it is."""
    returns: Mapping[str, Any] = state.get("returns", {})
    if len(returns) < 2:
        return f"return {float(next(iter(returns.values()), 0)):g}"
    each = "  ".join(f"{seat} {float(total):g}" for seat, total in returns.items())
    return f"{each}  over" if state.get("over") else f"{each}  turn: {state.get('turn')}"


def caption(state: Mapping[str, Any], said: str) -> list[str]:
    """Where the game is, and what the keys mean."""
    names: list[str] = state.get("actions") or []
    known: Mapping[str, Any] = state.get("keys") or {}
    keys: Mapping[str, Any] = known.get("keys", {})
    meanings = [
        f"{SIGNS.get(key, key)} {names[action]}"
        for key, action in keys.items()
        if isinstance(action, int) and action < len(names) and not key.startswith(GAMEPAD)
    ]
    where = f"episode {state.get('episode', 1)}  step {state.get('t', 0)}  {_standing(state)}"
    return [f"{where}  {said or state.get('reason', '')}", f"{'   '.join(meanings)}   Backspace reset   q quit"]
