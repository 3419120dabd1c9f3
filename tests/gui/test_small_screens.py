"""Room on small screens: tabs that become icons, side panels that are put away, and a layout for each size."""

import re

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox, QLabel, QLineEdit, QPushButton, QTabBar, QWidget

from mosaic.gui.tabs.overview import OverviewTab
from mosaic.gui.widgets.edge_handle import EdgeHandle
from mosaic.spec.run_dir import Home

from .conftest import MakeRun, Show, Shown


def bars(shown: Shown) -> list[QTabBar]:
    bench = shown.window.bench
    return [bar for bar in bench.findChildren(QTabBar) if bar.parent() is bench and bar.count() > 1]


def shown_of(show: Show, home: Home, make_run: MakeRun) -> Shown:
    run = make_run()
    run.write_finished()
    run.publish()
    shown = show(home)
    shown.until(lambda: shown.window.bench.isVisible(), "the tabs")
    return shown


def resize(shown: Shown, width: int, height: int) -> None:
    shown.window.resize(width, height)
    shown.until(lambda: shown.window._size == shown.window._kind_of_size(), "the layout of this size")


def test_no_title_of_a_tab_is_cut_and_every_tab_is_in_sight(show: Show, home: Home, make_run: MakeRun) -> None:
    shown = shown_of(show, home, make_run)
    for width, height in ((1280, 720), (1600, 960), (960, 600)):
        resize(shown, width, height)
        shown.window.reset_layout()
        shown.until(lambda: not shown.window.bench._tidy_soon.isActive(), "the bars")
        for bar in bars(shown):
            for place in range(bar.count()):
                room, title = bar.tabRect(place), bar.tabText(place)
                is_icon = bool(bar.property("icons")) and place != bar.currentIndex()
                assert is_icon or room.width() >= bar.fontMetrics().horizontalAdvance(title) + 16, title
                assert room.right() <= bar.width(), f"{title} is out of sight at {width}x{height}"
                assert bar.tabToolTip(place) == title.replace("&&", "&")
                assert not bar.tabIcon(place).isNull()


def cut_texts(inside: QWidget) -> list[str]:
    """Words of fields, buttons and labels that do not fit in their place, or that reach out of the window."""
    found: list[str] = []
    for widget in inside.findChildren(QWidget):
        text, room = "", 0
        if isinstance(widget, QLabel) and widget.textFormat() is Qt.TextFormat.PlainText:
            words = re.split(r"[\s/]", widget.text()) if widget.wordWrap() else widget.text().split("\n")
            text, room = max(words, key=len), widget.contentsRect().width()
        elif isinstance(widget, QPushButton) and widget.text():
            text, room = widget.text(), widget.width() - 16
        elif isinstance(widget, QComboBox):
            text, room = widget.currentText(), widget.width() - 36
        elif isinstance(widget, QLineEdit):
            text, room = widget.text() or widget.placeholderText(), widget.width() - (46 if widget.actions() else 22)
        if text and widget.isVisible() and not (seen := widget.visibleRegion().boundingRect()).isEmpty():
            # One pixel for the rounding of fonts.
            is_cut = widget.fontMetrics().horizontalAdvance(text) > room + 1
            found += [text] if is_cut or seen.width() < widget.width() else []
    return found


def test_no_word_is_cut(show: Show, home: Home, make_run: MakeRun) -> None:
    shown = shown_of(show, home, make_run)
    bench, overview = shown.window.bench, shown.window.tabs["Overview"]
    assert isinstance(overview, OverviewTab)
    shown.window.runs.select([record.run_id for record in shown.studio.runs.records()])
    # From a large window: a panel that was wide before may not stay so.
    for width, height in ((1600, 960), (1280, 720)):
        resize(shown, width, height)
        shown.window.reset_layout()
        for title in [title for title in shown.window.tabs if title in bench.docks]:
            bench.bring_up(title)
            shown.until(lambda: not cut_texts(shown.window), f"room for every word beside {title} at {width}")
            if title == "Overview":
                shown.until(overview.settings.topLevelItemCount, "the settings")
                assert overview.settings.horizontalScrollBar().maximum() == 0, "the defaults are in sight"


def test_side_panels_are_put_away_by_key_and_by_drag_and_come_back(show: Show, home: Home, make_run: MakeRun) -> None:
    shown = shown_of(show, home, make_run)
    window = shown.window
    resize(shown, 1280, 720)
    left, right = window.side_docks
    handles = window.findChildren(EdgeHandle)
    assert not any(handle.isVisible() for handle in handles)
    control, shift = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
    QTest.keyClick(window, Qt.Key.Key_B, control)
    assert left.isHidden()
    shown.until(handles[0].isVisible, "the strip in its place")
    QTest.keyClick(window, Qt.Key.Key_B, control)
    assert not left.isHidden()
    QTest.keyClick(window, Qt.Key.Key_B, control | shift)
    assert right.isHidden()
    shown.until(handles[1].isVisible, "the strip in its place")
    QTest.mouseClick(handles[1], Qt.MouseButton.LeftButton)
    shown.until(lambda: right.isVisible() and not handles[1].isVisible(), "the panel")
    for dock, start, end in (
        (left, QPoint(left.geometry().right() + 2, 300), QPoint(40, 300)),
        (right, QPoint(right.geometry().left() - 2, 300), QPoint(window.width() - 40, 300)),
    ):
        QTest.mousePress(window, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, start)
        QTest.mouseMove(window, end)
        QTest.mouseRelease(window, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, end)
        shown.until(dock.isHidden, "the panel put away")


def test_each_size_has_the_layout_that_it_was_left_with(show: Show, home: Home, make_run: MakeRun) -> None:
    shown = shown_of(show, home, make_run)
    window = shown.window
    resize(shown, 1600, 960)
    assert not any(dock.isHidden() for dock in window.side_docks)
    resize(shown, 1280, 720)
    window.side_docks[1].hide()
    resize(shown, 1600, 960)
    assert not window.side_docks[1].isHidden()
    resize(shown, 1280, 720)
    assert window.side_docks[1].isHidden()
    shown.opened.close()
    again = show(home)
    assert again.window.side_docks[1].isHidden()
    window.reset_layout()
    assert not window.side_docks[1].isHidden()


def test_what_has_all_the_room_keeps_it_at_another_size(show: Show, home: Home, make_run: MakeRun) -> None:
    shown = shown_of(show, home, make_run)
    window = shown.window
    resize(shown, 1600, 960)
    window.switch_table()
    resize(shown, 1280, 720)
    assert window.bench.maximised == "Table"
    assert window.table.view.isVisible()
    window.switch_table()
    assert window.side_docks[1].isVisible(), "the form is back"
    window.maximise_panel()
    resize(shown, 1600, 960)
    assert window.bench.maximised == "Metrics"
    assert not any(dock.isVisible() for dock in window.side_docks)
    window.maximise_panel()
    assert all(dock.isVisible() for dock in window.side_docks)


def test_a_tab_that_was_looked_at_while_another_had_all_the_room_stays_in_front(
    show: Show, home: Home, make_run: MakeRun
) -> None:
    shown = shown_of(show, home, make_run)
    window = shown.window
    resize(shown, 1280, 720)
    window.switch_table()
    window.bench.bring_up("Overview")
    shown.until(lambda: not window.bench.docks["Overview"].visibleRegion().isEmpty())
    window.switch_table()
    shown.until(lambda: not window.bench.docks["Overview"].visibleRegion().isEmpty())
    # From one panel that has all the room to the other, and all the way back.
    window.maximise_panel()
    window.switch_table()
    assert window.bench.maximised == "Table"
    window.switch_table()
    assert all(dock.isVisible() for dock in window.side_docks)
