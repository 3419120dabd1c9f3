"""The Sweeps tab and the form of a sweep: what they show of a sweep's files, and what they ask of the daemon."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit

from mosaic import config
from mosaic.gui.models.sweeps import trial_plots
from mosaic.gui.tabs.sweeps import SweepsTab
from mosaic.gui.widgets.sweeps.sweep_dialog import SweepDialog
from mosaic.rpc.client import Client
from mosaic.spec.run_dir import Home, new_run_id
from mosaic.sweep import sweep_dir, sweep_plan, sweep_state
from mosaic.sweep.space import Dimension
from mosaic.sweep.sweep_dir import SweepDir

from ..conftest import Show, Shown

SPACE = [
    {"name": "learning_rate", "low": 1e-5, "high": 1e-2, "scale": "log"},
    {"name": "num_envs", "choices": [4, 8, 16]},
]


def written(home: Home, lines: list[dict[str, Any]], **changes: Any) -> SweepDir:
    """A sweep as a controller would have left it."""
    worker = {"algo": "ppo", "env_id": "CartPole-v1", "total_timesteps": 1000, "extras": {"mode": "train"}}
    data: dict[str, Any] = {
        "label": "by hand",
        "document": {
            "environment": {"env_id": "CartPole-v1"},
            "artifacts": {},
            "metadata": {"worker": {"config": worker}},
        },
        "space": SPACE,
        "defaults": {"learning_rate": 2.5e-4, "num_envs": 4},
        "created_at": 1.0,
    }
    made = sweep_dir.create(home, new_run_id(), sweep_plan.parse({**data, **changes}))
    made.trials.write_bytes(b"".join(sweep_dir.dumped(line) for line in lines))
    return made


def trials(*values: float | None) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for number, value in enumerate(values):
        params = {"learning_rate": 2.5e-4 * (number + 1), "num_envs": (4, 8, 16)[number % 3]}
        made.append({"kind": "asked", "trial": number, "params": params})
        end = "failed" if value is None else "finished"
        made.append({"kind": "told", "trial": number, "seed": 1, "end": end, "value": value, "reason": "NaN"})
    return made


def ended(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [*lines, {"kind": "ended", "end": "finished", "at": 2.0}]


def confirmed(numbers: list[int]) -> list[dict[str, Any]]:
    seeds = list(range(101, 111))
    made: list[dict[str, Any]] = [{"kind": "confirm", "trials": numbers, "seeds": seeds}]
    for number in numbers:
        made += [
            {"kind": "told", "trial": number, "seed": seed, "end": "finished", "value": 10.0 * number + seed - 100}
            for seed in seeds
        ]
    return made


def page_of(shown: Shown) -> SweepsTab:
    tab = shown.window.tabs["Sweeps"]
    assert isinstance(tab, SweepsTab)
    shown.window._stack.setCurrentWidget(shown.window.bench)  # pyright: ignore[reportPrivateUsage]
    shown.window.bench.bring_up("Sweeps")
    return tab


def test_a_sweep_is_shown_with_trials_history_and_what_is_confirmed(home: Home, show: Show) -> None:
    raced = [{"kind": "confirm", "trials": [3], "seeds": [101, 102]}]
    raced += [{"kind": "told", "trial": 3, "seed": seed, "end": "finished", "value": 999.0} for seed in (101, 102)]
    written(home, ended([*trials(20.0, 50.0, None, 30.0), *confirmed([0, 1]), *raced]))
    shown = show(home)
    tab = page_of(shown)
    shown.until(lambda: tab.model.state is not None and tab.table.texts(), "the trials")
    assert [row[:3] for row in tab.table.texts()] == [
        ["1", "finished", "50.0"],
        ["3", "finished", "30.0"],
        ["0 · default", "finished", "20.0"],
        ["2", "failed", ""],
    ]
    assert len(tab.history.content.points) == 3
    assert len(tab.parallel.content.lines) == 3
    assert [axis.title for axis in tab.parallel.content.axes] == ["learning rate", "num envs", "episodic return"]
    assert "importance takes 8 trials" in tab.importance.why_not
    assert "Trial 1: IQM" in tab.statement.text()
    assert tab.confirmed.tree.topLevelItemCount() == 3
    behind = tab.confirmed.tree.topLevelItem(2)
    assert behind is not None
    assert [behind.text(0), behind.text(1)] == ["trial 3", "2, dropped"]
    assert "1 other was dropped after 2 seeds." in tab.statement.text()
    assert tab.pages.isTabVisible(1)
    assert "finished · 4 of 4 trials · 1 failed" in tab.line.text()
    assert not any(button.isVisible() for button in tab.buttons.values())


def test_without_a_sweep_the_page_says_how_to_begin_one(home: Home, show: Show) -> None:
    shown = show(home)
    tab = page_of(shown)
    shown.until(lambda: tab.model.has_looked, "the daemon's answer")
    assert "mosaic sweep ppo" in tab.blank.text
    assert tab.blank.isVisible()


def test_train_the_best_fills_the_form_with_its_settings(home: Home, show: Show) -> None:
    written(home, ended(trials(20.0, 50.0, 30.0)))
    shown = show(home)
    tab = page_of(shown)
    shown.until(lambda: tab.train.isEnabled() and shown.window.form.form.fields, "the best")
    tab.train.click()
    form = shown.window.form.form
    shown.until(lambda: form.fields["metadata.worker.config.extras.algo_params.num_envs"].value == 8, "the settings")
    assert form.fields["metadata.worker.config.extras.algo_params.learning_rate"].value == 5e-4
    assert form.fields["metadata.worker.config.total_timesteps"].value == 1000
    assert "Trial 1 of the sweep is in the form" in shown.window.form.said.text()


def test_a_damaged_sweep_is_told_and_the_others_are_shown(home: Home, show: Show) -> None:
    written(home, ended(trials(1.0, 2.0)))
    bad = written(home, [])
    bad.trials.write_bytes(b"not json\n")
    shown = show(home)
    tab = page_of(shown)
    shown.until(lambda: tab.choice.count() == 2, "both")
    shown.until(lambda: "line 1" in tab.line.text(), "the damage")
    tab.choice.setCurrentIndex(1)
    tab.choice.activated.emit(1)
    shown.until(lambda: tab.table.texts() and "finished" in tab.line.text(), "the other one")


def test_where_a_value_stands_on_its_scale() -> None:
    rate = Dimension(name="learning_rate", low=1e-5, high=1e-1, scale="log")
    assert trial_plots.place(rate, 1e-3) == pytest.approx(0.5)
    assert trial_plots.place(rate, 1.0) == 1.0
    assert trial_plots.place(rate, None) is None
    assert trial_plots.place(Dimension(name="a", choices=("x", "y", "z")), "y") == 0.5
    assert trial_plots.place(Dimension(name="a", choices=("x", "y", "z")), "other") is None


def test_the_line_of_the_best_goes_up_only() -> None:
    state = sweep_state.fold(
        sweep_plan.parse(
            {
                "document": {"environment": {}, "metadata": {"worker": {"config": {"total_timesteps": 9}}}},
                "space": SPACE,
                "defaults": {},
            }
        ),
        trials(5.0, 3.0, 9.0, 7.0),
        [],
    )
    best = trial_plots.history(state).best
    assert [x for x, _ in best] == [0.0, pytest.approx(2 / 3), 1.0]
    assert best[0][1] < best[1][1] == best[2][1]


@pytest.fixture
def dialog(show: Show) -> Iterator[tuple[Shown, SweepDialog]]:
    shown = show()
    shown.until(lambda: shown.window.form.form.fields and shown.window.form.sweep.isEnabled(), "the form")
    made = shown.window.form.open_sweep()
    yield shown, made
    made.close()


def test_the_form_of_a_sweep_begins_with_the_algorithms_own_space(dialog: tuple[Shown, SweepDialog]) -> None:
    _, made = dialog
    names = [check.text() for check, _ in made.lines]
    assert "learning_rate" in names
    assert made.lines[names.index("learning_rate")][1].text() == "log:1e-05..0.01"
    plan = made.form.plan()
    assert plan["trials"] == 60
    assert plan["own_seeds"] == 1
    assert {one["name"] for one in plan["space"]} == set(names)


def test_what_is_wrong_with_a_line_is_shown_at_it(dialog: tuple[Shown, SweepDialog]) -> None:
    _, made = dialog
    line = made.lines[0][1]
    line.setText("log:5..1")
    assert line.property("broken")
    assert "is empty" in line.toolTip()
    made.form.start()
    assert "Searched settings: learning_rate: the range log:5..1 is empty" in made.said.text()
    line.setText("log:1e-4..1e-3")
    assert not line.property("broken")
    made.further.setText("num_envs=2,4")
    made.add.click()
    assert made.lines[-1][0].text() == "num_envs"
    made.further.setText("nothing=1,2")
    made.add.click()
    assert "is not a setting" in made.said.text()


def test_settings_of_the_environment_are_searched_and_misspelt_ones_told(dialog: tuple[Shown, SweepDialog]) -> None:
    _, made = dialog
    made.further.setText("env.sutton_barto=true,false")
    made.add.click()
    assert "did you mean sutton_barto_reward" in made.said.text()
    made.further.setText("env.sutton_barto_reward=true,false")
    made.add.click()
    plan = made.form.plan()
    assert plan["space"][-1]["choices"] == [True, False]
    assert plan["defaults"]["env.sutton_barto_reward"] is False


def test_a_budget_that_cannot_be_is_told_by_the_names_of_the_fields(dialog: tuple[Shown, SweepDialog]) -> None:
    _, made = dialog
    for name, text in (("trials", "1"), ("steps", "1k"), ("confirm_seeds", "1001-1005")):
        editor = made.editors[name]
        assert isinstance(editor, QLineEdit)
        editor.setText(text)
    made.form.start()
    said = made.said.text()
    assert "Trials: 1 is the default settings alone" in said
    assert "Steps in all: 1,000 is less than one trial" in said
    assert "Fresh seeds: 1001: 1,001 to 1,001 are the trials' own seeds" in said


def test_a_paused_sweep_does_not_offer_to_resume_its_pruned_trials(home: Home, show: Show) -> None:
    pruned = [{"kind": "told", "trial": 2, "seed": 1, "end": "pruned", "value": None}]
    lines = [*trials(1.0, 2.0, 3.0)[:-1], *pruned, {"kind": "heard", "request": 1, "verb": "pause"}]
    written(home, lines, seeds=[1])
    shown = show(home)
    tab = page_of(shown)
    shown.until(lambda: tab.model.state is not None and tab.model.pruned == [2], "the trials")
    assert not tab.resume.isVisible()


def test_a_mean_over_seeds_has_its_number_beside_it(home: Home, show: Show) -> None:
    lines = trials(1.0, 2.0)
    lines += [{**line, "seed": 2, "value": 3.0} for line in lines if line["kind"] == "told"]
    written(home, ended(lines), seeds=[1, 2])
    shown = show(home)
    tab = page_of(shown)
    shown.until(lambda: tab.model.state is not None and tab.table.texts(), "the trials")
    assert tab.table.tree.headerItem().text(2) == "Value (mean, n = 2)"
    assert "best so far 2.5 (n = 2) in trial 1" in tab.line.text()
    assert "2.5 (n = 2)" in tab.history.content.points[1].text


def test_a_sweep_that_is_chosen_while_another_is_computed_gets_its_importance(home: Home, show: Show) -> None:
    ids = [written(home, ended(trials(*(float(at * at) for at in range(9))))).sweep_id for _ in range(2)]
    shown = show(home)
    tab = page_of(shown)
    shown.until(lambda: tab.model.state is not None, "the first of them")
    tab.show_sweep(next(one for one in ids if one != tab.model.current))
    shown.until(lambda: tab.importance.shares, "its importance")


def test_a_sweep_is_begun_by_keys_alone_and_its_page_opens(
    dialog: tuple[Shown, SweepDialog], client: Client, daemon_home: Home
) -> None:
    shown, made = dialog
    form = shown.window.form.form
    for name, text in (("num_envs", "2"), ("num_steps", "32"), ("num_minibatches", "1")):
        form.type(f"metadata.worker.config.extras.algo_params.{name}", text)
    form.type("metadata.worker.config.total_timesteps", "256")
    for check, _ in made.lines:
        if check.text() != "gamma" and check.isChecked():
            check.setFocus()
            QTest.keyClick(check, Qt.Key.Key_Space)
    for name, text in (("trials", "2"), ("confirm", "0"), ("label", "by keys")):
        editor = made.editors[name]
        editor.setFocus()
        QTest.keyClick(editor, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
        QTest.keyClicks(editor, text)
    QTest.keyClick(made.editors["label"], Qt.Key.Key_Return)
    tab = shown.window.tabs["Sweeps"]
    assert isinstance(tab, SweepsTab)
    shown.until(lambda: tab.isVisible() and tab.model.current, "the page")
    shown.until(lambda: tab.model.summary is not None and tab.model.summary.phase in ("finished", "failed"), "the end")
    assert tab.model.summary is not None
    assert (tab.model.summary.phase, tab.model.summary.reason) == ("finished", "")
    assert len(tab.table.texts()) == 2
    plan = json.loads(sweep_dir.sweep_of(daemon_home, tab.model.current).plan.read_bytes())
    assert plan["label"] == "by keys"
    assert [one["name"] for one in plan["space"]] == ["gamma"]
    assert config.loads(client.sweep(tab.model.current).sweep.plan_json)["trials"] == 2
