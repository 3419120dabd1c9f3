"""Alerts in the window: counted, told once, listed with who was told, and a key press away from their run."""

import time

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from mosaic.alerts import alert_journal
from mosaic.alerts.alert import Alert
from mosaic.alerts.alert_journal import AlertJournal
from mosaic.gui.models.runs.alerts_model import Alerts
from mosaic.rpc.alert_news import AlertDelivery, AlertNews
from mosaic.spec.run_dir import Home

from ..conftest import MakeRun, Show


def alert(run_id: str, number: int, **changes: object) -> Alert:
    facts = {"cause": "collapse", "title": "walker: the return has collapsed", "text": "from 400 to 20"}
    facts |= {"alert_id": f"{run_id}-{number}", "number": number, "run_id": run_id, "attempt": 1, "time": 1.0}
    return Alert(**facts | changes)  # pyright: ignore[reportArgumentType]


def news(number: int, when: float, *deliveries: AlertDelivery) -> AlertNews:
    return AlertNews(
        alert_id=f"a{number}",
        number=number,
        run_id="r",
        attempt=1,
        cause="nan",
        title="t: not a number",
        text="x",
        time=when,
        global_step=1,
        revision=number,
        deliveries=deliveries,
    )


def test_what_happens_now_is_told_once_and_what_happened_before_is_counted():
    alerts, came, undelivered = Alerts(), list[int](), list[int]()
    alerts.came.connect(lambda one: came.append(one.number))
    alerts.undelivered.connect(lambda one: undelivered.append(one.number))
    now = time.time() + 60
    alerts.take([news(1, 0.0), news(2, now)])
    failed = AlertDelivery(to="desktop", outcome="failed", tries=0, reason="no desktop")
    alerts.take([news(2, now, failed)])
    alerts.take([news(2, now, failed)])
    assert (came, undelivered, alerts.unseen) == ([2], [2], 2)
    alerts.see_all()
    assert alerts.unseen == 0
    assert alerts.newest_first[0].deliveries[0].spoken == "desktop could not be told: no desktop"


def test_the_bell_counts_and_the_list_leads_to_the_run(home: Home, make_run: MakeRun, show: Show):
    run = make_run(label="walker")
    run.write_finished()
    run.publish()
    told = alert(run.run_id, 1, to=("team",))
    failed = alert_journal.failed(told.alert_id, "team", "no answer", final=True)
    AlertJournal(home).append(alert_journal.alert_line(told), failed)
    shown = show(home)
    window = shown.window
    shown.until(lambda: "team" in str(shown.studio.alerts.newest_first), "the alert")
    assert "new alert" in window.status.alerts.toolTip()
    control, shift = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
    QTest.keyClick(window, Qt.Key.Key_N, control | shift)
    shown.until(lambda: window.alerts is not None, "the list")
    dialog = window.alerts
    assert dialog is not None
    rows = [dialog.tree.topLevelItem(place) for place in range(dialog.tree.topLevelItemCount())]
    [oldest] = [row for row in rows if row is not None and row.text(3) == "from 400 to 20"]
    dialog.tree.setCurrentItem(oldest)
    assert "team could not be told: no answer" in dialog.whole.text()
    assert window.status.alerts.text() == ""
    shown.until(lambda: shown.studio.runs.get(run.run_id) is not None, "the run")
    QTest.keyClick(dialog.tree, Qt.Key.Key_Return)
    shown.until(lambda: shown.studio.current == run.run_id and window.alerts is None, "the run in front")
