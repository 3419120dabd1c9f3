"""Runs side by side in the window, and the settings of one in Overview."""

from mosaic.gui.tabs.overview import OverviewTab
from mosaic.gui.widgets.table.differences_view import DifferencesView
from mosaic.rpc.client import Client
from mosaic.spec.run_record import RunRecord

from ..conftest import Show


def cells(view: DifferencesView, name: str) -> list[str]:
    items = [item for place in range(view.topLevelItemCount()) if (item := view.topLevelItem(place)) is not None]
    for item in items:
        if item.text(0) == name:
            return [item.text(column) for column in range(1, view.columnCount())]
    return []


def test_selected_runs_are_compared_and_what_is_the_same_comes_on_demand(
    show: Show, client: Client, trained: RunRecord, filmed: RunRecord
) -> None:
    shown = show()
    ids = [trained.run_id, filmed.run_id]
    shown.until(lambda: all(shown.studio.runs.get(run_id) for run_id in ids))
    shown.window.compare(ids)
    dialog = shown.window._differences  # pyright: ignore[reportPrivateUsage]
    assert dialog is not None
    shown.until(lambda: cells(dialog.view, "capture_video"), "the comparison")
    assert cells(dialog.view, "capture_video") == ["false", "true", "false"]
    assert not cells(dialog.view, "gamma")
    dialog.everything.setChecked(True)
    assert cells(dialog.view, "gamma") == ["0.99", "0.99", "0.99"]
    assert cells(dialog.view, "torch")
    assert "capture_video\tfalse\ttrue" in dialog.view.as_text()
    dialog.close()


def test_overview_lists_every_setting_with_its_default_and_json_on_demand(
    show: Show, client: Client, filmed: RunRecord
) -> None:
    shown = show()
    shown.until(lambda: shown.studio.runs.get(filmed.run_id) is not None)
    shown.studio.select([filmed.run_id])
    overview = shown.window.tabs["Overview"]
    assert isinstance(overview, OverviewTab)
    shown.window.bench.bring_up("Overview")
    shown.until(lambda: cells(overview.settings, "capture_video") == ["true", "false"], "settings and defaults")
    assert overview.settings.isVisible()
    overview.json_shown.setChecked(True)
    assert not overview.settings.isVisible()
