"""Saved views in the window: kept, shown again, replaced; a damaged file of them stops nothing. Pinned runs."""

from dataclasses import replace

from PySide6.QtWidgets import QApplication

from mosaic.gui.models.daemon.news import Notice
from mosaic.gui.models.runs.arranged_runs import ArrangedRuns
from mosaic.gui.models.runs.runs_model import RunsModel
from mosaic.gui.models.table.run_table_model import RunTableModel
from mosaic.gui.tabs.metrics import MetricsTab
from mosaic.rpc.client import Client
from mosaic.run_table.arrangement import Arrangement
from mosaic.run_table.saved_views import SavedView, SavedViews
from mosaic.spec.run_dir import Home, new_run_id
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import RunState

from ..conftest import Show


def test_a_view_brings_back_table_charts_and_selection(show: Show, trained: RunRecord, client: Client) -> None:
    shown = show()
    window, metrics = shown.window, shown.window.tabs["Metrics"]
    assert isinstance(metrics, MetricsTab)
    shown.until(lambda: shown.studio.runs.get(trained.run_id) is not None, "the run")
    wanted = Arrangement(columns=("label", "seed"), sort="seed", downwards=True, filter="algo:ppo")
    window.table.show_arrangement(wanted)
    metrics.controls.seeds.choose("IQM")
    metrics.controls.smoothing.setValue(7)
    metrics.controls.search.setText("losses")
    window.switch_table()
    shown.studio.select([trained.run_id])
    dialog = window.views.ask_name()
    assert not dialog.save.isEnabled(), "a view has a name"
    dialog.name.setText("my & own")
    dialog.keeps_runs.setChecked(True)
    dialog.save.click()
    window.switch_table()
    window.table.show_arrangement(Arrangement())
    metrics.controls.seeds.choose("each")
    metrics.controls.smoothing.setValue(20)
    metrics.controls.search.setText("")
    shown.studio.select([])
    [command] = [one for one in window.menus.commands() if one.group == "Saved view"]
    assert command.title == "my & own"
    command.do()
    assert window.table.table.arrangement == wanted
    assert window.table.bar.filter.text() == "algo:ppo"
    assert (metrics.controls.view.seeds, metrics.controls.view.window) == ("IQM", 7)
    assert metrics.controls.search.text() == "losses"
    assert shown.studio.selected == (trained.run_id,)
    assert window.bench.maximised == "Table"
    window.views.fill()
    assert window.views.actions()[0].text() == "my && own"
    again = window.views.ask_name()
    again.name.setText("my & own")
    assert again.save.text() == "Replace view"
    again.close()
    SavedViews(shown.studio.home).delete("my & own")
    window.switch_table()


def test_a_view_of_runs_that_are_gone_says_so(show: Show) -> None:
    shown = show()
    said: list[Notice] = []
    shown.studio.noticed.connect(said.append)
    shown.window.show_view(SavedView(name="old", runs=(new_run_id(), new_run_id())))
    assert "2 of the 2 runs of the view “old” are not here" in said[-1].message


def test_a_damaged_file_of_views_is_said_and_stops_nothing(show: Show, daemon_home: Home) -> None:
    shown = show()
    said: list[Notice] = []
    shown.studio.noticed.connect(said.append)
    path = SavedViews(daemon_home).path
    path.write_text("{")
    shown.window.views.fill()
    assert "No saved views yet" in [action.text() for action in shown.window.views.actions()]
    assert "could not be read" in said[-1].message
    aside = path.with_name("views.json.damaged-1")
    assert aside.read_text() == "{"
    aside.unlink()
    path.with_name("views.lock").unlink()


def runs() -> list[RunRecord]:
    """The oldest first."""
    return [
        RunRecord(run_id=new_run_id(), label=f"run {place}", state=RunState.FINISHED, last_return=float(place))
        for place in range(4)
    ]


def test_pinned_runs_are_at_the_top_of_list_and_table_at_once(application: QApplication) -> None:
    made = runs()
    model, table = RunsModel(), RunTableModel()
    arranged = ArrangedRuns(model)
    model.take(made)
    arranged.settle()
    table.take(made)
    table.arrange()
    pinned = replace(made[0], tags=("pinned",))
    arranged.hold(True)  # The pointer is over the list: its menu was at it.
    model.take([pinned])
    table.take([pinned])
    table.arrange()
    newest_first = [run.run_id for run in reversed(made)]
    expected = [made[0].run_id, *newest_first[:-1]]
    assert [arranged.key_at(row) for row in range(arranged.rowCount())] == expected
    assert table.ids_at(range(table.rowCount())) == expected
    table.show_as(replace(table.arrangement, sort="return", downwards=True))
    assert table.ids_at(range(2)) == [made[0].run_id, made[3].run_id]
    model.take([made[0]])
    assert arranged.key_at(arranged.rowCount() - 1) == made[0].run_id
