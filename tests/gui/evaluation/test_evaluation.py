"""Load Trained Policy and the Evaluate tab on a really trained policy: found, locked, overridden, played, compared."""

import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

from mosaic import config
from mosaic.errors import ConfigError
from mosaic.gui.models.evaluation.evaluation_form import AS_EACH, EPISODES, EvaluationForm
from mosaic.gui.models.evaluation.evaluations import Played, assess
from mosaic.gui.models.evaluation.return_histogram import histogram
from mosaic.gui.models.evaluation.running_estimate import RunningCurve
from mosaic.gui.models.form.run_settings import ALGO, ENV_ID, EXTRAS, SEED
from mosaic.gui.models.form.schema_fields import ENVIRONMENT_SETTINGS
from mosaic.gui.tabs.evaluate import NOTHING, EvaluateTab
from mosaic.gui.widgets.evaluation.policy_dialog import PolicyDialog
from mosaic.rpc.client import Client
from mosaic.rpc.policy_info import PolicyInfo
from mosaic.spec.run_config import PolicyEvalExtras, TrainRunConfig, parse
from mosaic.spec.run_record import RunRecord

from ..conftest import Show, Shown


def info(path: str, **changes: object) -> PolicyInfo:
    facts: dict[str, object] = {"label": "a", "algo": "ppo", "env_id": "CartPole-v1", "seed": 3, "source": "its run"}
    return PolicyInfo(path=path, **facts | changes)  # type: ignore[arg-type]


@pytest.fixture
def form() -> EvaluationForm:
    made = EvaluationForm()
    made.use(config.json_schema(TrainRunConfig))
    return made


def extras_of(document: config.JsonObject) -> PolicyEvalExtras:
    extras = parse(document).metadata.worker.config.extras
    assert isinstance(extras, PolicyEvalExtras)
    return extras


def test_the_form_begins_with_the_defaults_and_what_the_file_says(form: EvaluationForm) -> None:
    assert [field.text for field in form.fields.values() if field.broken_rule] == [""]  # no environment yet
    form.choose([info("/x/ppo.cleanrl_model")])
    assert [form.fields[path].text for path in (ENV_ID, ALGO, SEED)] == ["CartPole-v1", "ppo", "3"]
    assert all(map(form.is_locked, (ENV_ID, ALGO, SEED)))
    [document] = form.documents()
    extras = extras_of(document)
    assert (extras.policy_path, extras.eval_episodes, extras.eval_batch_size) == ("/x/ppo.cleanrl_model", 50, 50)
    assert (extras.eval_repeat, extras.eval_capture_video, extras.seed_override) == (False, False, None)
    assert parse(document).metadata.worker.config.seed == 3


LAKE: dict[str, object] = {"env_id": "FrozenLake-v1", "env_settings": {"is_slippery": False}}
SLIPPERY, MAP = (f"{ENVIRONMENT_SETTINGS}.{name}" for name in ("is_slippery", "map_name"))


@pytest.fixture
def lake_form(client: Client) -> EvaluationForm:
    made = EvaluationForm()
    schema = client.environment("FrozenLake-v1").settings
    made.use(config.json_schema(TrainRunConfig), lambda env_id: schema if env_id == "FrozenLake-v1" else None)
    return made


def settings_of(document: config.JsonObject) -> dict[str, config.JsonValue]:
    return parse(document).environment.settings


def test_the_settings_of_the_training_are_those_of_the_evaluation(lake_form: EvaluationForm) -> None:
    lake_form.choose([info("/x", **LAKE)])
    assert lake_form.environment.fields[SLIPPERY].text == "false"
    assert not lake_form.environment.fields[SLIPPERY].is_changed
    [document] = lake_form.documents()
    assert settings_of(document) == {"is_slippery": False}
    lake_form.environment.type(MAP, '"8x8"')
    lake_form.environment.type(SLIPPERY, "true")
    [document] = lake_form.documents()
    assert settings_of(document) == {"is_slippery": True, "map_name": "8x8"}


def test_several_policies_keep_their_own_settings_but_for_what_is_changed(lake_form: EvaluationForm) -> None:
    lake_form.choose([info("/x", **LAKE), info("/y", env_id="FrozenLake-v1")])
    lake_form.environment.type(MAP, '"8x8"')
    assert [settings_of(document) for document in lake_form.documents()] == [
        {"is_slippery": False, "map_name": "8x8"},
        {"map_name": "8x8"},
    ]


def test_policies_of_several_environments_have_no_settings_in_common(lake_form: EvaluationForm) -> None:
    lake_form.choose([info("/x", **LAKE), info("/y")])
    assert lake_form.environment.fields == {}
    assert [settings_of(document) for document in lake_form.documents()] == [{"is_slippery": False}, {}]


def test_a_setting_out_of_bounds_is_told(lake_form: EvaluationForm) -> None:
    lake_form.choose([info("/x", **LAKE)])
    lake_form.environment.type(f"{ENVIRONMENT_SETTINGS}.success_rate", "3")
    with pytest.raises(ConfigError, match="Success rate: must be at most 1"):
        lake_form.documents()


def test_an_overridden_environment_is_what_is_typed(form: EvaluationForm) -> None:
    form.choose([info("/x"), info("/y", env_id="Acrobot-v1")])
    assert form.fields[ENV_ID].text == AS_EACH
    assert [parse(one).environment.env_id for one in form.documents()] == ["CartPole-v1", "Acrobot-v1"]
    form.override(True)
    assert not form.is_locked(ENV_ID)
    form.type(ENV_ID, "CartPole-v0")
    form.type(EPISODES, "75")
    form.type(f"{EXTRAS}.seed_override", "9")
    assert {parse(one).environment.env_id for one in form.documents()} == {"CartPole-v0"}
    assert {extras_of(one).eval_batch_size for one in form.documents()} == {75}
    form.override(False)
    assert form.fields[ENV_ID].text == AS_EACH


def test_what_is_wrong_with_the_form_is_said(form: EvaluationForm) -> None:
    with pytest.raises(ConfigError, match="no policy is chosen"):
        form.documents()
    form.choose([info("/x", env_id="")])
    assert not form.is_locked(ENV_ID)
    form.type(EPISODES, "0")
    with pytest.raises(ConfigError, match=r"env_id: must not be empty[\s\S]*eval_episodes: must be at least 1"):
        form.documents()


def played(name: str, returns: list[float], *, seed: int = 1, env_id: str = "CartPole-v1") -> Played:
    return Played(name, name, 0, env_id, seed, np.array(returns), 1)


def test_policies_are_compared_where_they_met_the_same_episodes() -> None:
    first, second = played("a", [1, 2, 3, 4]), played("b", [12, 13, 14], seed=2)
    found = assess([first, second, played("c", [1], env_id="Acrobot-v1"), played("d", [1], seed=99)])
    assert found[0].pair is None
    pair = found[1].pair
    assert pair is not None
    assert (pair.episodes, pair.difference.value, pair.better) == (3, 10.0, 1.0)
    assert found[2].why_not == "plays Acrobot-v1, not CartPole-v1"
    assert found[3].why_not.startswith("no episode in common")


def test_the_histogram_has_the_bins_in_common_and_counts_every_return() -> None:
    made = histogram([played("a", [0.0, 1.0, 1.0, 10.0]), played("b", [5.0, float("nan")])])
    assert (made.edges[0], made.edges[-1], made.left_out) == (0.0, 10.0, 1)
    assert [float(bars.shares.sum()) for bars in made.bars] == pytest.approx([1.0, 1.0])
    same = histogram([played("a", [500.0] * 5)])
    assert same.edges[0] < 500 < same.edges[-1]
    assert histogram([played("a", [float("inf")])]).bars == ()


def test_the_running_estimate_ends_at_the_mean() -> None:
    curve = RunningCurve(played("a", [1.0, 2.0, 6.0, 7.0, 9.0]))
    drawn = curve.drawn(-np.inf, np.inf, 100)
    assert drawn.line.y.tolist() == [1.0, 1.5, 3.0, 4.0, 5.0]
    assert drawn.band[0][4] < 5.0 < drawn.band[1][4]
    assert np.isnan(drawn.band[0][:4]).all(), "no interval below five episodes"
    assert curve.at(3.2) == (3.0, 1)


def dialog_of(shown: Shown) -> PolicyDialog:
    shown.window.load_policy()
    dialog = shown.window.policies
    assert dialog is not None
    shown.until(lambda: dialog.rows and dialog.evaluation_actions.policies.rowCount(), "the list of policies")
    return dialog


def tab_of(shown: Shown) -> EvaluateTab:
    tab = shown.window.tabs["Evaluate"]
    assert isinstance(tab, EvaluateTab)
    return tab


def test_the_policy_of_the_current_run_is_chosen_locked_evaluated_and_shown(show: Show, trained: RunRecord) -> None:
    shown = show()
    shown.until(lambda: shown.studio.runs.get(trained.run_id))
    shown.window.runs.select([trained.run_id])
    shown.until(lambda: shown.studio.current == trained.run_id)
    dialog, tab = dialog_of(shown), tab_of(shown)
    assert tab.blank.text == NOTHING
    shown.until(lambda: [one.run_id for one in dialog.form.chosen] == [trained.run_id], "its policy")
    env = dialog.rows[ENV_ID].editor
    assert (env.property("text"), env.isEnabled()) == ("CartPole-v1", False)
    dialog.override.click()
    assert env.isEnabled()
    dialog.override.click()
    dialog.form.type(EPISODES, "20")
    dialog.start.click()
    shown.until(lambda: not dialog.isVisible(), "the start")
    run_id = shown.studio.current
    shown.until(lambda: tab.model.assessed and tab.model.assessed[0].played.run_id == run_id, "its returns")
    assert tab.line.text().startswith("batch 1 · 20 episodes · return ")
    [[name, episodes, *_]] = tab.table.texts()
    assert (name, episodes) == (trained.label, "20")
    assert tab.histogram.content is not None
    assert tab.chart is not None
    assert len(tab.chart.curves) == 1


def test_two_policies_are_compared_on_the_same_episodes(show: Show, client: Client, trained: RunRecord) -> None:
    other = client.wait(client.train("ppo", env_id="CartPole-v1", total_timesteps=1024, seeds=[7])[0].run_id)[0]
    shown = show()
    dialog, tab = dialog_of(shown), tab_of(shown)
    paths = [one.path for one in client.policies() if one.run_id in (trained.run_id, other.run_id)]
    shown.until(lambda: len(dialog.evaluation_actions.policies.policies) >= 2, "both policies")
    dialog.picker.choose(paths)
    assert len(dialog.form.chosen) == 2
    assert dialog.start.text() == " Compare"
    dialog.form.type(EPISODES, "10")
    dialog.start.click()
    shown.until(lambda: len(tab.model.assessed) == 2, "both evaluations")
    pair = tab.model.assessed[1].pair
    assert pair is not None
    assert pair.episodes == 10
    assert tab.table.texts()[0][5] == "reference"
    assert tab.table.texts()[1][6] == f"{pair.better:.0%}"


def test_a_repeating_evaluation_shows_each_batch_and_ends_finished(
    show: Show, client: Client, trained: RunRecord
) -> None:
    shown = show()
    dialog, tab = dialog_of(shown), tab_of(shown)
    dialog.picker.choose_run(trained.run_id)
    dialog.form.type(EPISODES, "5")
    dialog.form.type(f"{EXTRAS}.eval_repeat", "true")
    dialog.start.click()
    shown.until(lambda: tab.model.assessed and tab.model.assessed[0].played.batches >= 3, "three batches")
    run_id = shown.studio.current
    client.cancel(run_id)
    shown.until(lambda: (record := shown.studio.runs.get(run_id)) and record.state == "finished", "its end")
    summaries = json.loads(b"".join(client.read_artifact(run_id, "eval_summary.json")))
    shown.until(lambda: tab.model.assessed[0].played.batches == len(summaries), "the last batch")
    assert tab.line.text().startswith(f"batch {len(summaries)} · 5 episodes")
    assert len(tab.model.assessed[0].played.returns) == 5 * len(summaries)


def test_a_file_from_elsewhere_is_browsed_for_and_a_broken_one_explained(
    show: Show, client: Client, trained: RunRecord, tmp_path: Path
) -> None:
    shown = show()
    dialog = dialog_of(shown)
    [policy] = [one for one in client.policies() if one.run_id == trained.run_id]
    dialog.picker.choose([])
    assert dialog.rows[ENV_ID].said == ""  # Nothing is wrong before a policy is chosen.
    copy = tmp_path / "somewhere.cleanrl_model"
    shutil.copy(policy.path, copy)
    dialog.evaluation_actions.browse(str(copy))
    shown.until(lambda: [one.path for one in dialog.form.chosen] == [str(copy)], "the file")
    assert dialog.source.text() == "Detected from the file."
    dialog.evaluation_actions.dry_run()
    shown.until(lambda: "Dry run: ok" in dialog.said.text(), "the dry run", 60)

    with zipfile.ZipFile(tmp_path / "model.pt", "w") as archive:
        archive.writestr("archive/data.pkl", b"x")
    dialog.evaluation_actions.browse(str(tmp_path / "model.pt"))
    shown.until(lambda: len(dialog.form.chosen) == 1 and not dialog.form.chosen[0].env_id, "the foreign file")
    assert dialog.rows[ENV_ID].editor.isEnabled()
    assert "type it" in dialog.source.text()
    dialog.form.type(ENV_ID, "")
    assert dialog.rows[ENV_ID].said == "must not be empty"

    (tmp_path / "broken").write_bytes(b"no policy at all")
    dialog.evaluation_actions.browse(str(tmp_path / "broken"))
    shown.until(lambda: "neither a policy of MOSAIC" in dialog.said.text(), "why not")


def test_a_finished_run_appears_in_the_open_list_by_itself(show: Show, client: Client, trained: RunRecord) -> None:
    shown = show()
    dialog = dialog_of(shown)
    run = client.train("ppo", env_id="CartPole-v1", total_timesteps=1024, label="brand new")[0]
    shown.until(
        lambda: run.run_id in {one.run_id for one in dialog.evaluation_actions.policies.policies}, "the new policy"
    )
