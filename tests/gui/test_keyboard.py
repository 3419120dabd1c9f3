"""The window by keyboard alone: Tab goes as the eye does and is seen, and the keys that every place knows."""

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QWidget

from mosaic.gui.models.form.run_settings import LABEL
from mosaic.gui.widgets.focus_ring import FocusRing
from mosaic.gui.widgets.form.help_window import HelpWindow
from mosaic.gui.widgets.shortcut_sheet import ShortcutSheet

from .conftest import Show, Shown

TAB, SHIFT = Qt.Key.Key_Tab, Qt.KeyboardModifier.ShiftModifier


def focused(shown: Shown) -> QWidget:
    found = shown.window.focusWidget()
    assert found is not None
    return found


def press(shown: Shown, *, back: bool = False) -> QWidget:
    QTest.keyClick(focused(shown), TAB, SHIFT if back else Qt.KeyboardModifier.NoModifier)
    QApplication.processEvents()
    return focused(shown)


def walk(shown: Shown, inside: QWidget, *, most: int = 200) -> list[QWidget]:
    """Where Tab stops in a panel, from the widget that has the focus on."""
    found = [focused(shown)]
    for _ in range(most):
        if not inside.isAncestorOf(here := press(shown)):
            return found
        found.append(here)
    raise AssertionError(f"{inside} does not let go of the focus")


def test_tab_goes_through_form_and_tabs_as_the_eye_does(show: Show) -> None:
    shown = show()
    form = shown.window.form
    shown.until(lambda: LABEL in form.view.rows and not form.view._to_open, "the form")
    # Ctrl+N begins in the form, not somewhere before it.
    shown.window.configure()
    assert focused(shown) is form.view.algorithm
    walked = walk(shown, form)
    label = form.view.rows[LABEL].editor
    assert walked.index(label) == 2, "algorithm, the heading of the section, label"
    inside = [widget for widget in walked if form.view.isAncestorOf(widget)]
    page = form.view.widget()
    heights = [widget.mapTo(page, QPoint(0, widget.height() // 2)).y() for widget in inside]
    assert heights == sorted(heights)
    assert {row.editor for row in form.view.rows.values() if row.editor.isVisible()} <= set(walked)
    assert walked[-3:] == [form.dry_run, form.sweep, form.start], "what comes below the form comes last"
    # And back the same way.
    form.start.setFocus()
    back = [press(shown, back=True) for _ in walked[1:]]
    assert back == walked[-2::-1]


def test_every_tab_of_the_window_is_walked_through_and_left(show: Show) -> None:
    shown = show()
    shown.until(lambda: shown.window.form.form.fields, "the form")
    shown.window._stack.setCurrentWidget(shown.window.bench)
    for title in shown.window.bench.docks:
        shown.window.bench.bring_up(title)
        QApplication.processEvents()
        shown.window.runs.view.setFocus()
        seen: list[QWidget] = []
        while (here := press(shown)) not in seen:
            assert here.isVisible()
            # What is inside of a scroll area covers it.
            seen_part = here.viewport() if isinstance(here, QAbstractScrollArea) else here
            assert not seen_part.visibleRegion().isEmpty(), f"{title}: {here} has the focus and is out of sight"
            seen.append(here)
            assert len(seen) < 200
        assert shown.window.form.start in seen
        # These are empty pages here: without the extra, or without a sweep.
        if title not in ("TensorBoard", "W&B", "Sweeps"):
            assert any(shown.window.tabs[title].isAncestorOf(widget) for widget in seen), title


def test_what_the_keyboard_has_reached_has_a_ring_until_it_is_clicked(show: Show) -> None:
    shown = show()
    ring = shown.window.focus_ring
    assert isinstance(ring, FocusRing)
    shown.window.runs.filter.setFocus()
    assert not ring.isVisible()
    reached = press(shown)
    assert ring.widget() is reached
    shown.until(ring.isVisible, "the ring")
    QTest.mouseClick(shown.window.runs.filter, Qt.MouseButton.LeftButton)
    assert not ring.isVisible()
    assert ring.widget() is None


def test_f1_opens_the_help_and_control_slash_the_sheet_of_keys_and_escape_closes_both(show: Show) -> None:
    shown = show()
    shown.until(lambda: shown.window.form.form.fields, "the form")
    # Also while the form is hidden.
    shown.window.side_docks[1].hide()
    QTest.keyClick(shown.window, Qt.Key.Key_F1)
    [help_window] = shown.window.findChildren(HelpWindow)
    shown.until(help_window.isVisible, "the help")
    QTest.keyClick(help_window, Qt.Key.Key_Escape)
    shown.until(lambda: not help_window.isVisible(), "the help to close")
    shown.window.activateWindow()
    QTest.keyClick(shown.window, Qt.Key.Key_Slash, Qt.KeyboardModifier.ControlModifier)
    [sheet] = shown.window.findChildren(ShortcutSheet)
    shown.until(sheet.isVisible, "the sheet")
    keys = dict(sheet.lines())
    assert keys["Ctrl+K"] == "Command palette…"
    assert keys["Del"] == "Delete…"
    assert keys["Ctrl+Return"] == "Start what the form says"
    assert len(keys) == len(sheet.lines()), "no key does two things"
    QTest.keyClicks(sheet.search, "policy load")
    assert sheet.lines() == [("Ctrl+L", "Load trained policy…")]
    QTest.keyClick(sheet.search, Qt.Key.Key_Escape)
    shown.until(lambda: not shown.window.findChildren(ShortcutSheet), "the sheet to close")
