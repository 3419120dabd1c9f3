"""Export, page, import, verify and the check of the installation, from the menus; the documentation."""

from pathlib import Path

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtWidgets import QLabel, QMessageBox

from mosaic.gui.models.daemon.news import Notice
from mosaic.gui.widgets.result_dialog import ResultDialog
from mosaic.gui.widgets.tracking.tracker_dialog import TrackerDialog
from mosaic.rpc.client import Client
from mosaic.spec.run_record import RunRecord

from ..conftest import Show, Shown


def selected(show: Show, run: RunRecord) -> tuple[Shown, list[Notice]]:
    shown = show()
    said: list[Notice] = []
    shown.studio.noticed.connect(said.append)
    shown.until(lambda: shown.studio.runs.get(run.run_id) is not None, "the run")
    shown.window.runs.select([run.run_id])
    shown.until(lambda: shown.studio.current == run.run_id)
    return shown, said


def result_of(shown: Shown) -> ResultDialog:
    files = shown.window.run_files
    shown.until(lambda: not files.is_busy, "the command")
    return next(dialog for dialog in shown.window.findChildren(ResultDialog) if dialog.isVisible())


def test_runs_are_exported_and_known_where_they_come_from(show: Show, trained: RunRecord, tmp_path: Path) -> None:
    shown, said = selected(show, trained)
    files, path = shown.window.run_files, tmp_path / "runs.zip"
    path.write_bytes(b"an older one")
    files.export_to(str(path))
    shown.until(lambda: not files.is_busy, "the export")
    assert said[-1].message == f"exported: {path}"
    files.import_from(str(path))
    dialog = result_of(shown)
    assert dialog.said.text() == "1 already here."
    assert "here already" in dialog.as_text()
    dialog.close()
    files.verify()
    dialog = result_of(shown)
    assert "nothing is damaged" in dialog.said.text()
    dialog.close()
    files.import_from(str(tmp_path / "none.zip"))
    shown.until(lambda: not files.is_busy, "the import")
    assert "is not a folder" in said[-1].message


def test_past_runs_are_exported_to_a_tracker_and_those_that_go_on_are_left_out(
    show: Show, trained: RunRecord, client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    [lives] = client.train("ppo", env_id="resting:Resting-v0", total_timesteps=10**9)
    shown, said = selected(show, trained)
    files = shown.window.run_files
    shown.until(lambda: shown.studio.runs.get(lives.run_id) is not None, "the other run")
    shown.window.runs.select([lives.run_id])
    shown.until(lambda: shown.studio.current == lives.run_id)
    files.track()
    assert "exported after its end" in said[-1].message
    shown.window.runs.select([trained.run_id, lives.run_id])
    shown.until(lambda: len(files.runs()) == 2)
    files.track()
    [dialog] = [one for one in shown.window.findChildren(TrackerDialog) if one.isVisible()]
    assert "1 of the selected runs has not ended" in " ".join(one.text() for one in dialog.findChildren(QLabel))
    assert list(dialog.choices)[:3] == ["wandb", "trackio", "mlflow"]
    dialog.choices["trackio"].setChecked(True)
    dialog.export.click()
    result = result_of(shown)
    assert result.said.text() == "Trackio has these runs now."
    assert "synced" in result.as_text()
    assert (tmp_path / "trackio").is_dir()
    result.close()
    client.cancel(lives.run_id)


def test_a_page_is_written_and_opened_if_wanted(show: Show, trained: RunRecord, tmp_path: Path) -> None:
    shown, _ = selected(show, trained)
    files, opened = shown.window.run_files, []
    files.open_page = opened.append
    files.export_to(str(tmp_path / "page.html"))
    shown.until(lambda: not files.is_busy, "the page")
    assert "<svg" in (tmp_path / "page.html").read_text()
    [box] = [one for one in shown.window.findChildren(QMessageBox) if one.isVisible()]
    next(button for button in box.buttons() if button.text() == "Open it").click()
    assert opened == [tmp_path / "page.html"]


def test_what_is_pinned_in_the_window_is_pinned_everywhere(show: Show, trained: RunRecord, client: Client) -> None:
    shown, _ = selected(show, trained)
    shown.window.menus._pin()
    shown.until(
        lambda: "pinned" in client.get(trained.run_id).tags and "pinned" in shown.studio.runs.get(trained.run_id).tags
    )
    shown.window.menus._pin()
    shown.until(lambda: "pinned" not in client.get(trained.run_id).tags)


def test_the_documentation_is_read_and_searched(show: Show) -> None:
    shown = show()
    docs = shown.window.show_docs()
    assert docs.list.count() > 10
    docs.search.setText("zipfile qwertz")
    assert all(docs.list.item(place).isHidden() for place in range(docs.list.count()))
    docs.search.setText("")
    docs._follow(QUrl("import.md"))
    assert "another home" in docs.page.toPlainText()
    docs._follow(QUrl("protocols/run-directory.md"))
    assert "analytics.json" in docs.page.toPlainText()
    docs._follow(QUrl("../cli.md#views"))
    assert "The command line" in docs.page.toPlainText()
    docs._follow(QUrl("../../etc/passwd"))
    assert "not in this installation" in docs.page.toPlainText()
    docs.close()
