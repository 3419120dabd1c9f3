"""The train form without a window: numbers, fields from schemas, documents, problems, presets, the command line."""

import json
import math
import shlex
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic import config
from mosaic.cli.train import train
from mosaic.errors import ConfigError, MosaicError, UnknownAlgorithm
from mosaic.gui.models.daemon.daemon_link import DaemonLink
from mosaic.gui.models.form import catalogue_model as catalogues
from mosaic.gui.models.form.catalogue_model import CatalogueModel, Family
from mosaic.gui.models.form.config_problems import problems_in
from mosaic.gui.models.form.form_documents import command_line
from mosaic.gui.models.form.form_presets import FormPresets, document_with
from mosaic.gui.models.form.run_settings import ENV_ID, EXTRAS, LABEL, PARAMS, PRIORITY, SEED, SEEDS, WORKER
from mosaic.gui.models.form.schema_fields import settings_of
from mosaic.gui.models.form.train_form import TrainForm
from mosaic.numbers import parse_float, parse_int, show_number
from mosaic.spec.run_dir import Home
from mosaic.spec.seed_list import parse_seeds

RATE = f"{PARAMS}.learning_rate"
STEPS = f"{WORKER}.total_timesteps"
KEY = f"{EXTRAS}.wandb_api_key"
TRACK = f"{EXTRAS}.track_wandb"


@pytest.fixture(scope="module")
def content(client):
    return catalogues.ask(client)


@pytest.fixture
def catalogue(application, content, daemon_home):
    made = CatalogueModel(DaemonLink(daemon_home))
    made.take(content)
    return made


@pytest.fixture
def form(application, content, daemon_home):
    catalogue = CatalogueModel(DaemonLink(daemon_home))
    made = TrainForm(catalogue)
    made.catalogue_ = catalogue  # kept alive
    catalogue.take(content)
    return made


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e6", 1_000_000),
        ("10M", 10_000_000),
        ("50k", 50_000),
        ("2.5k", 2500),
        ("1_000_000", 1_000_000),
        ("10,000,000", 10_000_000),
        (" 1 000 000 ", 1_000_000),
        ("1.5e3", 1500),
        ("-7", -7),
        ("0e999", 0),
        (str(2**53 + 1), 2**53 + 1),
    ],
)
def test_whole_numbers_are_read_as_users_type_them(text, value):
    assert parse_int(text) == value
    assert type(parse_int(text)) is int


@pytest.mark.parametrize(
    ("text", "value"),
    [("2.5e-4", 2.5e-4), (".5", 0.5), ("1e-5", 1e-5), ("0.1", 0.1), ("3.", 3.0), ("−1.5", -1.5), ("1,234.5", 1234.5)],
)
def test_fractions_are_read_to_the_last_bit(text, value):
    assert parse_float(text) == value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("NaN", "finite"),
        ("-inf", "finite"),
        ("1,5", "not a number"),
        ("1e6x", "not a number"),
        ("ten", "not a number"),
        ("0x10", "not a number"),
        ("1e400", "too large"),
        ("9" * 401, "too long"),
        ("1e" + "9" * 300, "too large"),
        ("٣", "not a number"),
    ],
)
def test_what_is_no_number_is_refused_with_a_reason(text, said):
    with pytest.raises(ValueError, match=said):
        parse_float(text)


@pytest.mark.parametrize(("text", "said"), [("0.5", "whole"), ("1e-3", "whole"), ("1e99999", "too large")])
def test_what_is_no_whole_number_is_refused(text, said):
    with pytest.raises(ValueError, match=said):
        parse_int(text)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_shown_float_reads_back_as_itself(value):
    assert parse_float(show_number(value)) == value


@given(st.integers(-(10**30), 10**30))
def test_a_shown_whole_number_reads_back_as_itself(value):
    assert parse_int(show_number(value)) == value


@given(st.text(max_size=60))
def test_no_text_makes_the_reader_fail_otherwise(text):
    for parse in (parse_int, parse_float):
        try:
            assert math.isfinite(parse(text))
        except ValueError as error:
            assert str(error)  # noqa: PT017


def test_seeds_are_ranges_and_lists():
    assert parse_seeds("1-5") == [1, 2, 3, 4, 5]
    assert parse_seeds("1, 3,7") == [1, 3, 7]
    assert parse_seeds("") == []
    for text in ("5-1", "1,1", "x", ",", "1-2000", "99999999999", "-3"):
        with pytest.raises(ValueError, match=r".+"):
            parse_seeds(text)
        with pytest.raises(MosaicError):
            train.seeds_of(text)


def test_every_setting_of_every_algorithm_has_a_field(form, content):
    for name, algorithm in content.algorithms.items():
        form.use(name)
        names = {path.rpartition(".")[2] for path in form.fields}
        assert set(algorithm.schema["properties"]) <= names
        placed = [path for section in form.sections for path in section.paths]
        assert sorted(placed) == sorted(form.fields)
        for field in form.fields.values():
            assert not field.problem, field.setting
            assert not field.is_changed, field.setting
            assert field.setting.doc, field.setting.path


def test_a_schema_of_an_unknown_algorithm_makes_fields(form, content):
    properties = {
        "depth": {"type": "integer", "default": 3, "minimum": 1, "maximum": 9, "description": "Layers."},
        "shape": {"enum": ["round", "square"], "type": "string", "default": "round"},
        "hidden": {"type": "array", "items": {"type": "integer"}, "default": [64, 64]},
        "limit": {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "null"}], "default": None},
    }
    found = {one.name: one for one in settings_of({"properties": properties}, inside={}, kind="train")}
    assert [one.kind for one in found.values()] == ["integer", "choice", "json", "number"]
    assert found["depth"].bounds == "at least 1, at most 9"
    assert found["shape"].parse('"square"') == "square"
    assert found["hidden"].parse(found["hidden"].show([32, 32])) == [32, 32]
    assert found["limit"].parse("none") is None
    for name, text in (("depth", "10"), ("shape", '"oval"'), ("hidden", "64,"), ("limit", "0")):
        with pytest.raises(ValueError, match=r".+"):
            found[name].parse(text)


@pytest.mark.parametrize("algo", ["ppo", "dqn", "ppo_continuous_action", "sac_continuous_action"])
def test_the_untouched_form_is_the_document_of_the_bare_command(form, client, algo):
    form.use(algo)
    settings, flags, _ = train.parse(client, algo, [])
    assert form.document() == config.to_json(train.document_of(algo, settings, flags))
    assert command_line(form) == f"mosaic train {algo}"


CHANGES = {
    LABEL: "-später, «Größe» 🎲",
    SEED: "7",
    SEEDS: "1-3,9",
    STEPS: "10M",
    ENV_ID: "Acrobot-v1",
    RATE: "1e-5",
    f"{PARAMS}.anneal_lr": "false",
    f"{PARAMS}.target_kl": "0.02",
    f"{PARAMS}.bootstrap_truncated": "true",
    f"{EXTRAS}.notes": "two\nlines with 'quotes', $HOME and \"more\"",
    f"{EXTRAS}.video_mode": '"single"',
    f"{EXTRAS}.checkpoint_interval_s": "0",
    f"{EXTRAS}.save_model": "false",
    TRACK: "true",
    f"{EXTRAS}.wandb_entity": "a team",
    KEY: "s3cr3t",
    "artifacts.tensorboard.enabled": "false",
    "resources.gpus": "0.25",
    "resources.cpus": "2",
    PRIORITY: "-3",
}


def change(form):
    for path, text in CHANGES.items():
        form.type(path, text)
        assert not form.fields[path].problem, path


def test_a_setting_that_may_name_a_file_says_so_and_switches_govern_what_is_theirs(form):
    form.use("bdi_q")
    plans = form.fields[f"{PARAMS}.plans"].setting
    assert (plans.kind, plans.file_ending, plans.example) == ("text", ".asl", "FILE.asl")
    assert not form.is_shown(f"{PARAMS}.spade_port")
    form.type(f"{PARAMS}.spade", "true")
    assert form.is_shown(f"{PARAMS}.spade_port")


def test_an_environment_without_numbered_states_is_refused_in_the_form(form):
    form.use("bdi_q")
    assert form.env_id == "FrozenLake-v1"
    assert form.catalogue_.misfit("FrozenLake-v1", "bdi_q") == ""
    assert form.catalogue_.misfit("CartPole-v1", "bdi_q").startswith("bdi_q needs discrete observations, CartPole-v1")
    offered = {env_id for family in form.catalogue_.search("", "bdi_q") for env_id, _ in family.environments}
    assert {"FrozenLake-v1", "CliffWalking-v1", "Taxi-v4"} <= offered
    assert offered.isdisjoint({"CartPole-v1", "Blackjack-v1", "Pendulum-v1"})


def test_the_command_line_parses_back_to_the_same_document(form, client):
    change(form)
    words = shlex.split(command_line(form))
    assert words[:3] == ["mosaic", "train", "ppo"]
    settings, flags, _ = train.parse(client, "ppo", words[3:])
    assert config.to_json(train.document_of("ppo", settings, flags)) == form.document()
    assert train.seeds_of(flags.seeds) == form.seeds == [1, 2, 3, 9]
    assert flags.priority == form.priority == -3
    assert "s3cr3t" not in " ".join(words)
    assert len(words) == 3 + len(CHANGES) - 1, "only what differs, and no key"


def test_a_stored_document_fills_the_form_again(form):
    change(form)
    stored = json.loads(json.dumps(form.stored()))
    document = form.document()
    form.use("dqn")
    form.reset_all()
    assert form.fill(stored) == []
    assert form.algo == "ppo"
    assert form.document() == document
    assert form.seeds == [1, 2, 3, 9]
    assert form.priority == -3


def test_a_secret_goes_to_the_daemon_and_nowhere_else(form):
    change(form)
    assert form.document(with_secrets=True)["metadata"]["worker"]["config"]["extras"]["wandb_api_key"] == "s3cr3t"
    assert "s3cr3t" not in json.dumps([form.document(), form.stored()])
    form.type(TRACK, "false")
    assert "s3cr3t" not in json.dumps(form.document(with_secrets=True)), "a key that is not shown is not sent"
    assert not form.is_shown(KEY)


def test_what_a_document_has_and_the_form_has_not_is_named(form):
    stored = form.stored()
    stored["metadata"]["worker"]["config"]["extras"]["algo_params"]["warp"] = 9
    assert form.fill(stored) == [f"{PARAMS}.warp"]
    with pytest.raises(UnknownAlgorithm):
        form.fill({"metadata": {"worker": {"config": {"algo": "nope"}}}})
    with pytest.raises(ConfigError):
        form.fill({"metadata": {"worker": {"config": {"algo": "ppo", "extras": {"mode": "policy_eval"}}}}})


def test_broken_values_of_a_document_are_shown_where_they_are(form):
    stored = form.stored()
    params = stored["metadata"]["worker"]["config"]["extras"]["algo_params"]
    params |= {"learning_rate": "fast", "anneal_lr": 3, "num_envs": None, "gamma": [1]}
    form.fill(stored)
    broken = {path.rpartition(".")[2] for path, field in form.fields.items() if field.problem}
    assert broken == {"learning_rate", "anneal_lr", "num_envs", "gamma"}
    assert form.fields[RATE].text == "fast"
    with pytest.raises(ConfigError) as raised:
        form.document()
    assert len(raised.value.problems) == 4


@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        (RATE, "0", "more than 0"),
        (RATE, "", "empty"),
        (RATE, "nan", "finite"),
        (f"{PARAMS}.gamma", "1.01", "at most 1"),
        (f"{PARAMS}.num_envs", "2.5", "whole"),
        (SEED, "-1", "at least 0"),
        (SEED, str(2**32), "at most"),
        (ENV_ID, "", "empty"),
        (SEEDS, "5-1", "1-5"),
        (f"{EXTRAS}.grid_limit", "65", "at most 64"),
        ("resources.cpus", "0", "at least 1"),
    ],
)
def test_a_broken_rule_is_known_at_once_and_gone_with_the_default(form, path, text, said):
    form.type(path, text)
    assert said in form.fields[path].problem
    assert form.fields[path].is_changed
    with pytest.raises(ConfigError):
        form.document()
    form.reset(path)
    assert not form.fields[path].problem
    assert not form.fields[path].is_changed
    form.document()


def test_what_the_daemon_refuses_lands_on_the_fields(form, client):
    document = form.document()
    document["resources"]["gpus"] = 64
    form.refuse(client.validate(document).problems)
    assert "64 asked for" in form.fields["resources.gpus"].problem
    form.forget_refusals()
    params = document["metadata"]["worker"]["config"]["extras"]["algo_params"]
    params["learning_rate"] = -1.0
    document["resources"]["gpus"] = 0
    form.refuse(client.validate(document).problems)
    assert "greater than 0" in form.fields[RATE].problem
    assert not form.problems
    form.type(RATE, "1e-3")
    assert not form.fields[RATE].problem, "what was said about another value"
    with pytest.raises(MosaicError) as refused:
        client.submit(document)
    form.refuse(problems_in(str(refused.value)))
    assert "greater than 0" in form.fields[RATE].problem


def test_rules_that_only_a_worker_knows_land_on_the_field_that_they_name(form, client):
    form.type(f"{PARAMS}.num_minibatches", "100k")
    found = client.validate(form.document())
    assert not found.ok
    form.refuse(found.problems or problems_in(found.output))
    assert "more than the 512 steps" in form.fields[f"{PARAMS}.num_minibatches"].problem, found
    assert not form.problems


@pytest.mark.parametrize(
    ("said", "path"),
    [
        ("error: ppo needs discrete or multi_discrete actions, Pendulum-v1 has Box(-2.0, 2.0): use x", ENV_ID),
        ("error: python -m cleanrl_worker.cli: 1 problem\n  --track-wandb: is odd", TRACK),
        ("error: environment 'Pendulum-v1' is not known; did you mean Pendulum-v9?", ENV_ID),
        ("submit: 2 problems\n  seeds: must be different\n  resources.gpus: 4 asked for", "resources.gpus"),
        ("run config: 1 problem\n  environment.env_id: is missing", ENV_ID),
        (
            "run config: 1 problem\n  metadata.worker.config.extras.algo_params: Value error, gamma is odd",
            f"{PARAMS}.gamma",
        ),
        ("Traceback: …\nerror: learning_rate is 0, which learns nothing", RATE),
    ],
)
def test_sentences_of_workers_find_their_field(form, said, path):
    form.type(ENV_ID, "Pendulum-v1")
    form.refuse(problems_in(said))
    assert form.fields[path].problem
    assert "Value error" not in form.fields[path].problem
    assert not form.problems


def test_of_a_worker_that_crashed_the_last_line_stands_at_the_top(form):
    said = (
        'making CartPole-v1 …\nTraceback (most recent call last):\n  File "/opt/mosaic/cli.py", line 3, in <module>\n'
        "    import missing\nModuleNotFoundError: No module named 'missing'\n"
    )
    form.refuse(problems_in(said))
    assert form.problems == ["ModuleNotFoundError: No module named 'missing'"]


def test_a_problem_of_no_field_stands_at_the_top(form):
    form.refuse(problems_in("the daemon's disk or system refused: [Errno 28] No space left on device"))
    assert form.problems == ["the daemon's disk or system refused: [Errno 28] No space left on device"]
    form.type(RATE, "1e-3")
    assert form.problems == []


def test_long_and_foreign_texts_are_kept_whole(form):
    for text in ("x" * 100_000, "日本語 \u202e الاسم", " spaces ", "None"):
        form.type(LABEL, text)
        assert form.document()["run_name"] == text


def test_seeds_of_a_group_are_used_instead_of_the_seed(form):
    form.type(SEEDS, "3-4")
    assert "group" in form.fields[SEED].hint
    assert form.seeds == [3, 4]
    form.reset(SEEDS)
    assert not form.fields[SEED].hint


def test_another_algorithm_keeps_what_was_set_and_the_rest_comes_back(form):
    form.type(LABEL, "mine")
    form.type(RATE, "1e-3")
    form.type(STEPS, "5k")
    form.type(f"{PARAMS}.clip_coef", "0.3")
    form.type(ENV_ID, "Acrobot-v1")
    form.use("dqn")
    assert form.fields[LABEL].text == "mine"
    assert form.fields[STEPS].value == 5000
    assert form.fields[RATE].value == 1e-3, "it has this setting too"
    assert form.env_id == "Acrobot-v1"
    form.use("sac_continuous_action")
    assert form.env_id != "Acrobot-v1", "what does not fit is not taken along"
    form.use("dqn")
    assert form.env_id == "Acrobot-v1"
    form.reset(RATE)
    form.use("ppo")
    assert form.fields[f"{PARAMS}.clip_coef"].value == 0.3
    assert not form.fields[RATE].is_changed, "it was reset meanwhile"


def test_what_cannot_be_so_elsewhere_is_left_out_and_not_forgotten(form):
    form.type(f"{PARAMS}.num_envs", "0")
    assert form.fields[f"{PARAMS}.num_envs"].problem
    form.use("ppo_lstm")
    assert not form.fields[f"{PARAMS}.num_envs"].problem
    form.use("ppo")
    assert form.fields[f"{PARAMS}.num_envs"].text != "0"
    form.reset_all()
    form.type(LABEL, "mine")
    form.reset_all()
    form.use("dqn")
    assert not form.fields[LABEL].text


def test_a_catalogue_that_comes_again_takes_nothing_of_what_is_typed(form):
    form.type(ENV_ID, "Pendulum-v1")
    form.type(RATE, "fast")
    form.catalogue_.changed.emit()
    assert form.env_id == "Pendulum-v1"
    assert form.fields[RATE].text == "fast"


def test_environments_are_searched_by_part_family_and_near_match(catalogue, form):
    assert "CartPole-v1" in [env_id for family in catalogue.search("cart", "ppo") for env_id, _ in family.environments]
    assert [family.name for family in catalogue.search("classic_control", "ppo")] == ["classic_control"]
    [family] = catalogue.search("lake 8x8", "ppo")
    assert [env_id for env_id, _ in family.environments] == ["FrozenLake8x8-v1"]
    [family] = catalogue.search("v1 toy frozen", "ppo")
    assert "FrozenLake-v1" in [env_id for env_id, _ in family.environments], "in any order, the family's name too"
    assert catalogue.near("CartPole-v9", "ppo") == ["CartPole-v1"]
    assert "CartPole-v1" in catalogue.near("CratPole-v1", "ppo")
    assert catalogue.near("zzzzzz", "ppo") == []
    form.type(ENV_ID, "CartPol-v1")
    assert "Did you mean CartPole-v1" in form.fields[ENV_ID].hint
    assert not form.fields[ENV_ID].problem, "a worker may know it"


def test_a_family_that_is_not_installed_is_listed_with_its_advice(catalogue, content):
    missing = Family("atari", 'needs the extra: pip install "mosaic-rl[atari]"', ())
    catalogue.take(replace(content, families=(*content.families[:1], missing)))
    assert missing in catalogue.search("", "ppo")
    assert missing in catalogue.search("ata", "ppo")
    assert missing not in catalogue.search("cart", "ppo")


def test_only_environments_with_fitting_actions_are_offered(catalogue, form):
    offered = {env_id for family in catalogue.search("", "ppo_continuous_action") for env_id, _ in family.environments}
    assert "Pendulum-v1" in offered
    assert "CartPole-v1" not in offered
    form.use("ppo_continuous_action")
    form.type(ENV_ID, "CartPole-v1")
    assert "CartPole-v1 has Discrete(2): use c51, dqn, ppo, ppo_lstm, pqn" in form.fields[ENV_ID].hint
    form.type(ENV_ID, "Pendulum-v1")
    assert not form.fields[ENV_ID].hint
    form.use("ppo")
    assert form.env_id == "CartPole-v1", "what does not fit is not taken along"


def test_only_algorithms_on_pictures_are_offered_environments_that_show_them(catalogue, form):
    def offered(algo):
        return {env_id for family in catalogue.search("", algo) for env_id, _ in family.environments}

    assert "ALE/Breakout-v5" in offered("ppo_atari")
    assert "CartPole-v1" not in offered("ppo_atari")
    assert "CartPole-v1" in offered("ppo")
    assert "ALE/Breakout-v5" not in offered("ppo")
    form.use("ppo_atari")
    form.type(ENV_ID, "CartPole-v1")
    assert form.fields[ENV_ID].hint.startswith("ppo_atari needs pictures, CartPole-v1 shows Box(")
    assert not form.fields[ENV_ID].problem, "only a worker can tell for certain"


def test_presets_have_any_name_and_bring_the_form_back(tmp_path, form):
    presets = FormPresets(Home(tmp_path), form)
    form.type(RATE, "1e-3")
    form.type(SEEDS, "1-3")
    names = ("Größe 🎲", "a/b", "..", "Abc")
    for name in names:
        presets.save(name)
    own = [one for one in presets.listed()[0] if not one.is_shipped]
    assert sorted(one.preset.name for one in own) == sorted(names)
    assert all(one.path.parent == tmp_path / "presets" for one in own)
    before = form.stored()
    form.reset_all()
    assert form.fill(document_with(own[0])) == []
    now = form.stored()
    assert now["metadata"]["ui"].pop("preset")["name"] == own[0].preset.name
    assert now == before
    presets.delete(own[0])
    assert len([one for one in presets.listed()[0] if not one.is_shipped]) == 3
    for name in ("", "  ", "x" * 81):
        with pytest.raises(MosaicError, match="name"):
            presets.save(name)
    with pytest.raises(MosaicError, match="ships with MOSAIC"):
        presets.save("tuned")


def test_a_damaged_preset_is_named_and_hides_no_other(tmp_path, form):
    presets = FormPresets(Home(tmp_path), form)
    presets.save("whole")
    (tmp_path / "presets" / "broken.json").write_text("{")
    fitting, _, problems = presets.listed()
    assert [one.preset.name for one in fitting if not one.is_shipped] == ["whole"]
    assert "broken.json" in problems[0]


def test_presets_of_earlier_windows_are_taken_over_once(tmp_path, form):
    form.type(RATE, "3e-3")
    before = tmp_path / "gui" / "presets" / "a%2Fb.json"
    before.parent.mkdir(parents=True)
    before.write_text(json.dumps(form.stored()))
    presets = FormPresets(Home(tmp_path), form)
    [own] = [one for one in presets.listed()[0] if not one.is_shipped]
    assert own.preset.name == "a/b"
    assert own.preset.settings["learning_rate"] == 3e-3
    assert not before.exists()
