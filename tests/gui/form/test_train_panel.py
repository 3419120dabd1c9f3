"""The train panel against a real daemon: typing, dry run, starting, cloning, presets, files, and what goes wrong."""

import json
import os
import signal

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QInputDialog

from mosaic.gui.models.form.notes import NOTE
from mosaic.gui.models.form.run_settings import ENV_ID, EXTRAS, LABEL, PARAMS, SEEDS, WORKER
from mosaic.gui.tabs.notes import NotesTab
from mosaic.rpc.locate import running_address

RATE = f"{PARAMS}.learning_rate"
STEPS = f"{WORKER}.total_timesteps"
MINIBATCHES = f"{PARAMS}.num_minibatches"
DRY_RUN_S = 300.0
"""A worker that imports everything, on a machine that does other things too."""


@pytest.fixture
def open_panel(show, daemon_home):
    """`open_panel(home)`: a window, and its panel with the form filled from the daemon."""
    (daemon_home.root / "gui" / "last-run.json").unlink(missing_ok=True)

    def open_panel(home=None):
        shown = show(home)
        shown.until(lambda: MINIBATCHES in shown.window.form.view.rows, "the form")
        return shown, shown.window.form

    return open_panel


def type_into(panel, path, text):
    panel.view.reveal(path)
    editor = panel.view.rows[path].editor
    editor.setFocus()
    editor.selectAll()
    if text.isascii():
        QTest.keyClicks(editor, text)
    else:
        QGuiApplication.clipboard().setText(text)
        editor.paste()


def newest(shown):
    return shown.studio.notes.index(0).data(NOTE)


def test_typing_marks_checks_and_resets(open_panel):
    _, panel = open_panel()
    row = panel.view.rows[RATE]
    assert row.editor.text() == "0.00025"
    assert not row._mark.isVisible()
    type_into(panel, RATE, "10M")
    assert panel.form.fields[RATE].value == 1e7
    assert row._mark.isVisible()
    QTest.keyClick(row.editor, Qt.Key.Key_Return)
    assert row.editor.text() == "10,000,000"
    type_into(panel, RATE, "-1")
    assert row.said == "must be more than 0"
    assert row.editor.property("broken") is True
    QTest.mouseClick(panel.start, Qt.MouseButton.LeftButton)
    assert "1 setting has an error" in panel.said.text()
    assert not panel.train_actions.is_starting
    QTest.mouseClick(row._mark, Qt.MouseButton.LeftButton)
    assert row.editor.text() == "0.00025"
    assert row.said == ""
    assert "Step size of Adam" in row.editor.toolTip()


def test_algorithms_bring_their_own_fields(open_panel):
    shown, panel = open_panel()
    for name in panel.train_actions.catalogue.algorithms:
        panel.view.algorithm.chosen.emit(name)
        shown.application.processEvents()
        schema = panel.form.algorithm.schema["properties"]
        shown_names = {path.rpartition(".")[2] for path in panel.view.rows}
        assert shown_names & set(schema)
        # Lines of closed sections are not made: with all of them each choice would take the window's time.
        opened = [one for one in panel.form.sections if panel.view.sections[one.title].is_open]
        assert len(opened) < len(panel.form.sections)
        assert set(panel.view.rows) == {path for one in opened for path in one.paths}
    for section in panel.view.sections.values():
        section.open()
        shown.application.processEvents()
    assert set(panel.view.rows) == set(panel.form.fields)


def test_the_list_of_algorithms_is_grouped_narrows_with_each_word_and_explains_each(open_panel):
    _, panel = open_panel()
    picker = panel.view.algorithm
    assert picker.text() == "ppo"
    assert picker.explanation.text() == "PPO with a categorical policy for each element of an action"
    QTest.mouseClick(picker, Qt.MouseButton.LeftButton)
    offers = picker.offers()
    assert [offer.text for offer in offers if offer.kind == "heading"][:3] == [
        "Discrete actions · vectors",
        "Discrete actions · pictures",
        "Continuous actions · vectors",
    ]
    assert all(offer.explanation for offer in offers if offer.kind == "choice")
    popup = picker.completer_.popup()
    for letter in "gaussian ppo":
        QTest.keyClicks(popup, letter)
    assert "ppo_continuous_action" in picker.listed()
    assert "ppo" not in picker.listed()
    QTest.keyClick(popup, Qt.Key.Key_Escape)
    assert not popup.isVisible()
    assert panel.form.algo == "ppo", "typing chooses nothing"
    assert picker.text() == "ppo"
    picker.browse()
    QTest.keyClick(popup, Qt.Key.Key_Down)
    QTest.keyClick(popup, Qt.Key.Key_Return)
    assert panel.form.algo == picker.text() == "ppo_lstm"
    # Others have the word in their explanation, and stand above it in the list.
    picker.browse()
    for letter in "dqn":
        QTest.keyClicks(popup, letter)
    assert picker.listed().index("c51") < picker.listed().index("dqn")
    QTest.keyClick(popup, Qt.Key.Key_Return)
    assert panel.form.algo == picker.text() == "dqn"


def test_wandb_fields_come_with_their_switch(open_panel):
    _, panel = open_panel()
    panel.view.reveal(f"{EXTRAS}.track_wandb")
    rows = panel.view.rows
    project, proxy = rows[f"{EXTRAS}.wandb_project_name"], rows[f"{EXTRAS}.wandb_http_proxy"]
    key = rows[f"{EXTRAS}.wandb_api_key"]
    assert project.isHidden()
    rows[f"{EXTRAS}.track_wandb"].editor.click()
    assert not project.isHidden()
    assert proxy.isHidden()
    assert key.editor.echoMode() == key.editor.EchoMode.Password
    rows[f"{EXTRAS}.wandb_use_vpn_proxy"].editor.click()
    assert not proxy.isHidden()


def test_the_environment_is_searched_and_a_near_match_is_named(open_panel):
    _, panel = open_panel()
    picker = panel.view.rows[ENV_ID].editor
    type_into(panel, ENV_ID, "acro")
    assert picker.listed()[:2] == ["classic_control", "Acrobot-v1"]
    QTest.keyClick(picker.completer_.popup(), Qt.Key.Key_Return)
    assert panel.form.env_id == "Acrobot-v1"
    type_into(panel, ENV_ID, "CratPole-v1")
    assert picker.listed() == ["Did you mean", "CartPole-v1"]
    assert "Did you mean CartPole-v1?" in panel.view.rows[ENV_ID].said
    picker.completer_.popup().hide()


def test_a_dry_run_is_kept_whole_and_goes_stale_with_an_edit(open_panel, application):
    shown, panel = open_panel()
    tab = NotesTab(shown.studio, shown.theme)
    QTest.mouseClick(panel.dry_run, Qt.MouseButton.LeftButton)
    assert panel.dry_run.text() == " Cancel"
    assert newest(shown).outcome == "running"
    shown.until(lambda: newest(shown).outcome == "ok", "the dry run", DRY_RUN_S)
    assert panel.dry_run.text() == " Dry run"
    assert "CartPole-v1" in newest(shown).output
    assert newest(shown).output.strip() in tab.text.toPlainText()
    assert not newest(shown).is_stale
    type_into(panel, LABEL, "another")
    shown.until(lambda: newest(shown).is_stale, "the mark of an old result")
    assert "edited since" in tab.text.toPlainText()
    tab.deleteLater()


def test_what_the_worker_refuses_stands_at_its_field(open_panel):
    shown, panel = open_panel()
    type_into(panel, MINIBATCHES, "100k")
    QTest.mouseClick(panel.dry_run, Qt.MouseButton.LeftButton)
    shown.until(lambda: newest(shown).outcome == "refused", "the refusal", DRY_RUN_S)
    assert "more than the 512 steps" in panel.view.rows[MINIBATCHES].said
    assert panel.alarm.isHidden()


def test_start_selects_the_new_runs_and_train_starts_them_again(open_panel, client):
    shown, panel = open_panel()
    type_into(panel, STEPS, "600")
    type_into(panel, LABEL, "größe 🎲")
    type_into(panel, SEEDS, "1-2")
    made = []
    panel.submitted.connect(made.append)
    QTest.mouseClick(panel.start, Qt.MouseButton.LeftButton)
    shown.until(lambda: made, "the submit")
    assert "2 runs are queued" in panel.said.text()
    assert list(shown.studio.selected) == made[0]
    runs = client.wait(*made[0])
    assert [(run.state, run.seed, run.label) for run in runs] == [
        ("finished", 1, "größe 🎲, seed 1"),
        ("finished", 2, "größe 🎲, seed 2"),
    ]
    shown.until(lambda: not panel.said.text(), "the sentence to go, which is no longer true")
    panel.form.reset_all()
    panel.train_last()
    shown.until(lambda: len(made) == 2, "the second submit")
    assert [run.total_timesteps for run in client.wait(*made[1])] == [600, 600]
    panel.clone(made[0][1])
    shown.until(lambda: panel.form.fields[STEPS].value == 600, "the clone")
    assert panel.form.fields[LABEL].value == "größe 🎲, seed 2"


def test_what_the_daemon_refuses_stands_at_its_field_and_its_section_opens(open_panel, client):
    shown, panel = open_panel()
    before = len(client.list())
    panel.form.type("resources.gpus", "64")
    panel.form.type(LABEL, "名" * 100_000)
    QTest.mouseClick(panel.start, Qt.MouseButton.LeftButton)
    shown.until(lambda: panel.said.text() and not panel.train_actions.is_starting, "the answer")
    assert "64 asked for" in panel.view.rows["resources.gpus"].said
    assert panel.view.sections["Machine"].is_open
    assert len(client.list()) == before


def test_the_next_window_begins_with_the_last_run(open_panel, show, client):
    shown, panel = open_panel()
    type_into(panel, STEPS, "700")
    type_into(panel, RATE, "2.5e-3")
    QTest.mouseClick(panel.start, Qt.MouseButton.LeftButton)
    shown.until(lambda: shown.studio.selected and not panel.train_actions.is_starting, "the submit")
    client.wait(*shown.studio.selected)
    panel.form.reset_all()
    again = show().window.form
    shown.until(lambda: RATE in again.view.rows, "the form")
    assert (again.form.fields[STEPS].value, again.form.fields[RATE].value) == (700, 2.5e-3)
    assert again.view.rows[RATE].editor.text() == "0.0025"


def test_an_unknown_environment_is_tried_before_it_is_queued(open_panel, client):
    shown, panel = open_panel()
    before = len(client.list())
    type_into(panel, ENV_ID, "CartPole-v9")
    QTest.mouseClick(panel.start, Qt.MouseButton.LeftButton)
    shown.until(lambda: not panel.train_actions.is_starting, "the answer", DRY_RUN_S)
    assert "CartPole-v1" in panel.form.fields[ENV_ID].problem
    assert "refused" in panel.said.text()
    assert len(client.list()) == before


def test_train_without_a_last_run_and_a_clone_of_nothing_say_so(open_panel):
    shown, panel = open_panel()
    panel.train_last()
    assert "Nothing was started" in panel.said.text()
    panel.clone("01K9CG05J5Y0FFQMT1T920EZK2")
    shown.until(lambda: "01K9CG05J5Y0FFQMT1T920EZK2" in panel.said.text(), "the answer")


def test_a_daemon_killed_in_a_dry_run_is_said_and_the_next_one_works(open_panel, home):
    shown, panel = open_panel(home)
    pid = json.loads(home.lock.read_text())["pid"]
    QTest.mouseClick(panel.dry_run, Qt.MouseButton.LeftButton)
    os.kill(pid, signal.SIGKILL)
    shown.until(lambda: newest(shown).outcome != "running", "the end of the dry run", DRY_RUN_S)
    # A call that had not left the window yet is answered by the next daemon.
    if newest(shown).outcome == "failed":
        assert "daemon" in panel.said.text()
    assert panel.dry_run.isEnabled()
    shown.until(lambda: running_address(home) is None or str(pid) not in home.lock.read_text(), "its end")
    # At once: the window, which looks every second, has not seen yet that the daemon is gone.
    QTest.mouseClick(panel.dry_run, Qt.MouseButton.LeftButton)
    shown.until(lambda: newest(shown).outcome != "running", "a new daemon", DRY_RUN_S)
    assert newest(shown).outcome == "ok", panel.said.text()


def test_presets_and_files_bring_the_form_back(open_panel, tmp_path):
    _, panel = open_panel()
    type_into(panel, RATE, "1e-3")
    document = panel.form.stored()
    panel.tools.save_preset()
    dialog = panel.findChild(QInputDialog)
    dialog.setTextValue("fast / hot")
    dialog.accept()
    panel.tools.export_json()
    files = panel.findChild(QFileDialog)
    files.close()
    panel.tools.form_documents.export_file(str(tmp_path / "run.json"))
    exported = json.loads((tmp_path / "run.json").read_text())
    assert exported == document
    panel.form.reset_all()
    panel.tools.presets.aboutToShow.emit()
    next(action for action in panel.tools.presets.actions() if action.text() == "fast / hot").trigger()
    assert panel.form.preset == "fast / hot"
    panel.form.type(ENV_ID, "Acrobot-v1")
    assert not panel.form.preset, "it was for another environment"
    panel.tools.presets.aboutToShow.emit()
    listed = [action.text() for action in panel.tools.presets.actions()]
    assert "fast / hot   ppo · CartPole-v1" in listed
    assert any(text.startswith("tuned   return -8") for text in listed), "Acrobot-v1 has one that ships"
    next(action for action in panel.tools.presets.actions() if action.text().startswith("fast / hot ")).trigger()
    document["metadata"]["ui"] = {"preset": {"name": "fast / hot", "settings": {"learning_rate": 1e-3}}}
    assert panel.form.stored() == document
    panel.form.reset_all()
    panel.tools.form_documents.import_file(str(tmp_path / "run.json"))
    assert panel.form.stored() == exported
    panel.tools.copy_command()
    assert QGuiApplication.clipboard().text() == "mosaic train ppo --learning-rate=0.001"
    (tmp_path / "bad.json").write_text("[1, 2")
    panel.tools.form_documents.import_file(str(tmp_path / "bad.json"))
    assert "not JSON" in panel.said.text()
    fitting, _ = panel.tools.form_documents.presets()
    panel.tools.form_documents.delete(next(one for one in fitting if not one.is_shipped))
    fitting, others = panel.tools.form_documents.presets()
    assert all(one.is_shipped for one in (*fitting, *others))


def test_help_shows_the_page_and_the_field(open_panel):
    _, panel = open_panel()
    panel.show_help()
    assert "Proximal Policy Optimisation" in panel._help.page.toPlainText()
    type_into(panel, RATE, "1")
    assert panel._help._title.text() in ("", "Learning rate")
    panel._explain(RATE)
    assert "Step size of Adam" in panel._help._doc.text()
    panel._help.close()
