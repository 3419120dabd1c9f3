"""Receivers: a real web server, real commands, and what goes wrong with them."""

import json
import os
import stat
import sys
from dataclasses import replace

import pytest

from mosaic.alerts import alert_journal, desktop, webhook
from mosaic.alerts.__main__ import main
from mosaic.alerts.alert import NotTold
from mosaic.alerts.alert_journal import AlertJournal
from mosaic.alerts.alert_settings import AlertSettings, AlertSettingsFile, Receiver, wishes_of
from mosaic.alerts.telling import tell
from mosaic.errors import ConfigError

WRITE = "import json, os, sys; json.dump([json.load(sys.stdin), dict(os.environ)], open(sys.argv[1], 'w'))"


def settings_of(home, **changes):
    return AlertSettingsFile(home).change(lambda now: replace(now, **changes))


def test_a_webhook_gets_every_fact_and_a_line_for_slack(home, server, alert):
    settings = AlertSettings(receivers={"hook": Receiver(url=server.url)})
    tell(home, settings, "hook", alert)
    [posted] = server.posted
    assert posted["text"] == "&lt;!channel&gt; walker: failed: NaN &amp; co"
    assert posted["id"] == alert.alert_id
    assert (posted["run_id"], posted["cause"], posted["global_step"]) == (alert.run_id, "failure", 512)


def test_a_server_that_hangs_is_left_after_the_time_limit(server, alert):
    server.may_answer.clear()
    with pytest.raises(NotTold, match="no answer within"):
        webhook.post(Receiver(url=server.url), alert, 0.2)


@pytest.mark.parametrize("status", [302, 404, 500])
def test_a_server_that_refuses_or_sends_elsewhere_is_not_followed(server, alert, status):
    server.status, server.headers = status, {"Location": "file:///etc/passwd"} if status == 302 else {}
    with pytest.raises(NotTold, match=f"answered {status}") as told:
        webhook.post(Receiver(url=server.url), alert, 60)
    assert len(server.posted) == 1
    assert "secret" not in str(told.value)


@pytest.mark.parametrize("url", ["http://example.com/x", "file:///etc/passwd", "ftp://127.0.0.1/", "https://", "x y"])
def test_only_https_and_this_machine_are_posted_to(home, url):
    with pytest.raises(ConfigError):
        AlertSettingsFile(home).webhook(url)


def test_a_command_gets_the_facts_and_no_keys(home, alert, tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_API_KEY", "0123456789")
    out = tmp_path / "out.json"
    receiver = AlertSettingsFile(home).command([sys.executable, "-c", WRITE, str(out)])
    tell(home, AlertSettings(receivers={"bell": receiver}), "bell", alert)
    facts, variables = json.loads(out.read_text())
    assert facts["what"] == variables["MOSAIC_ALERT_WHAT"] == "NaN & co"
    assert variables["MOSAIC_ALERT_CAUSE"] == "failure"
    assert "WANDB_API_KEY" not in variables


def test_a_command_that_fails_or_hangs_is_told_and_ended(home, alert):
    file = AlertSettingsFile(home)
    for words, limit_s, said in (
        ([sys.executable, "-c", "import sys; print('no paper'); sys.exit(4)"], 60.0, "exit code 4: no paper"),
        (["sleep", "1000"], 0.2, "took longer than 0.2 s and was ended"),
    ):
        settings = AlertSettings(time_limit_s=limit_s, receivers={"bell": file.command(words)})
        with pytest.raises(NotTold, match=said):
            tell(home, settings, "bell", alert)


def test_nothing_in_a_run_directory_may_be_the_command(home, alert):
    folder = home.run(alert.run_id).root
    folder.mkdir(parents=True)
    program = folder / "evil.sh"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    link = home.root / "link.sh"
    link.symlink_to(program)
    for path in (program, link):
        with pytest.raises(ConfigError, match="nothing there may run"):
            AlertSettingsFile(home).command([str(path)])
        with pytest.raises(NotTold, match="nothing there may run"):
            tell(home, AlertSettings(receivers={"x": Receiver(command=(str(path),))}), "x", alert)


def test_a_run_config_names_receivers_and_never_an_address_or_a_command(home, alert):
    run_dir = home.run(alert.run_id)
    run_dir.create()
    extras = {"alert_to": "hook,desktop", "alert_on": "nan", "alert_collapse": 0.25, "receivers": {"x": {}}}
    run_dir.config.write_text(json.dumps({"metadata": {"worker": {"config": {"extras": extras}}}}))
    wishes = wishes_of(run_dir)
    settings = AlertSettings()
    assert settings.receivers_for(wishes) == ("hook", "desktop")
    assert settings.causes_for(wishes) == ("nan",)
    assert settings.thresholds_for(wishes).collapse == 0.25
    with pytest.raises(NotTold, match="'hook' is not a receiver any more"):
        tell(home, settings, "hook", alert)
    for damaged in (b"{", b"[]", b'{"metadata": 3}', b'{"metadata":{"worker":{"config":{"extras":{"alert_on":[]}}}}}'):
        run_dir.config.write_bytes(damaged)
        assert settings.receivers_for(wishes_of(run_dir)) == ("desktop",)


def test_settings_that_others_may_write_are_not_followed(home):
    file = AlertSettingsFile(home)
    settings_of(home, to=())
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    file.path.chmod(0o666)
    with pytest.raises(ConfigError, match="chmod 600"):
        file.read()


def told_by_process(home, monkeypatch):
    """`python -m mosaic.alerts`, in this process."""
    monkeypatch.setattr(sys, "argv", ["mosaic.alerts", str(home.root)])
    monkeypatch.setattr(os, "nice", lambda _: 0)
    assert main() == 0
    journal = AlertJournal(home)
    journal.refresh()
    return journal


def test_a_webhook_is_tried_again_and_a_failure_is_kept(home, server, alert, monkeypatch):
    file = AlertSettingsFile(home)
    file.add("hook", Receiver(url=server.url))
    file.add("bell", file.command(["false"]))
    settings_of(home, tries=3, retry_s=0.0)
    server.status = 503
    AlertJournal(home).append(alert_journal.alert_line(alert))
    entry = told_by_process(home, monkeypatch).entries[alert.alert_id]
    assert [one["id"] for one in server.posted] == [alert.alert_id] * 3
    assert {to: (one.outcome, one.tries) for to, one in entry.deliveries.items()} == {
        "hook": ("failed", 3),
        "bell": ("failed", 1),
    }
    assert "503" in entry.deliveries["hook"].reason
    assert "secret" not in home.alerts.read_text()
    told_by_process(home, monkeypatch)
    assert len(server.posted) == 3


def test_what_a_killed_process_had_begun_is_finished_but_no_command_runs_twice(home, server, alert, monkeypatch):
    file = AlertSettingsFile(home)
    file.add("hook", Receiver(url=server.url))
    file.add("bell", file.command(["false"]))
    begun = [alert_journal.tried(alert.alert_id, to) for to in ("hook", "bell")]
    AlertJournal(home).append(alert_journal.alert_line(alert), *begun)
    deliveries = told_by_process(home, monkeypatch).entries[alert.alert_id].deliveries
    assert deliveries["hook"].outcome == "sent"
    assert len(server.posted) == 1
    assert deliveries["bell"].tries == 1
    assert "not known" in deliveries["bell"].reason


def test_half_a_line_of_a_power_cut_hides_no_other(home, alert):
    journal = AlertJournal(home)
    journal.append(alert_journal.alert_line(alert))
    with home.alerts.open("ab") as file:
        file.write(b'{"kind": "sent", "alert_')
    journal.append(alert_journal.sent(alert.alert_id, "hook"))
    again = AlertJournal(home)
    again.refresh()
    assert again.entries[alert.alert_id].deliveries["hook"].outcome == "sent"


@pytest.mark.parametrize("line", ['{"kind": "begun", "run_id": "x", "attempt": 1e999}', "[" * 100_000, "7", "{}"])
def test_a_damaged_line_hides_no_other(home, alert, line):
    journal = AlertJournal(home)
    journal.append(alert_journal.alert_line(alert))
    with home.alerts.open("a") as file:
        file.write(f"{line}\n")
    journal.append(alert_journal.sent(alert.alert_id, "hook"))
    again = AlertJournal(home)
    again.refresh()
    assert again.entries[alert.alert_id].deliveries["hook"].outcome == "sent"


def test_a_large_journal_keeps_the_newest_and_what_came_of_them(home, alert, monkeypatch):
    monkeypatch.setattr(alert_journal, "LARGE_BYTES", 1000)
    monkeypatch.setattr(alert_journal, "KEPT", 2)
    journal = AlertJournal(home)
    for number in range(1, 6):
        one = replace(alert, number=number, alert_id=f"{number}")
        journal.append(alert_journal.alert_line(one), alert_journal.sent(one.alert_id, "hook"))
    journal.append(alert_journal.begun(alert.run_id, 2))
    journal.shorten()
    assert list(journal.entries) == ["4", "5"]
    assert journal.entries["5"].deliveries["hook"].outcome == "sent"
    assert journal.open == {alert.run_id: 2}
    assert journal.next_number() == 6


def test_where_there_is_no_desktop_that_is_said(alert, monkeypatch):
    assert "DBUS_SESSION_BUS_ADDRESS" in desktop.why_none({"XDG_RUNTIME_DIR": "/nowhere"})
    assert "=0 turns them off" in desktop.why_none({desktop.SWITCH: "0"})
    monkeypatch.setenv(desktop.SWITCH, "0")
    with pytest.raises(NotTold, match="turns them off"):
        desktop.notify(alert, 60)


def test_a_notification_says_the_text_as_text(alert, monkeypatch, tmp_path):
    """By the program that most desktops have, here one that writes down what it is asked for."""
    said = tmp_path / "said"
    program = tmp_path / "notify-send"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {said}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv(desktop.BUS, "unix:path=/nowhere")
    monkeypatch.delenv(desktop.SWITCH, raising=False)
    desktop.notify(alert, 60)
    assert said.read_text().splitlines()[-2:] == ["MOSAIC: <!channel> walker: failed", "NaN &amp; co"]
