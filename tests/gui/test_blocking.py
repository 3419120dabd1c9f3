"""Nothing that a person does waits for the daemon: not even one that hangs."""

import os
import signal
import time
from collections.abc import Callable

import pytest

from mosaic.rpc.client import Client
from mosaic.spec.run_dir import Home

from .conftest import Show, Shown
from .daemon import Daemon

HUNG_S = 4.0
MOST_S = 0.1
TRIES = 3
"""On a busy machine another thread may hold the interpreter for long, once; a call that blocks does so every time."""


def do_everything(shown: Shown, run_id: str) -> None:
    """Whatever asks the daemon for something."""
    window = shown.window
    for title in window.bench.docks:
        if title != "TensorBoard":  # starts a process of its own, tested elsewhere
            window.bench.bring_up(title)
            shown.application.processEvents()
    shown.studio.select([])
    shown.studio.select([run_id])
    window.menus.on_runs["Pause"][1].trigger()
    window.actions_on_runs.resume(run_id, 5)
    window.form.dry_run.click()
    window.form.start.click()
    window.form.clone(run_id)
    window.menus.open_palette().close()


@pytest.mark.quiet
def test_a_hung_daemon_blocks_nothing(show: Show, home: Home, start_daemon: Callable[..., Daemon]) -> None:
    daemon = start_daemon(home)
    assert daemon.process is not None
    with Client(home=home, start=False) as client:
        run_id = client.train("ppo", env_id="CartPole-v1", total_timesteps=10**9)[0].run_id
    shown = show(home)
    shown.until(lambda: (run := shown.studio.runs.get(run_id)) and run.state == "running", "running")
    shown.until(lambda: shown.window.form.form.fields, "the form")
    do_everything(shown, run_id)  # everything is made and laid out by now
    for _ in range(TRIES):
        os.kill(daemon.process.pid, signal.SIGSTOP)
        try:
            shown.watch_blocks()
            do_everything(shown, run_id)
            end = time.monotonic() + HUNG_S
            shown.until(lambda end=end: time.monotonic() > end)
            stall_s = shown.longest_stall_s
        finally:
            os.kill(daemon.process.pid, signal.SIGCONT)
        if stall_s < MOST_S:
            break
    assert stall_s < MOST_S
    shown.until(lambda: shown.studio.link.state == "connected", "the daemon to be back")
