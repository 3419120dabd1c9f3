"""Notifications on the desktop of this machine: freedesktop.org's, over the user's session bus.

Spoken by `notify-send` or `gdbus`, whichever is there. Where there is no desktop, `why_none` says so in a sentence.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from mosaic.alerts.alert import Alert, NotTold
from mosaic.plain_text import plain_line

SWITCH = "MOSAIC_DESKTOP_ALERTS"
"""0 in the environment of the daemon: it shows none, whatever there is."""
BUS = "DBUS_SESSION_BUS_ADDRESS"
_NAME, _PATH = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"
LONGEST = 400


def why_none(variables: Mapping[str, str] = os.environ) -> str:
    """Why no notification can be shown here; empty if one can be tried."""
    if variables.get(SWITCH) == "0":
        return f"{SWITCH}=0 turns them off"
    if sys.platform == "darwin":
        return "on a Mac the window shows them"
    if _bus(variables) is None:
        return "there is no desktop here: no session bus (DBUS_SESSION_BUS_ADDRESS)"
    if _speaker() is None:
        return "neither notify-send nor gdbus is installed"
    return ""


def notify(alert: Alert, time_limit_s: float) -> None:
    """Return once the desktop has taken it; NotTold otherwise."""
    reason, bus, speaker = why_none(), _bus(os.environ), _speaker()
    if reason or bus is None or speaker is None:
        raise NotTold(reason)
    title, text = plain_line(f"MOSAIC: {alert.title}")[:LONGEST], plain_line(alert.text)[:LONGEST]
    # The body is markup.
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    try:
        ended = subprocess.run(
            _words(speaker, title, text),
            env={**os.environ, BUS: bus},
            timeout=time_limit_s,
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
    except subprocess.TimeoutExpired:
        raise NotTold("the desktop did not answer") from None
    except OSError as error:
        raise NotTold(f"{speaker} cannot be started: {error.strerror}") from error
    if ended.returncode:
        said = plain_line(ended.stderr.decode(errors="replace").strip())[-160:]
        raise NotTold(f"the desktop takes no notifications: {said or f'exit code {ended.returncode}'}")


def _words(speaker: str, title: str, text: str) -> list[str]:
    if Path(speaker).name == "notify-send":
        return [speaker, "--app-name=MOSAIC", "--", title, text]
    call = [speaker, "call", "--session", "--dest", _NAME, "--object-path", _PATH, "--method", f"{_NAME}.Notify"]
    # A text in quotes is a text, whatever is in it.
    return [*call, "MOSAIC", "0", "", _quoted(title), _quoted(text), "[]", "{}", "-1"]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _bus(variables: Mapping[str, str]) -> str | None:
    if variables.get(BUS):
        return variables[BUS]
    # Where the session of the user has it, also for a daemon that was started from elsewhere.
    for folder in (variables.get("XDG_RUNTIME_DIR", ""), f"/run/user/{os.getuid()}"):
        if folder and (Path(folder) / "bus").is_socket():
            return f"unix:path={folder}/bus"
    return None


def _speaker() -> str | None:
    return shutil.which("notify-send") or shutil.which("gdbus")
