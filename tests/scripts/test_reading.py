"""A script's flags, read from its source and never by running it."""

import shlex
from pathlib import Path
from typing import Any

import pytest

from mosaic import config
from mosaic.errors import ConfigError
from mosaic.scripts import script, script_page
from mosaic.scripts.allowed_folders import Allowed
from mosaic.scripts.script_flags import settings_class, settings_from, words_for
from mosaic.spec.run_dir import Home

TYRO = '''
"""What it does."""
import os
from dataclasses import dataclass, field
from typing import List, Literal, Optional
import gymnasium as gym
import tyro

@dataclass
class Common:
    seed: int = 1
    """seed of the experiment"""

@dataclass
class Args(Common):
    exp_name: str = os.path.basename(__file__)[: -len(".py")]
    gym_id: str = "CartPole-v1"
    total_timesteps: int = int(1e6)
    start_e: float = 1
    wandb_entity: str = None
    target_kl: Optional[float] = None
    anneal_lr: bool = True
    track: bool = False
    optimizer: Literal["adam", "sgd"] = "adam"
    hidden: List[int] = field(default_factory=lambda: [64, 64])
    buffer_size: int = 2**10 * 3
    device: str = pick_a_device()
    """where"""
    callback: object = None

open("/ran-it", "w")
args = tyro.cli(Args)
if "final_info" in infos:
    for info in infos["final_info"]:
        pass
'''
ARGPARSE = """
import argparse
import gymnasium as gym
parser = argparse.ArgumentParser()
parser.add_argument("--env_name", type=str, default="Acrobot-v1", help="which")
parser.add_argument("--total-steps", type=float, default=5e4)
parser.add_argument("--lr", type=float, default=1e-3)
"""
SB3 = """
from stable_baselines3 import PPO
PPO("MlpPolicy", "Pendulum-v1").learn(total_timesteps=25_000)
"""


def written(folder: Path, text: str, name: str = "mine.py") -> script.Script:
    path = folder / name
    path.write_text(text)
    return script.read(path)


def test_the_fields_of_a_tyro_dataclass(tmp_path: Path) -> None:
    found = written(tmp_path, TYRO)
    assert (found.style, found.idioms, found.summary) == ("tyro", "0.29", "What it does.")
    assert not Path("/ran-it").exists()
    defaults = {name: spec["default"] for name, spec in found.schema["properties"].items()}
    assert defaults == {
        "env_id": "CartPole-v1",
        "total_timesteps": 1_000_000,
        "seed": 1,
        "exp_name": "mine",
        "start_e": 1.0,
        "wandb_entity": None,
        "target_kl": None,
        "anneal_lr": True,
        "track": False,
        "optimizer": "adam",
        "hidden": [64, 64],
        "buffer_size": 3072,
        "device": None,
        "script_flags": "",
        "script_module": "",
        "script_idioms": "auto",
    }
    assert "pick_a_device()" in found.schema["properties"]["device"]["description"]
    assert found.schema["properties"]["seed"]["description"] == "seed of the experiment"
    assert config.to_json(settings_class(found)())["hidden"] == [64, 64]


@pytest.mark.parametrize(
    "words",
    [
        "",
        "--gym-id Acrobot-v1 --total-timesteps=5 --no-anneal-lr --track --seed=9",
        "--hidden 1 2 3 --target-kl=0.1 --optimizer=sgd --start-e=-0.5",
    ],
)
def test_flags_become_settings_and_the_same_flags_again(tmp_path: Path, words: str) -> None:
    found = written(tmp_path, TYRO)
    settings = settings_from(found, shlex.split(words), prog="test")
    again = words_for(found.schema, settings)
    assert settings_from(found, again, prog="test") == settings
    assert len(again) == len(shlex.split(words)) or "--gym-id" in words


def test_an_unknown_flag_of_a_tyro_script_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--hiden: is not a flag; did you mean --hidden"):
        settings_from(written(tmp_path, TYRO), ["--hiden", "1"], prog="test")


def test_steps_and_seed_of_an_argparse_script_are_numbers_as_users_write_them(tmp_path: Path) -> None:
    found = written(tmp_path, ARGPARSE)
    settings = settings_from(found, ["--total-steps", "300k"], prog="test")
    assert (settings["total_timesteps"], settings["script_flags"]) == (300_000, "--total-steps 300000")
    with pytest.raises(ConfigError, match="whole number"):
        settings_from(found, ["--total-steps", "1.5"], prog="test")


def test_argparse_flags_stay_as_they_are(tmp_path: Path) -> None:
    found = written(tmp_path, ARGPARSE)
    assert found.style == "argparse"
    settings = settings_from(found, ["--lr", "3", "--total-steps", "700"], prog="test")
    outside = (settings["env_id"], settings["total_timesteps"], settings["script_flags"])
    assert outside == ("Acrobot-v1", 700, "--lr 3 --total-steps 700")
    assert words_for(found.schema, settings) == ["--lr", "3", "--total-steps", "700"]
    changed: dict[str, Any] = settings | {"env_id": "CartPole-v1", "script_flags": "--lr 3"}
    assert words_for(found.schema, changed) == ["--env_name=CartPole-v1", "--total-steps=700", "--lr", "3"]


def test_what_a_script_without_flags_says_of_itself(tmp_path: Path) -> None:
    found = written(tmp_path, SB3)
    properties = found.schema["properties"]
    assert found.style == "plain"
    assert (properties["env_id"]["default"], properties["total_timesteps"]["default"]) == ("Pendulum-v1", 25_000)
    assert found.named == {}
    assert "no flag for env_id, total_timesteps, seed" in script_page.page(found)


@pytest.mark.parametrize("text", ["def (:", "x = '\x00'", "\xff\xfe".encode("latin-1")])
def test_what_is_no_python_is_refused(tmp_path: Path, text: str | bytes) -> None:
    path = tmp_path / "bad.py"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError, match=r"bad\.py"):
        script.read(path)


def test_a_folder_is_allowed_once_and_its_scripts_are_found(tmp_path: Path) -> None:
    home, folder = Home(tmp_path / "home"), tmp_path / "scripts"
    (folder / "deep").mkdir(parents=True)
    good = written(folder / "deep", TYRO)
    written(folder, "import os\n", "library.py")
    (folder / "broken.py").write_text("def (:")
    allowed = Allowed(home)
    with pytest.raises(ConfigError, match="mosaic scripts add"):
        allowed.read(str(good.path))
    allowed.add(folder)
    allowed.add(folder)
    assert allowed.folders() == [folder]
    assert [one.path for one in allowed.scripts()] == [good.path]
    assert allowed.read(str(good.path)) == good
    # Neither a link nor a path with dots leads out of the folder.
    outside = written(tmp_path, TYRO, "outside.py")
    (folder / "link.py").symlink_to(outside.path)
    for path in (folder / "link.py", folder / ".." / "outside.py"):
        with pytest.raises(ConfigError, match="no folder whose scripts may run"):
            allowed.read(str(path))
    assert [one.path for one in allowed.scripts()] == [good.path]
    allowed.remove(folder)
    assert list(allowed.scripts()) == []


@pytest.mark.parametrize("folder", ["/", "~", "/no/such/folder", __file__])
def test_a_folder_that_is_too_wide_or_none_is_refused(tmp_path: Path, folder: str) -> None:
    with pytest.raises(ConfigError):
        Allowed(Home(tmp_path)).add(Path(folder))


@pytest.mark.parametrize(
    "text",
    [
        'import tyro\nclass A:\n    x: "no annotation!" = 1\ntyro.cli(A)\n',
        "import tyro\nclass A(B):\n    x: int = 1\nclass B(A):\n    y: int = 2\ntyro.cli(A)\n",
        'import tyro\nclass A:\n    x: str = "a" * 10**12\ntyro.cli(A)\n',
        "import tyro\nclass A:\n    x: int = (((9**64)**64)**64)**64\ntyro.cli(A)\n",
        'import stable_baselines3\nmodel.learn(total_timesteps=float("inf"))\n',
        'import argparse\nparser.add_argument("--total-steps", type=float, default=float("inf"))\n',
    ],
)
def test_what_cannot_be_told_from_a_source_is_left_to_the_script(tmp_path: Path, text: str) -> None:
    properties = written(tmp_path, text).schema["properties"]
    assert properties["total_timesteps"]["default"] == script.DEFAULT_STEPS
    assert properties.get("x", {}).get("default") in (None, 1)


def test_the_seed_of_the_run_counts_and_not_one_among_the_free_flags(tmp_path: Path) -> None:
    text = (
        'import argparse\nparser.add_argument("--seed", type=int)\nparser.add_argument("--total-steps", type=float)\n'
    )
    found = written(tmp_path, text)
    settings = settings_from(found, ["--seed", "7", "--total-steps", "5e4"], prog="test")
    assert words_for(found.schema, settings) == ["--seed", "7", "--total-steps", "5e4"]
    # As `--seeds 1-3` does it: three runs, listed by their seeds.
    each = [words_for(found.schema, {**settings, "seed": seed}) for seed in (1, 2, 3)]
    assert [words[-1] for words in each] == ["--seed=1", "--seed=2", "--seed=3"]


def test_a_folder_that_holds_the_home_directory_is_too_wide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "users" / "ada").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "users" / "ada"))
    with pytest.raises(ConfigError, match="too wide"):
        Allowed(Home(tmp_path / "home")).add(tmp_path / "users")


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("import stable_baselines3\nBUDGET = 3_000\nmodel.learn(BUDGET)\n", 3_000),
        ("import gymnasium\nTOTAL_TIMESTEPS: int = 2 * 10**4\n", 20_000),
        ("import gymnasium\ntotal_steps = int(5e3)\n", 5_000),
        ("import gymnasium\ntotal_steps = len(sys.argv)\n", script.DEFAULT_STEPS),
    ],
)
def test_steps_are_found_in_the_constants_of_a_script(tmp_path: Path, text: str, steps: int) -> None:
    assert written(tmp_path, text).schema["properties"]["total_timesteps"]["default"] == steps
