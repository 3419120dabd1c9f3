"""The log: what a terminal would show, many lines, and a real run's output."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton

from mosaic.gui.models.daemon.log_request import LogFound, LogPage, LogRequest
from mosaic.gui.models.runs.log_model import MOST_LINES, MOST_TEXT, PAGE, LogModel
from mosaic.gui.tabs.log import LogTab
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.runs.log_view import LogView
from mosaic.spec.logs.log_line import Level, LogLine, LogPlace
from mosaic.spec.logs.terminal_text import plain
from mosaic.spec.run_dir import Home
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import RunState

from ..conftest import STARTED, MakeRun, Show, Shown
from ..event_loop import run_until


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


def line(number: int, text: str = "", *, level: Level = "") -> LogLine:
    """Ten bytes of stdout."""
    place, after = LogPlace(stdout=10 * number), LogPlace(stdout=10 * number + 10)
    return LogLine("stdout", text or f"line {number}", level, 1.7e9 + number, place, after)


class Answering:
    """A daemon with a log of this many lines of ten bytes, which answers what a model asks."""

    def __init__(self, log: LogModel, lines: int) -> None:
        self.lines, self.asked = lines, list[LogRequest]()
        self.log = log
        self.waiting: LogRequest | None = None
        log.asked.connect(self._take)

    def _take(self, request: LogRequest) -> None:
        self.asked.append(request)
        self.waiting = request

    def answer(self) -> None:
        while (request := self.waiting) is not None:
            self.waiting = None
            self.log.take(self._answer(request))

    def _answer(self, request: LogRequest) -> LogPage | LogFound:
        total = self.lines * 10
        if request.finds:
            number = int(request.filter.text.removeprefix("line "))
            place = LogPlace(stdout=total)
            return LogFound(request, line(number), place, over=False, total_bytes=total)
        at = {
            "end": self.lines,
            "part": int(request.part * self.lines),
            "line": request.line.place.stdout // 10 if request.line else 0,
        }.get(request.where, request.place.stdout // 10)
        first, last = max(at - request.before, 0), min(at + request.after, self.lines)
        return LogPage(
            request,
            [line(number) for number in range(first, last)],
            at - first,
            LogPlace(stdout=10 * first),
            LogPlace(stdout=10 * last),
            is_start=first == 0,
            is_end=last == self.lines,
            total_bytes=total,
        )


@pytest.fixture
def long_log(application: QApplication) -> Iterator[tuple[LogModel, LogView, Answering]]:
    log = LogModel()
    view = LogView(log, Theme(application))
    view.resize(900, 300)
    view.show()
    answering = Answering(log, 1_000_000)
    log.open(RUN)
    answering.answer()
    yield log, view, answering
    view.deleteLater()


RUN = "01K9CG05J5Y0FFQMT1T920EZK2"
LongLog = tuple[LogModel, LogView, Answering]


def test_a_long_log_opens_at_its_end_with_a_page(long_log: LongLog) -> None:
    log, view, answering = long_log
    assert [request.where for request in answering.asked] == ["end"]
    assert shown_texts(log)[-1] == "line 999999"
    assert log.rowCount() == PAGE
    assert view.is_at_end
    assert view.verticalScrollBar().value() == view.verticalScrollBar().maximum()


def test_what_is_kept_of_a_long_log_is_bounded_both_ways(long_log: LongLog) -> None:
    log, view, answering = long_log
    view.follow(False)
    held: list[int] = []
    for key, pages in ((Qt.Key.Key_PageUp, 600), (Qt.Key.Key_PageDown, 650)):
        for _ in range(pages):
            before = view.line_beside()
            QTest.keyClick(view, key)
            answering.answer()
            after = view.line_beside()
            assert before is not None
            assert after is not None
            assert abs(after.place.stdout - before.place.stdout) // 10 <= view.viewport().height() // 10
            held.append(log.rowCount())
        numbers = [each.place.stdout // 10 for each in (log.line(row) for row in range(log.rowCount()))]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), "without a gap"
    assert max(held) <= MOST_LINES + PAGE
    assert view.is_at_end


def test_the_scroll_bar_of_a_long_log_stands_for_all_of_it(long_log: LongLog) -> None:
    log, view, answering = long_log
    bar = view.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    answering.answer()
    assert 499_000 < log.line(view.top).place.stdout / 10 < 501_000
    assert abs(bar.value() - bar.maximum() // 2) < bar.maximum() // 100
    QTest.keyClick(view, Qt.Key.Key_Home)
    answering.answer()
    assert log.line(view.top).text == "line 0"
    QTest.keyClick(view, Qt.Key.Key_End)
    answering.answer()
    assert shown_texts(log)[-1] == "line 999999"


def test_what_is_looked_for_is_jumped_to_and_selected(long_log: LongLog) -> None:
    log, view, answering = long_log
    log.look_for("line 4711")
    log.to_next(view.place_beside(backwards=True), backwards=True)
    answering.answer()
    assert [log.line(row).text for row in view.selected] == ["line 4711"]
    assert view.top <= view.selected[0] < view.top + view.verticalScrollBar().pageStep() or view.top == 0
    assert not view.follows or log.follows
    assert view.grab().width() == 900


def test_an_answer_to_what_is_not_waited_for_any_more_is_dropped(long_log: LongLog) -> None:
    log, _, answering = long_log
    log.to_part(0.1)
    late = answering.waiting
    assert late is not None
    log.to_end()
    log.take(answering._answer(late))  # pyright: ignore[reportPrivateUsage]
    assert shown_texts(log)[-1] == "line 999999"


def test_a_log_that_grows_is_looked_at_again_while_its_run_lives(long_log: LongLog) -> None:
    log, view, answering = long_log
    log.heard_of(RunRecord(run_id=RUN, state=RunState.RUNNING, revision=1))
    answering.answer()
    answering.lines += 3
    run_until(lambda: answering.waiting is not None, "the next look")
    answering.answer()
    assert shown_texts(log)[-1] == "line 1000002"
    assert view.is_at_end
    asked = len(answering.asked)
    log.heard_of(RunRecord(run_id=RUN, state=RunState.FINISHED, revision=2))
    answering.answer()
    assert len(answering.asked) == asked + 1, "once more, for its last words"


def test_long_lines_count_too(application: QApplication) -> None:
    log = LogModel()
    log.open(RUN)
    asked: list[LogRequest] = []
    log.asked.connect(asked.append)
    for first in range(0, 4000, PAGE):
        log.to_end() if not asked else log.more_after()
        lines = [line(number, "x" * 4000) for number in range(first, first + PAGE)]
        last = lines[-1].after
        log.take(
            LogPage(asked[-1], lines, 0, lines[0].place, last, is_start=not first, is_end=False, total_bytes=10**6)
        )
        assert log.rowCount() * 4000 <= MOST_TEXT + PAGE * 4000
    assert not log.is_start


def test_lines_are_selected_and_copied(application: QApplication) -> None:
    log = LogModel()
    view = LogView(log, Theme(application))
    view.resize(900, 300)
    view.show()
    answering = Answering(log, 100)
    log.open(RUN)
    answering.answer()
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
    lines = [log.line(row) for row in range(before)]
    assert all(line.time for line in lines), "every line has a time"
    assert [line.time for line in lines] == sorted(line.time for line in lines)
    assert {line.source for line in lines} >= {"stdout", "events"}
    assert not [line.text for line in lines if "[debug" in line.text]
    shown.until(lambda: tab.count.text() == f"{before:,} lines", "the count")
    tab.level.choose("errors")
    shown.until(lambda: log.rowCount() == 0 and tab.count.text() == f"0 of {before:,} lines")
    tab.level.choose("all")
    shown.until(lambda: log.rowCount() == before)
    next(chip for chip in tab.findChildren(QPushButton) if chip.text() == "events").click()
    shown.until(lambda: 0 < log.rowCount() < before)
    next(chip for chip in tab.findChildren(QPushButton) if chip.text() == "events").click()
    shown.until(lambda: log.rowCount() == before)
    returns = [line for line in lines if "episodic_return" in line.text]
    tab.search.setText("EPISODIC_RETURN")
    shown.until(lambda: tab.count.text() == f"{len(returns):,} of {before:,} lines", "what was found")
    tab.only.click()
    shown.until(lambda: shown_texts(log) == [line.text for line in returns])
    tab.only.click()
    shown.until(lambda: log.rowCount() == before)
    tab.search.setText("finished")
    QTest.keyClick(tab.search, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    shown.until(lambda: ["finished" in log.line(row).text for row in tab.view.selected] == [True])
    QTest.keyClick(tab.search, Qt.Key.Key_Return)
    shown.until(lambda: tab.count.text().startswith("none below"))
    # As a traceback that is pasted: more than the daemon looks for.
    tab.search.setText("finished" * 1000)
    shown.until(lambda: tab.count.text() == f"0 of {before:,} lines", "the count of a long text")


def test_a_sea_of_lines_that_do_not_fit_is_crossed(show: Show, home: Home, make_run: MakeRun) -> None:
    run = make_run()
    run.write_finished()
    with run.run_dir.stdout.open("wb") as file:
        file.write(b"error: the first of all\n" + b"nothing of interest\n" * 1_000_000)
    run.publish()
    shown = show(home)
    shown.until(lambda: shown.studio.runs.get(run.run_id) is not None)
    shown.window.runs.select([run.run_id])
    log, tab = shown.studio.log, log_tab(shown)
    shown.until(lambda: log.rowCount() > 0)
    tab.level.choose("errors")
    shown.until(lambda: shown_texts(log) == ["error: the first of all"], "the only error")
    assert log.is_start
    assert log.is_end
    shown.until(lambda: tab.count.text() == "1 of 1,000,003 lines")


def test_the_end_is_followed_until_the_user_goes_up(show: Show, home: Home, make_run: MakeRun) -> None:
    run = make_run().live()
    run.write(STARTED)
    run.run_dir.stdout.write_text("".join(f"line {number}\n" for number in range(500)))
    run.publish()
    shown = show(home)
    shown.until(lambda: shown.studio.runs.get(run.run_id) is not None)
    shown.window.runs.select([run.run_id])
    log, tab = shown.studio.log, log_tab(shown)
    shown.until(lambda: "line 499" in shown_texts(log))
    bar = tab.view.verticalScrollBar()
    assert tab.view.is_at_end
    assert bar.value() == bar.maximum() > 0
    QTest.keyClick(tab.view, Qt.Key.Key_Home)
    shown.until(lambda: bar.value() == 0)
    assert not tab.follow.isChecked()
    with run.run_dir.stdout.open("a") as file:
        file.write("more\n")
    shown.until(lambda: tab.count.text() == "502 lines", tab.count.text())
    assert bar.value() == 0
    tab.follow.click()
    shown.until(lambda: tab.view.is_at_end and "more" in shown_texts(log))
