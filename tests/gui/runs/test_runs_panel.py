"""The list of runs: order, groups, selection, keys, and ten thousand of them."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QModelIndex, QPoint, QPointF, QSettings, Qt
from PySide6.QtGui import QEnterEvent, QPainter
from PySide6.QtTest import QAbstractItemModelTester, QTest
from PySide6.QtWidgets import QApplication, QStyleOptionViewItem

from mosaic.gui.models.daemon.daemon_link import DaemonLink
from mosaic.gui.models.daemon.news import Batch
from mosaic.gui.models.daemon.news_feed import PAGE, NewsFeed
from mosaic.gui.models.runs import run_order
from mosaic.gui.models.runs.arranged_runs import GROUP, ArrangedRuns
from mosaic.gui.models.runs.run_order import Arranged, Grouping, RunOrder, Sort
from mosaic.gui.models.runs.runs_model import WHY_QUEUED, Index, RunsModel
from mosaic.gui.models.studio import Studio
from mosaic.gui.models.wording import name_of
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.runs.run_delegate import RunDelegate, reason_that_fits
from mosaic.gui.widgets.runs.runs_panel import RunsPanel
from mosaic.spec.run_dir import Home, new_run_id
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import RunState
from mosaic.trainer.index.index_store import Store

from ..conftest import Show
from ..event_loop import run_until

STRICT = QAbstractItemModelTester.FailureReportingMode.Fatal


def a_record(label: str = "", **fields: object) -> RunRecord:
    given = {"run_id": new_run_id(), "algo": "ppo", "env_id": "CartPole-v1", "state": RunState.FINISHED, "label": label}
    return RunRecord(**(given | fields))  # pyright: ignore[reportArgumentType]


@pytest.fixture
def some() -> list[RunRecord]:
    """Newest first, as the model has them."""
    return [
        a_record("c", last_return=5.0, group="g", seed=1),
        a_record("a", last_return=None, state=RunState.RUNNING, env_id="Pong-v5"),
        a_record("d", last_return=float("nan"), group="g", seed=2),
        a_record("B", last_return=7.0, algo="dqn", group="g", seed=3),
    ][::-1]


def names(records: list[RunRecord], sort: Sort, grouping: Grouping = "none") -> list[str]:
    by_id = {record.run_id: record.label for record in records}
    arranged = RunOrder().arrange(records, sort=sort, grouping=grouping)
    return [by_id.get(row) or f"[{arranged.groups[row].title}]" for row in arranged.rows]


def test_runs_are_sorted_and_equals_stay_newest_first(some: list[RunRecord]) -> None:
    assert names(some, "newest") == ["B", "d", "a", "c"]
    assert names(some, "name") == ["a", "B", "c", "d"]
    assert names(some, "return") == ["B", "c", "d", "a"]
    assert names(some, "state") == ["a", "B", "d", "c"]
    assert names([a_record("s10"), a_record("s2")], "name") == ["s2", "s10"]


def test_groups_have_headings_and_those_of_seeds_a_mean_with_n(some: list[RunRecord]) -> None:
    assert names(some, "newest", "environment") == ["[CartPole-v1]", "B", "d", "c", "[Pong-v5]", "a"]
    assert names(some, "name", "algorithm") == ["[dqn]", "B", "[ppo]", "a", "c", "d"]
    arranged = RunOrder().arrange(some, sort="newest", grouping="seeds", collapsed={"group:g"})
    group = arranged.groups["group:g"]
    assert (group.mean_return, group.n, len(group.run_ids)) == (6.0, 2, 3)
    assert arranged.rows == ["group:g", some[2].run_id]  # the run without a group stands by itself


@pytest.mark.parametrize(
    ("label", "title"),
    [
        ("walker, seed 2", "walker"),
        ("ppo CartPole-v1 s2", "ppo CartPole-v1"),
        ("", "ppo_cartpole"),
        ("glass2", "glass2"),
        ("s2", "s2"),
    ],
)
def test_a_group_of_seeds_has_the_name_that_they_share(label: str, title: str) -> None:
    record = a_record(label, group="g", seed=2)
    assert RunOrder().arrange([record], sort="newest", grouping="seeds").groups["group:g"].title == title


def test_the_shown_list_keeps_the_rules_of_qt(application: QApplication, some: list[RunRecord]) -> None:
    runs = RunsModel()
    arranged = ArrangedRuns(runs)
    tester = QAbstractItemModelTester(arranged, STRICT)
    runs.take(some)
    arranged.arrange()
    for grouping in ("environment", "seeds", "algorithm", "none"):
        arranged.show_by(grouping=grouping)
        for sort in ("name", "return", "state", "newest"):
            arranged.show_by(sort=sort)
            arranged.collapse_all(collapsed=True)
            arranged.collapse(0, collapsed=False)
            arranged.filter("cart")
            arranged.filter("")
            arranged.collapse_all(collapsed=False)
    runs.take([a_record(str(number)) for number in range(200)])
    runs.take([a_record("new"), a_record("newer")])
    arranged.arrange()
    runs.remove([some[0].run_id])
    runs.remove([record.run_id for record in runs.records()[:100]])
    assert arranged.rowCount() == arranged.run_count == len(runs.records()) == 105
    assert tester.model() is arranged


@pytest.fixture
def panel(application: QApplication, tmp_path: Path) -> Iterator[RunsPanel]:
    home = Home(tmp_path)
    link = DaemonLink(home)
    made = RunsPanel(Studio(home, NewsFeed(link), link), Theme(application))
    made.resize(300, 700)
    made.show()
    yield made
    made.close()
    made.deleteLater()


def settle(holds: Callable[[], object]) -> None:
    run_until(holds)


def fill(panel: RunsPanel, records: list[RunRecord]) -> Studio:
    studio = panel._studio  # pyright: ignore[reportPrivateUsage]
    studio.take(Batch(records=tuple(records)))
    settle(lambda: studio.selected)
    if list(studio.selected) != [records[0].run_id]:
        panel.select([records[0].run_id])
        settle(lambda: list(studio.selected) == [records[0].run_id])
    return studio


def test_the_window_opens_on_what_is_training_and_sessions_stand_apart(panel: RunsPanel, some: list[RunRecord]) -> None:
    played, evaluated = a_record("played", kind="play", state=RunState.RUNNING), a_record("eval", kind="policy_eval")
    studio = panel._studio
    studio.take(Batch(records=(evaluated, played, *some)))
    settle(lambda: studio.selected)
    assert [studio.record() and name_of(studio.runs.get(run_id)) for run_id in studio.selected] == ["a"]
    assert panel.arranged.rowCount() == 5, "four that trained, and a heading"
    heading = panel.arranged.index(4)
    assert heading.data() == "Play and evaluation"
    assert set(heading.data(GROUP).run_ids) == {played.run_id, evaluated.run_id}
    panel.select([played.run_id])
    settle(lambda: list(studio.selected) == [played.run_id])
    assert panel.arranged.rowCount() == 7


def test_the_newest_is_selected_and_a_heading_selects_its_group(panel: RunsPanel, some: list[RunRecord]) -> None:
    studio = fill(panel, some)
    assert list(studio.selected) == [some[0].run_id]
    panel.arranged.show_by(grouping="seeds")
    assert list(studio.selected) == [some[0].run_id]
    heading = panel.view.visualRect(panel.arranged.index(0)).center()
    QTest.mouseClick(panel.view.viewport(), Qt.MouseButton.LeftButton, pos=heading)
    settle(lambda: set(studio.selected) == {some[0].run_id, some[1].run_id, some[3].run_id})
    QTest.mouseClick(panel.view.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(20, heading.y()))
    assert panel.arranged.rowCount() == 2
    assert len(studio.selected) == 3  # what is selected stays so when it is hidden
    panel.view.setFocus()
    QTest.keyClick(panel.view, Qt.Key.Key_Right)
    assert panel.arranged.rowCount() == 5
    assert len(studio.selected) == 3
    QTest.keyClick(panel.view, Qt.Key.Key_Down)
    settle(lambda: list(studio.selected) == [some[0].run_id])
    QTest.keyClick(panel.view, Qt.Key.Key_Left)
    settle(lambda: len(studio.selected) == 3)


def test_several_runs_are_selected_by_mouse_and_keys(panel: RunsPanel, some: list[RunRecord]) -> None:
    studio = fill(panel, some)
    second = panel.view.visualRect(panel.arranged.index(2)).center()
    QTest.mouseClick(panel.view.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ControlModifier, second)
    settle(lambda: list(studio.selected) == [some[2].run_id, some[0].run_id])
    QTest.keyClick(panel.view, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    settle(lambda: len(studio.selected) == 4)
    panel.filter.setFocus()
    QTest.keyClicks(panel.filter, "pong")
    assert panel.arranged.rowCount() == 1
    assert len(studio.selected) == 4
    QTest.keyClick(panel.filter, Qt.Key.Key_Escape)
    assert panel.arranged.rowCount() == 4


def test_runs_that_are_selected_elsewhere_meanwhile_stay_selected(panel: RunsPanel, some: list[RunRecord]) -> None:
    """A run that was just started, say: it is not even in the list yet."""
    studio = fill(panel, some)
    panel.view.setCurrentIndex(panel.arranged.index(1))
    studio.select([started := new_run_id()])
    QTest.qWait(50)
    assert list(studio.selected) == [started]


def test_the_order_is_remembered(panel: RunsPanel, some: list[RunRecord], tmp_path: Path) -> None:
    fill(panel, some)
    settings = QSettings(str(tmp_path / "gui.ini"), QSettings.Format.IniFormat)
    settings.setValue("runs/sort", "return")
    settings.setValue("runs/grouping", "environment")
    panel.restore(settings)
    assert (panel.arranged.sorting, panel.arranged.grouping) == ("return", "environment")
    assert panel.arranged.index(0).data(GROUP).title == "CartPole-v1"
    settings.setValue("runs/sort", "nonsense")
    panel.restore(settings)
    panel.save(settings)
    assert settings.value("runs/sort") == "return"


def test_runs_that_change_their_return_change_their_places(panel: RunsPanel, some: list[RunRecord]) -> None:
    studio = fill(panel, some)
    panel.arranged.show_by(sort="return")
    assert panel.arranged.key_at(0) == some[0].run_id
    studio.take(Batch(records=(RunRecord(**(vars(some[3]) | {"last_return": 99.0})),)))
    settle(lambda: panel.arranged.key_at(0) == some[3].run_id)
    assert list(studio.selected) == [some[0].run_id]
    assert [index.row() for index in panel.view.selectionModel().selectedIndexes()] == [1]


def test_a_run_that_goes_on_costs_no_look_at_all_the_others(
    panel: RunsPanel, some: list[RunRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    studio = fill(panel, [*some, *(a_record(f"run {number}", group=f"g{number}") for number in range(300))])
    panel.arranged.show_by(sort="name", grouping="seeds")
    QApplication.processEvents()
    asked, read = [0], list[str]()
    count, name = ArrangedRuns.rowCount, run_order.name_of

    def counted(arranged: ArrangedRuns, parent: Index = QModelIndex()) -> int:  # noqa: B008 (as in Qt)
        asked[0] += 1
        return count(arranged, parent)

    def noted(record: RunRecord) -> str:
        read.append(record.label)
        return name(record)

    monkeypatch.setattr(ArrangedRuns, "rowCount", counted)
    monkeypatch.setattr(run_order, "name_of", noted)
    studio.take(Batch(records=(RunRecord(**(vars(some[0]) | {"last_return": 99.0})),)))
    panel.arranged.arrange()
    QApplication.processEvents()
    # The view lays out no row, and of no other run the name is made again.
    assert asked[0] < 50
    assert read
    assert set(read) <= {"B", "d", "c"}, "of the run, and of the heading of its group"


def test_runs_that_are_gone_are_forgotten(application: QApplication, some: list[RunRecord]) -> None:
    order, runs = RunOrder(), RunsModel()
    runs.take(some)
    before = order.arrange(runs.records(), sort="name", grouping="seeds")
    runs.remove([some[0].run_id])
    order.forget(runs.get)
    after = order.arrange(runs.records(), sort="name", grouping="seeds")
    assert before.groups["group:g"].n == 2
    assert (after.groups["group:g"].n, len(after.groups["group:g"].run_ids)) == (1, 2)


def test_a_queued_run_says_in_its_row_what_it_waits_for(panel: RunsPanel, some: list[RunRecord]) -> None:
    waiting = [a_record(label, state=RunState.QUEUED) for label in ("first", "second")]
    fill(panel, [*waiting[::-1], *some])
    said = {
        panel.arranged.index(row).data(): panel.arranged.index(row).data(WHY_QUEUED)
        for row in range(panel.arranged.rowCount())
    }
    assert (said["first"], said["second"], said["a"]) == ("position 1", "position 2", "")
    tips = [panel.arranged.index(row).data(Qt.ItemDataRole.ToolTipRole) for row in range(2)]
    assert "queued: position 2" in tips[0]
    assert panel.view.grab().width() > 0


@pytest.mark.parametrize(
    ("room", "below", "beside"),
    [
        (60, "2 of 2 slots used, position 1, about 48 min", ""),
        (35, "2 of 2 slots used, position 1", "about 48 min"),
        (20, "position 1", "about 48 min"),
    ],
)
def test_position_and_wait_of_a_queued_run_are_never_what_is_cut(room: int, below: str, beside: str) -> None:
    why = "2 of 2 slots used, position 1, about 48 min"
    assert reason_that_fits(why, lambda text: len(text) <= room) == (below, beside)
    assert reason_that_fits("2 of 2 slots used, position 3", lambda text: len(text) <= 20) == ("position 3", "")
    assert reason_that_fits("position 3", lambda text: not text) == ("position 3", "")


def test_no_run_changes_its_place_under_the_pointer(panel: RunsPanel, some: list[RunRecord]) -> None:
    studio = fill(panel, some)
    panel.arranged.show_by(sort="return")
    before = [panel.arranged.key_at(row) for row in range(4)]
    QApplication.sendEvent(panel.view, QEnterEvent(QPointF(9, 9), QPointF(9, 9), QPointF(9, 9)))
    better, new = RunRecord(**(vars(some[3]) | {"last_return": 99.0})), a_record(label="new", last_return=50.0)
    studio.take(Batch(records=(better, new)))
    panel.arranged.arrange()
    assert [key for row in range(5) if (key := panel.arranged.key_at(row)) != new.run_id] == before
    assert panel.arranged.row_of(new.run_id) is not None, "what is new is listed"
    QApplication.sendEvent(panel.view, QEvent(QEvent.Type.Leave))
    assert [panel.arranged.key_at(row) for row in range(2)] == [better.run_id, new.run_id]


def test_of_ten_thousand_runs_of_a_real_daemon_only_those_in_view_are_drawn(
    show: Show, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(home.index)
    records = [
        a_record(
            env_id=f"Env{number % 7}-v0",
            last_return=float(number % 500),
            group=f"g{number // 5}",
            seed=number % 5 + 1,
            sparkline=tuple(float(value) for value in range(40)),
        )
        for number in range(10_000)
    ]
    for record in records:
        home.run(record.run_id).root.mkdir()
    store.put(records)
    store.close()
    arrangements: list[int] = []
    arrange_all, paint = RunOrder.arrange, RunDelegate.paint

    def counted(order: RunOrder, records: Sequence[RunRecord], **how: Any) -> Arranged:
        arrangements.append(len(records))
        return arrange_all(order, records, **how)

    drawn: set[int] = set()

    def noted(delegate: RunDelegate, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        drawn.add(index.row())
        paint(delegate, painter, option, index)

    monkeypatch.setattr(RunOrder, "arrange", counted)
    monkeypatch.setattr(RunDelegate, "paint", noted)
    shown = show(home)
    panel, studio = shown.window.runs, shown.studio
    pieces: list[int] = []
    shown.opened.feed.arrived.connect(lambda batch: pieces.append(len(batch.records)))
    shown.until(lambda: studio.runs.rowCount() == 10_000)
    shown.until(lambda: panel.arranged.rowCount() == 10_000)
    assert max(pieces) <= PAGE
    # Pages that come close to each other are put in their places together, and none more than once.
    assert len(arrangements) <= 2 * len(pieces) + 2
    for act in (
        lambda: panel.arranged.show_by(sort="return"),
        lambda: panel.arranged.show_by(sort="name"),
        lambda: panel.arranged.show_by(grouping="seeds"),
        lambda: panel.arranged.collapse_all(collapsed=True),
        lambda: panel.arranged.collapse_all(collapsed=False),
        lambda: panel.arranged.show_by(grouping="environment", sort="state"),
        lambda: panel.filter.setText("env3"),
        lambda: panel.filter.clear(),
        panel.view.scrollToBottom,
        panel.view.selectAll,
    ):
        drawn.clear()
        arrangements.clear()
        with shown.never_waiting():
            act()
        panel.view.viewport().update()
        shown.until(lambda: drawn, "a paint")
        assert len(drawn) < 200, "rows that are not in view are not drawn"
        assert len(arrangements) <= 2
    shown.until(lambda: len(studio.selected) > 1)
