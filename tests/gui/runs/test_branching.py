"""An older checkpoint in the window: a new run by default, the loss of newer ones only after a question."""

from PySide6.QtWidgets import QMessageBox

from mosaic.gui.models.runs.artifacts import Kept
from mosaic.gui.tabs.artifacts import ArtifactsTab
from mosaic.gui.tabs.overview import OverviewTab
from mosaic.rpc.client import Client
from mosaic.spec.run_record import RunRecord

from ..conftest import Show, Shown, artifacts_of


def checkpoints(tab: ArtifactsTab) -> list[Kept]:
    """Newest first."""
    return [item for item in tab.tree.items() if item.kind == "checkpoint"]


def question(shown: Shown) -> QMessageBox:
    return next(box for box in shown.window.findChildren(QMessageBox) if box.isVisible())


def test_an_older_checkpoint_begins_a_new_run_and_keeps_the_newer_ones(
    show: Show, client: Client, filmed: RunRecord
) -> None:
    shown = show()
    tab = artifacts_of(shown, filmed)
    newest, *_, oldest = checkpoints(tab)
    tab.tree.select(newest.path)
    assert (tab.page.resume.text(), tab.page.discard.isVisible()) == ("Resume from this checkpoint", False)
    tab.tree.select(oldest.path)
    assert (tab.page.resume.text(), tab.page.discard.isVisible()) == ("New run from this checkpoint", True)
    assert "they are kept" in tab.page.blank.text

    tab.page.discard.click()
    assert "cannot be undone" in question(shown).informativeText()
    next(button for button in question(shown).buttons() if button.text() == "Keep all").click()

    before = {run.run_id for run in client.list()}
    notices: list[str] = []
    shown.studio.noticed.connect(lambda notice: notices.append(notice.message))
    tab.page.resume.click()
    shown.until(lambda: notices, "the notice")
    assert f"goes on from step {oldest.step:,}" in notices[0]
    [branch] = [run for run in client.list() if run.run_id not in before]
    assert (branch.parent, branch.parent_step) == (filmed.run_id, oldest.step)
    assert client.wait(branch.run_id)[0].state == "finished"
    assert checkpoints(tab)[0].step == newest.step
    overview = shown.window.tabs["Overview"]
    assert isinstance(overview, OverviewTab)
    shown.until(lambda: shown.studio.runs.get(branch.run_id) is not None, "the branch in the list")
    shown.window.runs.select([branch.run_id])
    shown.until(lambda: shown.studio.current == branch.run_id)
    assert overview.fact("Branched") == f"from run {filmed.run_id} at step {oldest.step:,}"
    client.delete(branch.run_id)
