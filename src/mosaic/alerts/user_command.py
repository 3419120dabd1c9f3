"""Telling a command of the user's of an alert: the facts in its environment and, as JSON, on its stdin; no shell.

It runs as the user, without the keys of trackers, in the user's home folder, in a session of its own that is ended as a
whole once the time limit is over. Its words are those of `alerts.json`: nothing of a run is ever one of them.
"""

import contextlib
import json
import os
import signal
import subprocess
from pathlib import Path

from mosaic.alerts.alert import Alert, NotTold
from mosaic.alerts.alert_settings import Receiver, refuse_runs
from mosaic.alerts.webhook import content
from mosaic.errors import MosaicError
from mosaic.plain_text import plain_line
from mosaic.spec.files.shared_files import scratch_file
from mosaic.spec.processes import secret_keys
from mosaic.spec.run_dir import Home

PREFIX = "MOSAIC_ALERT_"
SHOWN = 200
"""Characters of its output that a failure quotes: the last ones."""


def run(home: Home, receiver: Receiver, alert: Alert, time_limit_s: float) -> None:
    """Return once it has ended with 0; NotTold otherwise."""
    program = Path(receiver.command[0])
    try:
        refuse_runs(home, program)
    except MosaicError as error:
        raise NotTold(error.sentence) from error
    facts = content(alert)
    variables = {f"{PREFIX}{name.upper()}": plain_line(str(value)) for name, value in facts.items()}
    with scratch_file() as out, scratch_file() as given:
        given.write(json.dumps(facts).encode())
        given.seek(0)
        try:
            process = subprocess.Popen(
                receiver.command,
                env={**secret_keys.without(os.environ), **variables},
                cwd=Path.home(),
                stdin=given,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        except OSError as error:
            raise NotTold(f"{program} cannot be started: {error.strerror}") from error
        try:
            code = process.wait(time_limit_s)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise NotTold(f"{program.name} took longer than {time_limit_s:g} s and was ended") from None
        if code:
            raise NotTold(
                f"{program.name} ended with exit code {code}{_quoted(out.seek(0, os.SEEK_END), out.fileno())}"
            )


def _quoted(size: int, descriptor: int) -> str:
    last = os.pread(descriptor, 4 * SHOWN, max(size - 4 * SHOWN, 0)).decode(errors="replace").strip()
    return f": {plain_line(last)[-SHOWN:]}" if last else ""
