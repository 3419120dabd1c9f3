"""Presets: those that ship are valid, those of the user are files, and a run tells what it took from one."""

import json
from dataclasses import replace

import pytest

from mosaic import config
from mosaic.config import class_from_schema, from_json
from mosaic.errors import ConfigError, MosaicError
from mosaic.spec import environment_settings, run_config
from mosaic.spec.catalogue import fitting, known_environments, shipped_catalogue
from mosaic.spec.presets import preset_use
from mosaic.spec.presets.preset import Preset, parse
from mosaic.spec.presets.preset_files import PresetFailed, Presets, UnknownPreset, read, shipped, text_of
from mosaic.spec.presets.preset_of_config import document_of, preset_of
from mosaic.spec.run_config import Environment
from mosaic.spec.run_dir import Home

FEWEST = 12
MINE = Preset(
    name="mine",
    algo="ppo",
    environment=Environment(env_id="FrozenLake-v1", settings={"is_slippery": False}),
    settings={"total_timesteps": 2048, "num_envs": 2, "anneal_lr": False},
    options={"capture_video": True, "track_wandb": True, "cpus": 2, "tensorboard": False, "seeds": "1-3"},
)


@pytest.fixture(scope="module")
def catalogue():
    """As it is made of all packages: a preset is also valid where its family is not installed."""
    return json.loads(shipped_catalogue.FILE.read_bytes())["content"]


class Needs:
    def __init__(self, about):
        self.name, self.actions, self.observations = about["name"], about["actions"], about["observations"]
        self.schema = about["schema"]


@pytest.mark.parametrize("listed", shipped(), ids=lambda listed: listed.path.stem)
def test_a_shipped_preset_is_valid(listed, catalogue):
    preset = listed.preset
    algorithms = {one["name"]: one for one in catalogue["algorithms"]}
    schema = algorithms[preset.algo]["schema"]
    args = from_json(class_from_schema(schema, name=preset.algo), {**preset.settings, "env_id": preset.env_id})
    assert args.env_id == preset.env_id
    differing = {name for name, value in preset.settings.items() if schema["properties"][name]["default"] != value}
    assert differing, "it says what the defaults say"
    found = known_environments.look(preset.env_id, catalogue["families"])
    assert found.status == "listed"
    given = preset.environment.settings
    assert environment_settings.problems_of(given, found.settings, env_id=preset.env_id) == []
    every = [Needs(one) for one in algorithms.values()]
    assert fitting.misfit(Needs(algorithms[preset.algo]), found.with_settings(given), every) == ""


@pytest.mark.parametrize("listed", shipped(), ids=lambda listed: listed.path.stem)
def test_a_shipped_preset_says_where_it_came_from_and_what_it_scored(listed):
    preset, measured = listed.preset, listed.preset.measured
    assert preset.about
    assert preset.origin.keys() == preset.settings.keys()
    assert bool(preset.reference) == any("rl-zoo3" in origin for origin in preset.origin.values())
    assert preset.options == {}
    assert measured is not None
    assert measured.total_timesteps == preset.settings["total_timesteps"]
    assert len(measured.default_scores) == len(measured.seeds)
    assert measured.iqm.value > measured.default_iqm.value, "better than the defaults with the same seeds and steps"
    assert text_of(preset) == listed.path.read_text()


def test_many_pairs_ship():
    assert len({one.preset.key[:2] for one in shipped()}) >= FEWEST


def test_a_preset_makes_a_run_config_and_comes_back_from_it():
    document = document_of(MINE)
    assert config.to_json(run_config.parse(document))["metadata"]["worker"]["config"]["total_timesteps"] == 2048
    assert preset_of(document, "mine", None) == MINE


def test_only_what_differs_from_the_defaults_is_kept(catalogue):
    [ppo] = [one for one in catalogue["algorithms"] if one["name"] == "ppo"]
    document = document_of(replace(MINE, settings={"total_timesteps": 500_000, "num_envs": 4, "gamma": 0.9}))
    assert preset_of(document, "mine", ppo["schema"]).settings == {"gamma": 0.9}


def test_secrets_and_what_belongs_to_one_run_are_not_kept():
    document = document_of(MINE)
    document["metadata"]["worker"]["config"]["extras"] |= {"wandb_api_key": "0" * 40, "notes": "first try"}
    document["run_name"] = "seed 1"
    text = text_of(preset_of(document, "mine", None))
    assert all(word not in text for word in ("0" * 40, "first try", "seed 1"))


def test_a_name_that_is_not_there_says_what_is_near_and_where_else_it_is(tmp_path):
    presets = Presets(Home(tmp_path))
    with pytest.raises(UnknownPreset, match="ppo in CartPole-v1 has no preset 'tund'; did you mean tuned"):
        presets.find("tund", "ppo", "CartPole-v1")
    with pytest.raises(UnknownPreset, match=r"'tuned' is there for ppo in Acrobot-v1, .*says nothing about another"):
        presets.find("tuned", "ppo", "Taxi-v3")


def test_own_presets_are_saved_replaced_found_and_deleted(tmp_path):
    presets = Presets(Home(tmp_path))
    path = presets.save(MINE)
    assert read(path) == MINE
    changed = replace(MINE, settings={"num_envs": 3})
    assert presets.save(changed) == path
    assert presets.find("mine", "ppo", "FrozenLake-v1") == changed
    assert presets.environment_of("mine", "ppo", "CartPole-v1") == "FrozenLake-v1"
    assert presets.environment_of("tuned", "ppo", "CartPole-v1") == "CartPole-v1"
    with pytest.raises(UnknownPreset, match=r"ppo_continuous_action has a preset 'tuned' for .*add --env-id"):
        presets.environment_of("tuned", "ppo_continuous_action", "Ant-v5")
    assert presets.find(str(path), "ppo", "FrozenLake-v1") == changed
    with pytest.raises(UnknownPreset, match="is for ppo in FrozenLake-v1, not for ppo in CartPole-v1"):
        presets.find(str(path), "ppo", "CartPole-v1")
    [own] = [one for one in presets.all()[0] if not one.is_shipped]
    presets.delete(own)
    assert not path.exists()


def test_what_ships_can_be_neither_replaced_nor_deleted(tmp_path):
    presets = Presets(Home(tmp_path))
    with pytest.raises(UnknownPreset, match="choose another name"):
        presets.save(replace(MINE, name="tuned"))
    with pytest.raises(UnknownPreset, match="cannot be deleted"):
        presets.delete(shipped()[0])


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "presets").write_text("a file")
    with pytest.raises(PresetFailed, match="presets"):
        Presets(Home(tmp_path)).save(MINE)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"settings": {"seed": 1}}, "settings.seed: is not part"),
        ({"options": {"dry_run": True}}, "options.dry_run: is not an option"),
        ({"v": 2}, "v: "),
        ({"name": " mine"}, "blank"),
        ({"measured": {"seeds": [1], "total_timesteps": 1, "last_episodes": 1, "scores": [1.0, 2.0]}}, "not as many"),
        ({"unknown": 1}, "unknown"),
    ],
)
def test_a_file_that_is_wrong_says_where(change, message):
    with pytest.raises(ConfigError, match=message):
        parse(json.dumps(json.loads(text_of(MINE)) | change), what="mine.json")


def test_a_run_tells_what_it_took_and_what_was_changed():
    document = document_of(MINE)
    assert preset_use.spoken(document) == ""
    document["metadata"]["ui"] |= preset_use.as_ui(MINE)
    assert preset_use.spoken(document) == "mine"
    document["metadata"]["worker"]["config"]["extras"]["algo_params"]["num_envs"] = 8
    del document["environment"]["settings"]["is_slippery"]
    assert preset_use.spoken(document) == "mine, but num_envs=8 (2), env.is_slippery not set (false)"
    document["metadata"]["ui"]["preset"] = "whatever a user wrote"
    assert preset_use.spoken(document) == ""


def test_errors_of_presets_end_a_command_with_a_code():
    assert issubclass(UnknownPreset, MosaicError)
    assert UnknownPreset.exit_code == 2
