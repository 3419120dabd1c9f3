"""Ids, families, near matches, missing extras, cheap import."""

import subprocess
import sys

import pytest

from mosaic.envs import FAMILIES, current_version, describe, describe_observation_rule, family_of, list_ids, make
from mosaic.errors import EnvironmentFailed, UnknownEnvironment

OWNERS = {
    "CartPole-v1": "classic_control",
    "Taxi-v4": "toy_text",
    "LunarLander-v3": "box2d",
    "HalfCheetah-v5": "mujoco",
    "ALE/Breakout-v5": "atari",
    "BreakoutNoFrameskip-v4": "atari",
    "MiniGrid-Empty-5x5-v0": "minigrid",
    "BabyAI-GoToObj-v0": "minigrid",
    "minigrid:MiniGrid-Empty-5x5-v0": "minigrid",
    "phys2d/CartPole-v1": "other",
    "dm_control/cheetah-run-v0": "dm_control",
    "procgen/CoinrunEasy-v0": "procgen",
    "envpool/MetaWorld-Reach-v3": "envpool",
    "mosaic/Bricks-v0": "grids",
    "mosaic/Catch-v0": "choices",
    "mosaic/Recall-v0": "memory",
    "classic/tictactoe-v3": "pettingzoo",
    "pettingzoo/simple_tag_v3": "pettingzoo",
}


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("env_id", "owner"), OWNERS.items())
def test_each_id_has_one_owner(env_id: str, owner: str) -> None:
    assert family_of(env_id).name == owner


def test_families_list_disjoint_ids_with_current_versions_first() -> None:
    lists = {family.name: list_ids(family.name) for family in FAMILIES}
    together = [env_id for ids in lists.values() for env_id in ids]
    assert len(together) == len(set(together))
    assert set(together) == set(list_ids())
    mujoco = lists["mujoco"]
    assert mujoco.index("Walker2d-v5") < mujoco.index("Ant-v4")
    assert "Walker2d-v2" not in mujoco
    # Tests of this process may have registered their own.
    assert [one for one in lists["other"] if not one.startswith("test/")] == []


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("CartPol-v1", "CartPole-v1"),
        ("cartpole-v1", "CartPole-v1"),
        ("CartPole-v9", "CartPole-v1"),
        ("LunarLander-v2", "LunarLander-v3"),
        ("Walker2d-v2", "Walker2d-v5"),
        ("ALE/Brekout-v5", "ALE/Breakout-v5"),
        ("MiniGrid-Empty-5x5", "MiniGrid-Empty-5x5-v0"),
        ("dm_control/CheetahRun-v1", "dm_control/cheetah-run-v0"),
        ("procgen/CoinrunEazy-v0", "procgen/CoinrunEasy-v0"),
        ("envpool/MetaWorld-Reech-v3", "envpool/MetaWorld-Reach-v3"),
        ("mosaic/Brick-v0", "mosaic/Bricks-v0"),
    ],
)
def test_unknown_id_suggests_the_right_one(wrong: str, right: str) -> None:
    with pytest.raises(UnknownEnvironment, match="did you mean") as caught:
        make(wrong)
    assert caught.value.near[0] == right


def test_nonsense_suggests_nothing() -> None:
    with pytest.raises(UnknownEnvironment) as caught:
        family_of("no such thing")
    assert caught.value.near == ()


def test_module_that_cannot_be_imported_is_named() -> None:
    with pytest.raises(EnvironmentFailed, match="no_such_module"):
        make("no_such_module:Env-v0")


def test_a_package_without_a_wheel_for_this_python_is_named_with_the_pythons_that_have_one() -> None:
    with pytest.raises(EnvironmentFailed, match=r"wheels up to Python 3\.10.*'mosaic envs procgen'"):
        make("procgen:procgen-coinrun-v0")


def test_outdated_version_still_works_and_knows_its_successor() -> None:
    assert current_version("Walker2d-v4") == "Walker2d-v5"
    assert current_version("CartPole-v0") == "CartPole-v1"
    assert current_version("CartPole-v1") is None
    make("CartPole-v0", render_mode=None).close()


def test_version_that_this_simulator_cannot_run_names_its_successor() -> None:
    with pytest.raises(EnvironmentFailed, match="try Pusher-v5"):
        make("Pusher-v4", render_mode=None)


@pytest.mark.parametrize(
    ("env_id", "module", "extra"),
    [
        ("ALE/Breakout-v5", "ale_py", "atari"),
        ("MiniGrid-Empty-5x5-v0", "minigrid", "minigrid"),
        ("HalfCheetah-v5", "mujoco", "mujoco"),
        ("LunarLander-v3", "Box2D", "box2d"),
        ("classic/tictactoe-v3", "pettingzoo", "pettingzoo"),
        ("dm_control/cheetah-run-v0", "dm_control", "dmcontrol"),
        ("procgen/CoinrunEasy-v0", "PyQt5", "procgen"),
    ],
)
def test_missing_distribution_says_what_to_install(env_id: str, module: str, extra: str) -> None:
    done = run_python(
        f"import sys; sys.modules[{module!r}] = None\n"
        "from mosaic.envs import family_of, list_ids, make\n"
        "from mosaic.errors import MissingExtra\n"
        f"assert family_of({env_id!r}).extra == {extra!r}\n"
        f"for act in (lambda: make({env_id!r}), lambda: list_ids(family_of({env_id!r}).name)):\n"
        "    try: act()\n"
        f"    except MissingExtra as error: assert \"needs the extra '{extra}': \" in str(error)\n"
        "    else: raise SystemExit('no MissingExtra')\n"
        f"assert 'CartPole-v1' in list_ids() and {env_id!r} not in list_ids()\n"
    )
    assert done.returncode == 0, done.stderr


def test_import_is_cheap() -> None:
    done = run_python(
        "import sys, mosaic.envs\n"
        "heavy = {'gymnasium', 'numpy', 'mujoco', 'pygame', 'ale_py', 'minigrid', 'envpool'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    assert done.returncode == 0, done.stderr


def test_description_says_what_an_algorithm_sees() -> None:
    lake = describe("FrozenLake-v1")
    assert (lake.observation, lake.action, lake.seen_shape, lake.seen_dtype) == (
        "discrete",
        "discrete",
        (16,),
        "float32",
    )
    cheetah = describe("HalfCheetah-v5")
    assert (cheetah.observation, cheetah.action, cheetah.max_episode_steps) == ("vector", "continuous", 1000)
    assert describe("ALE/Breakout-v5").observation == "pixels"
    assert "one-hot" in describe_observation_rule("FrozenLake-v1")
