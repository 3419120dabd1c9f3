"""Nothing that a person does waits for the daemon: not even one that hangs."""

import os
import signal
from collections.abc import Callable

from mosaic.rpc.client import Client
from mosaic.spec.run_dir import Home

from .conftest import Show, Shown
from .real_daemon import Daemon


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


def test_a_hung_daemon_blocks_nothing(show: Show, home: Home, start_daemon: Callable[..., Daemon]) -> None:
    daemon = start_daemon(home)
    assert daemon.process is not None
    with Client(home=home, start=False) as client:
        run_id = client.train("ppo", env_id="resting:Resting-v0", total_timesteps=10**9)[0].run_id
    shown = show(home)
    shown.until(lambda: (run := shown.studio.runs.get(run_id)) and run.state == "running", "running")
    shown.until(lambda: shown.window.form.form.fields, "the form")
    do_everything(shown, run_id)  # everything is made and laid out by now
    os.kill(daemon.process.pid, signal.SIGSTOP)
    try:
        with shown.never_waiting():
            do_everything(shown, run_id)
        shown.until(lambda: shown.studio.link.state == "lost", "the silence to be noticed")
    finally:
        os.kill(daemon.process.pid, signal.SIGCONT)
    shown.until(lambda: shown.studio.link.state == "connected", "the daemon to be back")
