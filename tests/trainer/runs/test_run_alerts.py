"""Alerts of a daemon: once for each cause, whatever is killed; nothing of it reaches the supervisor or a run."""

import contextlib
import json
import sys
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import psutil
import pytest
from run_directories import BODIES, line_of

from mosaic.alerts import alert_journal
from mosaic.alerts.alert_journal import AlertJournal
from mosaic.alerts.alert_settings import AlertSettingsFile, Receiver
from mosaic.spec import run_record
from mosaic.spec.run_dir import new_run_id
from mosaic.spec.run_record import Placed
from mosaic.spec.states import RunState

FALLEN = [*(float(place) for place in range(300)), *([0.0] * 250)]
COUNT = "import sys; open(sys.argv[1], 'a').write('x')"


def write_run(home, end="run.failed", returns=(), extras=None):
    """A run whose worker is gone when the daemon looks; it has said how it ended."""
    run_dir = home.run(new_run_id())
    run_dir.create()
    started = BODIES["run.started"] | {"total_timesteps": len(returns) or 400}
    bodies = [("run.started", started)]
    bodies += [
        ("episode", BODIES["episode"] | {"global_step": place, "episodic_return": value})
        for place, value in enumerate(returns, start=1)
    ]
    bodies.append((end, BODIES[end]))
    lines = [line_of(seq, kind, body) for seq, (kind, body) in enumerate(bodies, start=1)]
    run_dir.events.write_bytes(b"\n".join(lines) + b"\n")
    document = {"metadata": {"worker": {"config": {"extras": extras or {}}}}}
    run_dir.config.write_text(json.dumps(document))
    about = {"label": "walker", "algo": "ppo", "env_id": "CartPole-v1", "attempt": 1}
    run_record.write(run_dir, Placed(run_id=run_dir.run_id, state=RunState.RUNNING, **about))
    return run_dir.run_id


def alerts_of(home, run_id):
    journal = AlertJournal(home)
    journal.refresh()
    return {entry.alert.cause: entry for entry in journal.entries.values() if entry.alert.run_id == run_id}


def ended(daemon, kit, run_id):
    """The alerts of a run, once its end was dealt with and all were told."""

    def look():
        journal = AlertJournal(daemon.home)
        journal.refresh()
        over = b'"kind": "over", "run_id": "%s"' % run_id.encode() in daemon.home.alerts.read_bytes()
        return over and not journal.pending()

    kit.eventually(lambda: daemon.home.alerts.exists() and look(), what="the end of the alerts")
    return alerts_of(daemon.home, run_id)


def journal_text(daemon):
    return daemon.home.alerts.read_text() if daemon.home.alerts.exists() else ""


class Hanging(ThreadingHTTPServer):
    """Takes a request and answers once it may."""

    daemon_threads = True
    block_on_close = False

    def __init__(self):
        super().__init__(("127.0.0.1", 0), HangingAnswers)
        self.posted, self.may_answer = [], threading.Event()


class HangingAnswers(BaseHTTPRequestHandler):
    def do_POST(self):
        self.server.posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.server.may_answer.wait()
        with contextlib.suppress(OSError):
            self.send_response(200)
            self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    made = Hanging()
    threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True).start()
    yield made
    made.may_answer.set()
    made.shutdown()
    made.server_close()


def tellers(home):
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if "mosaic.alerts" in words and str(home.root) in words:
            found.append(process)
    return found


def test_kills_of_daemon_and_teller_lose_and_double_no_alert(daemons, kit, server, tmp_path):
    daemon = daemons("--no-warm")
    file = AlertSettingsFile(daemon.home)
    file.add("hook", Receiver(url=f"http://127.0.0.1:{server.server_address[1]}/"))
    count = tmp_path / "count"
    file.add("bell", file.command([sys.executable, "-c", COUNT, str(count)]))
    file.change(lambda now: replace(now, to=("hook", "bell"), on=("failure", "collapse"), time_limit_s=600.0))
    failed = write_run(daemon.home)
    fallen = write_run(daemon.home, "run.completed", returns=FALLEN, extras={"alert_on": "collapse,end"})
    daemon.start()
    kit.eventually(lambda: server.posted, what="the server to be told")
    # It hangs: the runs are concluded all the same, and the other receiver is told.
    assert daemon.until(failed, "failed").state == "failed"
    assert daemon.until(fallen, "finished").state == "finished"
    kit.eventually(lambda: journal_text(daemon).count('"kind": "sent"') == 3, what="the command, once an alert")
    assert count.read_text() == "xxx"
    daemon.kill()
    for process in tellers(daemon.home):
        process.kill()
        process.wait()
    server.may_answer.set()
    daemon.start()
    assert set(ended(daemon, kit, failed)) == {"failure"}
    found = ended(daemon, kit, fallen)
    assert set(found) == {"collapse", "end"}
    assert all(one.outcome == "sent" for entry in found.values() for one in entry.deliveries.values())
    told = [one["id"] for one in server.posted]
    # The one that hung is told again under its id: it cannot be known whether it had arrived.
    assert len(set(told)) == 3
    assert len(told) == 4
    assert count.read_text() == "xxx"
    before = daemon.home.alerts.read_bytes()
    daemon.restart()
    again = write_run(daemon.home, "run.completed", extras={"alert_on": "none"})
    assert ended(daemon, kit, again) == {}
    assert daemon.home.alerts.read_bytes().startswith(before)
    assert len(server.posted) == 4
    stream = daemon.client.watch_alerts()
    heard = [next(stream) for _ in range(3)]
    stream.stop()
    assert {one.cause for one in heard} == {"failure", "collapse", "end"}
    assert {to.spoken for one in heard for to in one.deliveries} == {"hook was told", "bell was told"}


def test_an_end_that_a_killed_daemon_could_not_say_is_said_by_the_next(daemons, kit):
    daemon = daemons("--no-warm")
    run_id = write_run(daemon.home)
    # As it is after a kill between the end of the run and the line of its alert.
    AlertJournal(daemon.home).append(alert_journal.begun(run_id, 1))
    run_dir = daemon.home.run(run_id)
    placed = run_record.read(run_dir)
    run_record.write(run_dir, replace(placed, state=RunState.FAILED, reason="it failed"))
    daemon.start()
    entry = ended(daemon, kit, run_id)["failure"]
    assert entry.alert.text == "it failed"
    assert "MOSAIC_DESKTOP_ALERTS=0" in entry.deliveries["desktop"].reason
    assert tellers(daemon.home) == []


def test_unusable_settings_and_an_imported_run_bring_no_command(daemons, kit):
    daemon = daemons("--no-warm")
    daemon.home.alert_settings.write_text("{")
    daemon.home.alert_settings.chmod(0o600)
    run_id = write_run(daemon.home, extras={"alert_to": "bell", "receivers": {"bell": {"command": ["/bin/sh"]}}})
    daemon.start()
    assert daemon.until(run_id, "failed").state == "failed"
    entry = ended(daemon, kit, run_id)["failure"]
    assert entry.deliveries["bell"].outcome == "failed"
