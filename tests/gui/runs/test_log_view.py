"""The log: what a terminal would show, many lines, and a real run's output."""

import pytest
from PySide6.QtCore import QEventLoop, QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton

from mosaic.gui.models.daemon.news import LogLine
from mosaic.gui.models.runs import log_model
from mosaic.gui.models.runs.log_model import SLICE_S, STEP, LogModel
from mosaic.gui.models.runs.terminal_text import plain
from mosaic.gui.tabs.log import LogTab
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.runs.log_view import LogView
from mosaic.spec.run_record import RunRecord

from ..conftest import Show, Shown

MANY = 100_000


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("plain text, Grüße, 日本", "plain text, Grüße, 日本"),
        ("\x1b[1;31merror:\x1b[0m no \x1b[38;2;1;2;3mroom\x1b[m", "error: no room"),
        ("\x1b]0;title\x07after \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "after link"),
        ("\x1b(Bcharset \x1bM\x1b=", "charset"),
        ("  5%|#    |\r 50%|##   |\r100%|#####|", "100%|#####|"),
        ("a long first state\rshort", "shortg first state"),
        ("a long first state\r\x1b[Kshort", "short"),
        ("done\r\n".rstrip("\n"), "done"),
        ("abc\b\bX", "aXc"),
        ("a\tb", "a       b"),
        ("ten thousand " + "".join(f"\r{n}%" for n in range(10_000)), "9999%"),
        ("bell\x07 null\x00 unfinished \x1b[", "bell null unfinished"),
    ],
)
def test_a_line_is_what_a_terminal_shows_of_it(written: str, seen: str) -> None:
    assert plain(written) == seen


def shown_texts(log: LogModel) -> list[str]:
    return [log.line(row).text for row in range(log.rowCount())]


def test_levels_sources_and_text_narrow_the_lines(application: QApplication) -> None:
    log = LogModel()
    log.append(
        [
            LogLine("stdout", "Hello"),
            LogLine("stderr", "careful", "WARN"),
            LogLine("events", "hello again", "INFO"),
            LogLine("stderr", "broken", "ERR"),
        ]
    )
    assert shown_texts(log) == ["Hello", "careful", "hello again", "broken"]
    log.filter(level="WARN")
    assert shown_texts(log) == ["careful", "broken"]
    log.filter(level="ERR")
    assert shown_texts(log) == ["broken"]
    log.filter(level="", text="HELLO")
    assert shown_texts(log) == ["Hello", "hello again"]
    log.filter(text="", sources=["events"])
    assert shown_texts(log) == ["hello again"]
    assert log.total == 4


def process(application: QApplication) -> None:
    application.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 5)


class Clock:
    """Goes on by this much whenever it is looked at: so each look stands for that much work."""

    def __init__(self, step_s: float) -> None:
        self.now_s, self._step_s = 0.0, step_s

    def monotonic(self) -> float:
        self.now_s += self._step_s
        return self.now_s


def test_many_lines_are_searched_a_few_thousand_at_a_time(
    application: QApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = 4
    monkeypatch.setattr(log_model, "time", Clock(SLICE_S / looks))
    log, theme = LogModel(), Theme(application)
    view = LogView(log, theme)
    view.resize(900, 300)
    view.show()
    lines = [
        LogLine("stdout", f"line {number} of many, global_step={number * 7}", "WARN" if number % 1000 == 0 else "")
        for number in range(MANY)
    ]
    inserted: list[int] = []
    log.rowsInserted.connect(lambda _, first, last: inserted.append(last - first + 1))
    painted: list[int] = []
    right = LogModel.line
    monkeypatch.setattr(LogModel, "line", lambda self, row: painted.append(row) or right(self, row))

    def search() -> int:
        """Turns of the event loop that it took."""
        turns = 0
        while log.searching:
            application.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 0)
            turns += 1
        return turns

    log.reset(lines[: MANY // 2])
    search()
    for first in range(MANY // 2, MANY, 10_000):
        log.append(lines[first : first + 10_000])
        application.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 0)
    search()
    assert log.rowCount() == log.total == MANY == sum(inserted)
    assert max(inserted) <= looks * STEP
    assert view.verticalScrollBar().value() == view.verticalScrollBar().maximum()
    application.processEvents()
    assert len(painted) < MANY // 10, "only lines that are seen are asked for"
    log.filter(text="GLOBAL_STEP=699993")
    assert search() >= MANY // (looks * STEP) - 1, "in slices, with other events between them"
    assert shown_texts(log) == ["line 99999 of many, global_step=699993"]
    log.filter(text="", level="WARN")
    search()
    assert log.rowCount() == 100
    view.deleteLater()


def test_lines_are_selected_and_copied(application: QApplication) -> None:
    log = LogModel()
    view = LogView(log, Theme(application))
    view.resize(900, 300)
    view.show()
    log.append([LogLine("stdout", f"line {number}") for number in range(100)])
    process(application)
    assert view.grab().width() == 900
    QTest.keyClick(view, Qt.Key.Key_Home)
    height = view.viewport().height() // view.verticalScrollBar().pageStep()
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(50, 2 * height + 5))
    QTest.keyClick(view, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClick(view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "line 2\nline 3"
    QTest.keyClick(view, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    assert len(view.selected) == 100
    view.deleteLater()


def log_tab(shown: Shown) -> LogTab:
    tab = shown.window.tabs["Log"]
    assert isinstance(tab, LogTab)
    return tab


def test_a_real_run_tells_what_it_printed_and_did(show: Show, trained: RunRecord) -> None:
    shown = show()
    shown.until(lambda: shown.studio.runs.get(trained.run_id) is not None)
    shown.window.runs.select([trained.run_id])
    log, tab = shown.studio.log, log_tab(shown)
    shown.until(lambda: any("finished" in text for text in shown_texts(log)), "the end of the run in its log")
    before = log.rowCount()
    tab.level.choose("errors")
    assert log.rowCount() == 0
    tab.level.choose("all")
    assert log.rowCount() == before
    next(chip for chip in tab.findChildren(QPushButton) if chip.text() == "events").click()
    assert log.rowCount() < before


def test_the_end_is_followed_until_the_user_goes_up(show: Show, trained: RunRecord) -> None:
    shown = show()
    shown.until(lambda: shown.studio.log.rowCount() > 0)
    tab = log_tab(shown)
    shown.studio.log.append([LogLine("stdout", f"line {number}") for number in range(500)])
    bar = tab.view.verticalScrollBar()
    assert bar.value() == bar.maximum() > 0
    QTest.keyClick(tab.view, Qt.Key.Key_Home)
    assert not tab.follow.isChecked()
    shown.studio.log.append([LogLine("stdout", "more")])
    assert bar.value() == 0
    tab.follow.click()
    assert bar.value() == bar.maximum()
