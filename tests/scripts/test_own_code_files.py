"""Environments and wrappers of users' files: recognised by reading, named once, and run by the gate alone."""

from pathlib import Path
from typing import Any

import pytest

from mosaic.errors import ConfigError
from mosaic.scripts import environment_file, own_code_files
from mosaic.scripts.allowed_folders import Allowed
from mosaic.scripts.code_gate import refuse_code
from mosaic.spec import run_config
from mosaic.spec.run_dir import Home

TEXT = """
import gymnasium as gym
from gymnasium import ObservationWrapper
from minigrid.minigrid_env import MiniGridEnv
raise SystemExit("never run")
class Walk(gym.Env[int, int]): ...
class Longer(Walk): ...
class Grid(MiniGridEnv): ...
class Shown(ObservationWrapper): ...
class Paid(gym.wrappers.NormalizeReward): ...
class Helper: ...
class _Hidden(gym.Env): ...
def make() -> gym.Env: ...
def other(): ...
gym.register(id="Mine-v0", entry_point=Walk)
"""


@pytest.fixture
def allowed(tmp_path: Path) -> Allowed:
    home = Home(tmp_path / "home")
    home.create()
    for name in ("mine", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "mine" / "my_env.py").write_text(TEXT)
    (tmp_path / "other" / "far_env.py").write_text(TEXT)
    made = Allowed(home)
    made.add(tmp_path / "mine")
    return made


def runs_in(env_id: str, **environment: Any) -> tuple[run_config.WorkerConfig, dict[str, Any]]:
    return run_config.parse_worker({"algo": "ppo", "env_id": env_id}), environment


def test_a_file_says_what_is_an_environment_and_what_a_wrapper(tmp_path: Path, allowed: Allowed) -> None:
    about = environment_file.read(tmp_path / "mine" / "my_env.py")
    assert about.named("environment") == ["Walk", "Longer", "Grid", "make", "Mine-v0"]
    assert about.named("wrapper") == ["Shown", "Paid"]
    assert [one.name for one in own_code_files.known(allowed, "wrapper")] == ["my_env.py:Shown", "my_env.py:Paid"]


def test_what_is_not_recognised_can_be_named_all_the_same(allowed: Allowed, tmp_path: Path) -> None:
    found = own_code_files.find("my_env.py:other", allowed, "environment")
    assert found.file == tmp_path / "mine" / "my_env.py"


def test_only_code_of_an_allowed_folder_may_be_named(allowed: Allowed) -> None:
    refuse_code(runs_in("my_env.py:Walk")[0], allowed)
    with pytest.raises(ConfigError, match=r"no file far_env\.py lies in an allowed folder; .*mosaic envs add DIR"):
        refuse_code(runs_in("far_env.py:Walk")[0], allowed)
    with pytest.raises(ConfigError, match="did you mean Walk"):
        refuse_code(runs_in("my_env.py:Wlk")[0], allowed)
    worker, settings = runs_in("CartPole-v1", wrappers=[{"name": "far_env.py:Shown"}])
    with pytest.raises(ConfigError, match="mosaic envs add DIR"):
        refuse_code(worker, allowed, settings)


def test_a_link_out_of_the_folder_is_not_followed(allowed: Allowed, tmp_path: Path) -> None:
    (tmp_path / "mine" / "linked_env.py").symlink_to(tmp_path / "other" / "far_env.py")
    with pytest.raises(ConfigError, match="lies in an allowed folder"):
        refuse_code(runs_in("linked_env.py:Walk")[0], allowed)


def test_two_of_one_name_are_refused_with_both_places(allowed: Allowed, tmp_path: Path) -> None:
    (tmp_path / "other" / "my_env.py").write_text(TEXT)
    allowed.add(tmp_path / "other")
    found = own_code_files.find("my_env.py:Walk", allowed, "environment")
    assert f"is there 2 times, in {tmp_path}/mine/my_env.py and {tmp_path}/other/my_env.py" in found.problem
    assert all(one.problem for one in own_code_files.known(allowed, "environment") if one.name == "my_env.py:Walk")


def test_a_file_that_is_no_python_says_so(allowed: Allowed, tmp_path: Path) -> None:
    (tmp_path / "mine" / "half_env.py").write_text("class Walk(\n")
    with pytest.raises(ConfigError, match="line 1: '\\(' was never closed"):
        own_code_files.find("half_env.py:Walk", allowed, "environment")
