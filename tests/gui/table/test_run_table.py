"""The table of runs: what it shows, how it is used with keys alone, and ten thousand runs."""

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtTest import QAbstractItemModelTester, QTest
from PySide6.QtWidgets import QApplication, QMessageBox

from mosaic.gui.models.daemon.daemon_link import DaemonLink
from mosaic.gui.models.daemon.news import Batch
from mosaic.gui.models.daemon.news_feed import NewsFeed
from mosaic.gui.models.studio import Studio
from mosaic.gui.models.table.run_table_model import GROUP, RunTableModel
from mosaic.gui.tabs.table import TableTab
from mosaic.gui.theme import Theme
from mosaic.rpc.client import Client
from mosaic.run_table.arrangement import Arrangement
from mosaic.spec.run_dir import Home, new_run_id
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import RunState

from ..conftest import Show

STRICT = QAbstractItemModelTester.FailureReportingMode.Fatal


def some_runs(count: int = 6) -> list[RunRecord]:
    """Newest first: returns fall from count - 1 to 0; every third is by dqn."""
    made = [
        RunRecord(
            run_id=new_run_id(),
            label=f"run {place}",
            algo="dqn" if place % 3 == 0 else "ppo",
            env_id="CartPole-v1",
            seed=place,
            state=RunState.FINISHED,
            last_return=float(place),
        )
        for place in range(count)
    ]
    return made[::-1]


@pytest.fixture
def table(application: QApplication) -> RunTableModel:
    made = RunTableModel()
    QAbstractItemModelTester(made, STRICT, made)
    runs = some_runs()
    made.take(runs)
    for run in runs:
        made.rows.take_settings(run.run_id, {"learning_rate": 1e-3 if run.seed % 2 else 1e-4, "gamma": 0.99})
    made.arrange()
    return made


@pytest.fixture
def tab(application: QApplication, tmp_path: Path) -> TableTab:
    link = DaemonLink(Home(tmp_path))
    studio = Studio(Home(tmp_path), NewsFeed(link), link)
    studio.take(Batch(records=tuple(some_runs())))
    made = TableTab(studio, Theme(application))
    made.resize(900, 400)
    made.show()
    made._open(True)  # pyright: ignore[reportPrivateUsage]
    return made


def shown(table: RunTableModel, column: int = 0) -> list[str]:
    return [str(table.index(line, column).data()) for line in range(table.rowCount())]


def show(table: RunTableModel, **changes: object) -> list[str]:
    table.show_as(replace(Arrangement(columns=("label", "return")), **changes))  # pyright: ignore[reportArgumentType]
    return shown(table)


def names(*seeds: int) -> list[str]:
    return [f"run {seed}" for seed in seeds]


def test_rows_are_filtered_and_sorted(table: RunTableModel) -> None:
    assert show(table) == names(5, 4, 3, 2, 1, 0)
    assert show(table, filter="lr<1e-3 return>0", sort="return") == names(2, 4)
    assert show(table, sort="return", downwards=False) == names(0, 1, 2, 3, 4, 5)
    assert table.fitting == 6


def test_a_filter_that_is_none_leaves_the_rows_and_says_why(table: RunTableModel) -> None:
    said: list[object] = []
    table.refused.connect(said.append)
    assert show(table, filter="algo:dqn") == names(3, 0)
    assert show(table, filter="algo:dqn lrr<3") == names(3, 0)
    assert "did you mean lr?" in str(said[-1])
    assert show(table, filter="") == names(5, 4, 3, 2, 1, 0)
    assert said[-1] is None


def test_a_filter_on_settings_holds_once_they_are_there(application: QApplication) -> None:
    table = RunTableModel()
    runs = some_runs()
    table.take(runs)
    show(table, filter="weight:3")
    assert table.fitting == 6  # such a column is not known yet
    table.rows.take_settings(runs[0].run_id, {"weight": 3})
    table.understand_again()
    assert shown(table) == [runs[0].label]


def test_groups_have_headings_that_close_and_tell_mean_and_n(table: RunTableModel) -> None:
    assert show(table, group="algo") == [
        "Algorithm ppo   4 runs",
        *names(5, 4, 2, 1),
        "Algorithm dqn   2 runs",
        *names(3, 0),
    ]
    assert table.index(0, 1).data() == "3  n 4"
    assert "no interval below 5 runs" in str(table.index(0, 1).data(Qt.ItemDataRole.ToolTipRole))
    table.collapse(0, collapsed=True)
    assert shown(table) == ["Algorithm ppo   4 runs", "Algorithm dqn   2 runs", *names(3, 0)]
    assert len(table.ids_at([0])) == 4
    assert table.fitting == 6
    assert table.index(1, 0).data(GROUP) is not None
    table.collapse_all(collapsed=True)
    assert table.rowCount() == 2


def test_only_what_differs_has_every_setting_that_differs_and_none_that_does_not(
    table: RunTableModel, application: QApplication
) -> None:
    show(table, only_differing=True, columns=("label", "env", "algo", "gamma"))
    while table._unlooked:  # pyright: ignore[reportPrivateUsage]
        application.processEvents()
    assert list(table.columns) == ["label", "algo", "learning_rate"]
    show(table, only_differing=False, columns=("label", "env"))
    assert list(table.columns) == ["label", "env"]


@pytest.mark.parametrize("kind", ["play", "policy_eval"])
def test_sessions_are_shown_when_the_filter_names_their_kind(table: RunTableModel, kind: str) -> None:
    table.take([RunRecord(run_id=new_run_id(), label="a session", kind=kind, state=RunState.FINISHED)])
    table.arrange()
    assert "a session" not in show(table)
    assert show(table, filter=f"kind:{kind}") == ["a session"]


def test_what_changes_is_shown_at_once_and_moves_in_a_moment(table: RunTableModel) -> None:
    show(table, sort="return", downwards=True)
    oldest = table.rows.records[-1]
    table.take([replace(oldest, last_return=99.0)])
    line = table.line_of(oldest.run_id)
    assert line == 5
    assert table.index(5, 1).data() == "99"
    table.arrange()
    assert table.line_of(oldest.run_id) == 0
    table.take([], [oldest.run_id])
    assert table.line_of(oldest.run_id) is None
    assert table.rowCount() == 5


def press(tab: TableTab, *keys: Qt.Key, ctrl: bool = False) -> None:
    how = Qt.KeyboardModifier.ControlModifier if ctrl else Qt.KeyboardModifier.NoModifier
    for key in keys:
        QTest.keyClick(tab.view, key, how)


def to_column(tab: TableTab, name: str) -> None:
    tab.view.setCurrentIndex(tab.table.index(tab.view.currentIndex().row(), list(tab.table.columns).index(name)))


def test_keys_alone_sort_group_hide_move_and_widen(tab: TableTab) -> None:
    tab.view.setCurrentIndex(tab.table.index(0, 0))
    to_column(tab, "return")
    press(tab, Qt.Key.Key_S)
    assert shown(tab.table) == names(5, 4, 3, 2, 1, 0)  # the best first
    press(tab, Qt.Key.Key_S)
    assert shown(tab.table) == names(0, 1, 2, 3, 4, 5)
    press(tab, Qt.Key.Key_S)
    assert tab.table.arrangement.sort == ""
    width = tab.view.columnWidth(tab.view.currentIndex().column())
    press(tab, Qt.Key.Key_BracketRight)
    assert tab.view.columnWidth(tab.view.currentIndex().column()) > width
    press(tab, Qt.Key.Key_Left, ctrl=True)
    assert list(tab.table.columns).index("return") == list(Arrangement().columns).index("return") - 1
    to_column(tab, "seed")
    press(tab, Qt.Key.Key_H)
    assert "seed" not in tab.table.columns
    to_column(tab, "algo")
    press(tab, Qt.Key.Key_G)
    assert tab.table.group_count == 2
    tab.view.setCurrentIndex(tab.table.index(0, 0))
    press(tab, Qt.Key.Key_Space)
    assert tab.table.rowCount() == 4
    press(tab, Qt.Key.Key_Slash)
    assert tab.focusWidget() is tab.bar.filter


def test_selected_runs_stay_selected_through_another_order_and_are_those_of_the_window(tab: TableTab) -> None:
    studio = tab._studio  # pyright: ignore[reportPrivateUsage]
    ids = [record.run_id for record in studio.runs.records()]
    tab.view.choose(ids[1:3])
    tab._select()  # pyright: ignore[reportPrivateUsage]
    assert list(studio.selected) == ids[1:3]
    colours = [studio.colour_of(run_id) for run_id in ids[1:3]]
    tab._show(sort="return", downwards=False)  # pyright: ignore[reportPrivateUsage]
    lines = {index.row() for index in tab.view.selectionModel().selectedIndexes()}
    assert {tab.table.ids_at([line])[0] for line in lines} == set(ids[1:3])
    studio.select(ids[4:5])
    assert tab.view.chosen == ids[4:5]
    studio.select(ids[1:3])
    assert [studio.colour_of(run_id) for run_id in ids[1:3]] == colours


def test_what_is_wrong_with_a_filter_is_said_at_the_field(tab: TableTab) -> None:
    tab.bar.filter.setText("return>lots")
    tab._filter()  # pyright: ignore[reportPrivateUsage]
    assert not tab.bar.problem.isHidden()
    assert "'lots' is not a number" in tab.bar.problem.text()
    tab.bar.filter.setText("return>3")
    tab._filter()  # pyright: ignore[reportPrivateUsage]
    assert tab.bar.problem.isHidden()
    assert tab.bar.count.text().startswith("2 of 6 runs")


def test_the_chooser_ticks_and_moves_columns_by_keys(tab: TableTab) -> None:
    tab.choose_columns()
    chooser = tab._chooser  # pyright: ignore[reportPrivateUsage]
    assert chooser is not None
    chooser.offer(["gamma"], ["losses/value_loss"])
    chooser.search.setText("value loss auc")
    assert chooser.list.count() == 1
    QTest.keyClick(chooser.list, Qt.Key.Key_Space)
    assert tab.table.columns[-1] == "losses/value_loss.auc"
    chooser.search.setText("")
    chooser.list.setCurrentRow(1)
    QTest.keyClick(chooser, Qt.Key.Key_Up, Qt.KeyboardModifier.ControlModifier)
    assert tab.table.columns[:2] == ("state", "label")
    chooser.close()


def test_columns_order_filter_and_widths_are_remembered(
    tab: TableTab, tmp_path: Path, application: QApplication
) -> None:
    settings = QSettings(str(tmp_path / "gui.ini"), QSettings.Format.IniFormat)
    wanted = Arrangement(columns=("label", "learning_rate"), sort="label", downwards=True, group="algo", filter="ppo")
    tab.show_arrangement(wanted)
    tab.view.setColumnWidth(0, 321)
    tab.save(settings)
    other = TableTab(tab._studio, Theme(application))  # pyright: ignore[reportPrivateUsage]
    other.restore(settings)
    assert other.table.arrangement == wanted
    assert other.view.columnWidth(0) == 321
    settings.setValue("table/arrangement", '{"columns": 3}')
    settings.setValue("table/widths", "[")
    other.restore(settings)
    assert other.table.arrangement == Arrangement()


def texts(box: QMessageBox) -> list[str]:
    return [button.text() for button in box.buttons()]


def test_a_question_says_how_many_runs_and_its_button_what_it_does_to_them(tab: TableTab) -> None:
    records = tab._studio.runs.records()  # pyright: ignore[reportPrivateUsage]
    running = replace(records[0], state=RunState.RUNNING)
    tab._studio.take(Batch(records=(running,)))  # pyright: ignore[reportPrivateUsage]
    tab.view.choose([record.run_id for record in records[:3]])
    tab._select()  # pyright: ignore[reportPrivateUsage]
    assert len(tab.actions_on_chosen._verbs) == 5  # pyright: ignore[reportPrivateUsage]
    QTest.keyClick(tab.view, Qt.Key.Key_Delete)
    [box] = tab.window().findChildren(QMessageBox)
    assert texts(box) == ["Delete 2 runs", "Keep them"] or texts(box) == ["Keep them", "Delete 2 runs"]
    assert "Delete these 2 runs?" in box.text()
    assert "1 of the selected runs stay as they are" in box.informativeText()
    box.reject()


def test_ten_thousand_runs_are_shown_without_asking_each(
    application: QApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = some_runs(10_000)
    table = RunTableModel()
    table.take(runs)
    asked: list[int] = []
    text = RunTableModel._text  # pyright: ignore[reportPrivateUsage]

    def counted(self: RunTableModel, row: int, name: str) -> str:
        asked.append(row)
        return text(self, row, name)

    monkeypatch.setattr(RunTableModel, "_text", counted)
    for changes in ({"sort": "return"}, {"filter": "algo:ppo return>5000", "sort": "label"}, {"group": "algo"}):
        table.show_as(replace(Arrangement(), **changes))  # pyright: ignore[reportArgumentType]
    assert table.rowCount() == 10_002
    assert not asked


def test_the_window_shows_settings_and_metrics_of_real_runs_and_tags_them(
    show: Show, client: Client, trained: RunRecord
) -> None:
    opened = show()
    window = opened.window
    tab = window.table
    opened.until(lambda: opened.studio.runs.get(trained.run_id) is not None)
    window.switch_table()
    opened.until(lambda: tab.table.line_of(trained.run_id) is not None, "the run")
    assert window.bench.maximised == "Table"
    tab._show(columns=("label", "learning_rate", "losses/value_loss.lowest"), filter=f"id:{trained.run_id} lr<1")  # pyright: ignore[reportPrivateUsage]
    opened.until(lambda: tab.table.rowCount() == 1 and tab.table.index(0, 1).data() == "0.00025", "its settings")
    opened.until(lambda: tab.table.index(0, 2).data(), "its metric")
    tab.view.choose([trained.run_id])
    tab._select()  # pyright: ignore[reportPrivateUsage]
    actions = tab.actions_on_chosen
    actions._tag(actions.runs(), [], "paper, wet")  # pyright: ignore[reportPrivateUsage]
    tab._show(filter="tag:paper")  # pyright: ignore[reportPrivateUsage]
    opened.until(lambda: tab.table.lines_of([trained.run_id]) == [0], "the tag")
    actions._tag(actions.runs(), ["paper", "wet"], "")  # pyright: ignore[reportPrivateUsage]
    opened.until(lambda: not client.get(trained.run_id).tags, "the tags to go")
    window.switch_table()
    assert not window.bench.maximised
