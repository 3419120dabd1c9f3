"""The catalogue that ships with the package: fresh, used as it is where it holds, described anew where it does not."""

import importlib.util
import json
from pathlib import Path

import pytest

from mosaic.spec.catalogue import shipped_catalogue
from mosaic.spec.catalogue.known_environments import look
from mosaic.spec.catalogue.shipped_catalogue import DESCRIBERS, constants, head, holding, merged
from mosaic.trainer.catalogue.daemon_catalogue import Catalogue

STALE = f"the shipped catalogue is stale: run '{shipped_catalogue.HOW_TO_MAKE}' (or 'make catalogue') and commit it"
TOOL = Path(__file__).parents[3] / "tools" / "catalogue.py"

SOURCE = '''"""Head."""
import torch

ACTIONS = "discrete"


@dataclass
class Args:
    x: int = 1


def loss():
    return 1
'''


@pytest.fixture
def described(catalogue_file):
    """What a worker describes here."""
    return json.loads(catalogue_file.read_text())["content"]


@pytest.fixture
def asked(tmp_path, described, monkeypatch):
    """A catalogue of a new home, and the modules that it had a worker run."""
    from mosaic.spec.run_dir import Home

    modules = []

    def output_of(name: str) -> bytes:
        modules.append(name)
        return json.dumps({part: described[part] for part in DESCRIBERS[name]}).encode()

    home = Home(tmp_path / "home")
    home.create()
    return Catalogue(home, warm_output_of=output_of), modules


def test_the_shipped_catalogue_is_what_a_worker_describes(described):
    found = importlib.util.spec_from_file_location("catalogue_tool", TOOL)
    tool = importlib.util.module_from_spec(found)
    found.loader.exec_module(tool)
    assert json.loads(shipped_catalogue.FILE.read_text())["digests"] == shipped_catalogue.digests(), STALE
    assert tool.text_of(described) == shipped_catalogue.FILE.read_text(), STALE


def test_a_new_home_has_all_of_it_and_no_worker_is_asked(asked):
    catalogue, modules = asked
    assert [one["name"] for one in catalogue.algorithms()][:2] == ["bc", "bdi_q"]
    ppo = next(one for one in catalogue.part("algorithms") if one["name"] == "ppo")
    assert "num_minibatches" in json.dumps(ppo["schema"]["rules"])
    assert ppo["docs"].startswith("# ")
    assert {one["name"] for one in catalogue.part("families")} >= {"classic_control", "atari", "other"}
    assert catalogue.settings_of("ppo")().num_envs == 4
    assert not modules
    assert not catalogue._path.exists()


def test_changed_sources_of_an_algorithm_are_described_anew(asked, monkeypatch):
    catalogue, modules = asked
    before = shipped_catalogue.digests()
    monkeypatch.setattr(shipped_catalogue, "digests", lambda: before | {"algorithms": "changed"})
    assert holding().stale == ("algorithms",)
    assert catalogue.known().document.keys() == {"families", "wrappers", "actors"}
    assert "ppo" in [one["name"] for one in catalogue.algorithms()]
    assert modules == ["cleanrl_worker.describe"]
    assert catalogue.known().stale == ()
    # The next daemon of this home finds the answer there.
    again = Catalogue(
        type("Here", (), {"trainer": catalogue._path.parent, "root": catalogue._path.parent.parent})(),
        warm_output_of=lambda _: None,
    )
    assert again.content() == catalogue.content()


def test_a_family_of_another_version_is_described_and_the_others_are_there(asked, monkeypatch):
    catalogue, modules = asked
    real = shipped_catalogue.versions

    def other(names):
        return {name: "0.0.1" if name == "ale-py" else version for name, version in real(names).items()}

    monkeypatch.setattr(shipped_catalogue, "versions", other)
    assert catalogue.known().stale == ("atari",)
    assert "classic_control" in [one["name"] for one in catalogue.known().document["families"]]
    assert catalogue.part("algorithms")
    assert catalogue.part("actors")
    assert not modules
    assert "atari" in [one["name"] for one in catalogue.part("families")]
    assert modules == ["cleanrl_worker.describe"]


def test_changed_actors_are_described_by_the_play_worker_alone(asked, described, monkeypatch):
    catalogue, modules = asked
    before = shipped_catalogue.digests()
    monkeypatch.setattr(shipped_catalogue, "digests", lambda: before | {"actors": "changed"})
    assert catalogue.known().document.keys() == {"algorithms", "families", "wrappers"}
    assert catalogue.part("actors") == described["actors"]
    assert modules == ["mosaic.play.describe_actors"]
    assert {one["name"] for one in catalogue.part("families")} == {one["name"] for one in described["families"]}


def test_a_family_that_is_not_installed_says_what_to_install(monkeypatch):
    real = shipped_catalogue.are_importable
    monkeypatch.setattr(shipped_catalogue, "are_importable", lambda names: "ale_py" not in names and real(names))
    atari = next(one for one in holding().document["families"] if one["name"] == "atari")
    assert not atari["installed"]
    assert "atari" in atari["advice"]
    assert atari["environments"] == []
    assert "ALE/Pong-v5" in atari["missing"]


def test_an_id_of_such_a_family_is_known_also_where_a_worker_described_it(described):
    families = [
        one | {"installed": False, "environments": []} if one["name"] == "atari" else one
        for one in described["families"]
    ]
    whole = shipped_catalogue.with_missing({**described, "families": families})
    assert look("ALE/Pong-v5", whole["families"]).status == "not installed"
    assert look("ALE/Pong-v5", whole["families"]).extra == "atari"
    assert look("CartPole-v1", whole["families"]).status == "listed"


def test_of_an_id_it_is_known_whether_it_exists(described):
    families = described["families"]
    for env_id, status in {
        "phys2d/CartPole-v1": "unlisted",
        "my_module:Mine-v0": "unknown",
        "pettingzoo/classic/tictactoe_v3": "listed",
        "tictactoe_v3": "listed",
        "atari/boxing-v2": "unlisted",
        "CartPole": "no such",
        "Walker2d-v2": "no such",
    }.items():
        assert look(env_id, families).status == status, env_id
    assert look("Nowhere-v0", families, stale=["atari"]).status == "unknown"
    assert look("Nowhere-v0", families, stale=["algorithms"]).status == "no such"
    assert look("CartPole", families).near == ("CartPole-v1",)


def test_packages_that_add_environments_or_actors_are_described(tmp_path, monkeypatch):
    plugin = tmp_path / "their_game-1.0.dist-info"
    plugin.mkdir()
    (plugin / "entry_points.txt").write_text("[gymnasium.envs]\n__root__ = their_game:register\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert holding().stale == ("other",)
    (plugin / "entry_points.txt").write_text("[mosaic.actors]\nwizard = their_game.wizard\n")
    assert holding().stale == ("actors",)


def test_the_loss_of_an_algorithm_is_no_part_of_its_entry():
    source = SOURCE
    assert "class Args" in head(source)
    assert "ACTIONS" in head(source)
    assert head(source) == head(source.replace("return 1", "return 2").replace("import torch", "import numpy"))
    assert head(source) != head(source.replace("x: int = 1", "x: int = 2"))
    assert head(source.replace("class Args", "class Args(Common)")) != head(
        source.replace("class Args", "class Args(Common)").replace("return 1", "return 2")
    )
    assert constants("'''Doc.'''\nA = (\n    1,\n)\n\n\ndef f():\n    B = 2\n") == "'''Doc.'''\nA = (\n    1,\n)\n\n\n"


def test_documents_are_merged_by_name_and_the_first_one_counts():
    ours = {"algorithms": [{"name": "ppo", "summary": "ours"}], "families": []}
    theirs = {"algorithms": [{"name": "ppo", "summary": "theirs"}, {"name": "mine", "summary": "mine"}]}
    assert merged(ours, theirs) == {
        "algorithms": [{"name": "ppo", "summary": "ours"}, {"name": "mine", "summary": "mine"}],
        "families": [],
    }
