"""What is not installed is told before anything is made, with the line that installs it here, and exit code 3."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from cleanrl_worker.sdk import policy
from cleanrl_worker.sdk.policy import PolicyFile
from mosaic import envs
from mosaic.errors import MissingExtra, MissingPackage, MosaicError
from mosaic.installation import Installation, install_line
from mosaic.rpc.client import Refused
from mosaic.rpc.locate import running_address
from mosaic.scripts import missing_packages, script
from mosaic.spec import run_config
from mosaic.spec.catalogue import extras
from mosaic.spec.run_config import TrainRunConfig
from mosaic.trainer.runs import submit

SUPPORT = Path(__file__).parents[2] / "support"
MISSING = "mujoco,pymunk,wandb,agentspeak,minari,huggingface_hub,trackio,PySide6,optuna"


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, package=None: None)


def asked(env_id: str, *, algo: str = "ppo", **options: Any) -> TrainRunConfig:
    worker = {"algo": algo, "env_id": env_id, "extras": options}
    wandb = {"enabled": bool(options.get("track_wandb"))}
    rest = {"environment": {"env_id": env_id}, "artifacts": {"wandb": wandb}}
    document = {**rest, "metadata": {"worker": {"config": worker}}}
    return run_config.parse(document)


@pytest.mark.parametrize(
    ("document", "extra"),
    [
        (asked("HalfCheetah-v5"), "mujoco"),
        (asked("LunarLander-v3"), "box2d"),
        (asked("ALE/Breakout-v5"), "atari"),
        (asked("BreakoutNoFrameskip-v4"), "atari"),
        (asked("MiniGrid-Empty-5x5-v0"), "minigrid"),
        (asked("CartPole-v1", env_backend="envpool"), "envpool"),
        (asked("CartPole-v1", track_wandb=True), "wandb"),
        (asked("CartPole-v1", track_trackio=True), "trackio"),
        (asked("CartPole-v1", track_mlflow=True), "mlflow"),
        (asked("CartPole-v1", algo="ppo_atari"), "atari"),
        (asked("butterfly/pistonball-v6", mode="play", actors={"*": "random"}), "pettingzoo"),
        (asked("tictactoe_v3", mode="play", actors={"*": "random"}), "pettingzoo"),
        (asked("FrozenLake-v1", algo="bdi_q"), "bdi"),
        (asked("FrozenLake-v1", algo="bdi_q", algo_params={"spade": True}), "bdi"),
        (asked("FrozenLake-v1", algo="bdi_q", mode="policy_eval", policy_path="/a/bdi_q.cleanrl_model"), "bdi"),
        (asked("FrozenLake-v1", mode="play", actors={"agent_0": "bdi"}), "bdi"),
        (asked("FrozenLake-v1", mode="play", actors={"agent_0": "bdi_spade"}), "spade"),
        (asked("FrozenLake-v1", mode="play", actors={"agent_0": "llm:tiny"}), "llm"),
        (asked("Pendulum-v1", mode="policy_eval", policy_path="/a/model.zip", eval_trust=True), "sb3"),
        (asked("Walker2d-v5", mode="policy_eval", policy_path="/a/ppo.cleanrl_model"), "mujoco"),
    ],
)
@pytest.mark.usefixtures("nothing_installed")
def test_a_submit_names_the_extra_that_a_run_needs(document: TrainRunConfig, extra: str) -> None:
    with pytest.raises(MissingExtra) as caught:
        submit.refuse_missing(document, sees_pixels=lambda algo: algo == "ppo_atari")
    assert caught.value.extra == extra
    assert str(caught.value).endswith(f": {install_line(extra)}")


@pytest.mark.usefixtures("nothing_installed")
def test_a_policy_that_is_to_play_names_what_its_algorithm_needs(tmp_path: Path) -> None:
    path, spaces = tmp_path / "bdi_q.cleanrl_model", [gymnasium.spaces.Discrete(number) for number in (16, 4)]
    file = {
        "algo": "bdi_q",
        "env_id": "FrozenLake-v1",
        "args": {},
        "global_step": 1,
        "arrays": {"agent.x": np.zeros(1)},
    }
    policy.write(path, PolicyFile(**file, observation_space=spaces[0], action_space=spaces[1]))
    with pytest.raises(MissingExtra, match="a policy of 'bdi_q' needs the extra 'bdi'"):
        submit.refuse_missing(
            asked("FrozenLake-v1", mode="play", actors={"agent_0": f"policy:{path}"}), sees_pixels=bool
        )
    other = asked("FrozenLake-v1", mode="play", actors={"agent_0": f"policy:{tmp_path / 'missing'}"})
    submit.refuse_missing(other, sees_pixels=bool)


@pytest.mark.usefixtures("nothing_installed")
@pytest.mark.parametrize("env_id", ["CartPole-v1", "FrozenLake-v1", "mosaic/Recall-v0", "mine:Ant-v1", "NoSuch-v0"])
def test_what_needs_no_extra_or_is_not_known_is_let_through(env_id: str) -> None:
    submit.refuse_missing(asked(env_id), sees_pixels=lambda _: False)


def test_every_family_and_actor_with_an_extra_is_told_by_names_alone() -> None:
    """A further family is a line in `mosaic.spec.catalogue.extras`, too."""
    told = {extra.name for _, extra in extras.ENVIRONMENTS}
    assert told == {family.extra for family in envs.FAMILIES} - {None}
    for family in envs.FAMILIES:
        for env_id in envs.list_ids(family.name):
            if family.name == "atari" and "/" not in env_id:
                continue  # Breakout-v4: names without a mark, which only ale-py knows.
            extra = extras.of_environment(env_id)
            assert (extra.name if extra else None) == family.extra, env_id


def test_games_name_the_package_that_they_need_more_than_others() -> None:
    needs = {env_id: extras.of_environment(env_id).modules for env_id in envs.list_ids("pettingzoo")}  # type: ignore[union-attr]
    assert needs["butterfly/pistonball-v6"][0] == "pymunk"
    assert needs["classic/texas_holdem-v4"][0] == "rlcard"
    assert needs["classic/tictactoe-v3"] == extras.PETTINGZOO.modules


@pytest.mark.usefixtures("nothing_installed")
def test_a_script_names_what_it_imports(tmp_path: Path) -> None:
    (tmp_path / "helper.py").touch()
    mine = tmp_path / "mine.py"
    mine.write_text("import helper\nimport wandb\nimport stable_baselines3\n")
    with pytest.raises(MissingExtra, match=r"mine.py, which imports stable_baselines3, needs the extra 'sb3'"):
        missing_packages.refuse_missing(script.read(mine))
    mine.write_text("import helper\nimport missing_everywhere\n")
    with pytest.raises(MissingPackage, match=r"mine.py needs missing_everywhere, .* install missing_everywhere$"):
        missing_packages.refuse_missing(script.read(mine))


def installation(tmp_path: Path, **given: Any) -> Installation:
    usual = {"prefix": tmp_path, "python": "python", "checkout": None, "current_folder": tmp_path, "active": True}
    return Installation(**usual | given)


def test_the_line_fits_the_installation(tmp_path: Path) -> None:
    (tmp_path / "pyvenv.cfg").write_text("home = /usr/bin\n")
    made = installation(tmp_path)
    assert made.with_extra("atari") == "python -m pip install 'mosaic-rl[atari]'"
    assert made.with_packages(("gym",)) == "python -m pip install gym"
    away = installation(tmp_path, python="/a b/python")
    assert away.with_extra("gui") == "/a b/python -m pip install 'mosaic-rl[gui]'"
    checkout = tmp_path / "checkout"
    own = installation(tmp_path, prefix=checkout / ".venv", checkout=checkout, current_folder=checkout)
    assert own.with_extra("atari") == "make extras atari"
    elsewhere = installation(tmp_path, prefix=checkout / ".venv", checkout=checkout)
    assert elsewhere.with_extra("atari") == f"make -C {checkout} extras atari"
    other = installation(tmp_path, checkout=checkout)
    assert other.with_extra("atari") == f"python -m pip install -e '{checkout}[atari]'"
    (tmp_path / "pyvenv.cfg").write_text("home = /usr/bin\nuv = 0.13.7\n")
    assert made.with_extra("atari") == "uv pip install 'mosaic-rl[atari]'"
    inactive = installation(tmp_path, active=False)
    assert inactive.with_extra("atari") == f"uv pip install --python {tmp_path} 'mosaic-rl[atari]'"
    (tmp_path / "uv-receipt.toml").write_text('[tool]\nrequirements = [{ name = "mosaic-rl", extras = ["gui"] }]\n')
    assert made.with_extra("atari") == "uv tool install 'mosaic-rl[atari,gui]'"
    (tmp_path / "uv-receipt.toml").unlink()
    (tmp_path / "pipx_metadata.json").touch()
    assert made.with_extra("atari") == "pipx runpip mosaic-rl install 'mosaic-rl[atari]'"


def test_make_extras_takes_names_that_are_targets_too() -> None:
    def make(*words: str) -> "subprocess.CompletedProcess[str]":
        # Not as a part of a make that runs this suite.
        variables = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
        root = SUPPORT.parent.parent
        return subprocess.run(["make", *words], cwd=root, env=variables, capture_output=True, text=True, timeout=300)

    done = make("-n", "extras", "gui", "atari")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0].endswith("tools/setup.sh extras gui atari")
    done = make("extras", "nosuch")
    assert done.returncode != 0
    assert "'nosuch' is not an extra; there are: gui web mujoco" in done.stderr


def test_commands_end_with_3_before_anything_is_made(daemons, kit, tmp_path: Path) -> None:
    daemon = daemons("--no-warm")
    variables = {**os.environ, "MOSAIC_HOME": str(daemon.home.root), "QT_QPA_PLATFORM": "offscreen"}
    with daemon.log.open("ab") as log:
        words = [sys.executable, str(SUPPORT / "without_packages.py"), MISSING, "mosaic.trainer", "--no-warm"]
        daemon.process = subprocess.Popen(words, env=variables, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    kit.eventually(lambda: running_address(daemon.home), what="daemon")
    client = daemon.client
    (tmp_path / "mine.py").write_text("import mujoco\n")

    def refused(document: dict[str, Any], extra: str) -> None:
        with pytest.raises(Refused) as caught:
            client.submit(document)
        assert caught.value.exit_code == 3
        assert f"needs the extra '{extra}': {install_line(extra)}" in str(caught.value)

    cheetah = kit.document()
    cheetah["environment"]["env_id"] = cheetah["metadata"]["worker"]["config"]["env_id"] = "HalfCheetah-v5"
    cheetah["metadata"]["worker"]["config"]["algo"] = "ppo_continuous_action"
    refused(cheetah, "mujoco")
    tracked = kit.document(extras={"track_wandb": True})
    tracked["artifacts"]["wandb"] = {"enabled": True}
    refused(tracked, "wandb")
    assert client.validate(cheetah).exit_code == 3

    def typed(*words: str) -> None:
        command = [sys.executable, str(SUPPORT / "without_packages.py"), MISSING, "mosaic.cli", *words]
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=300)
        assert (done.returncode, done.stdout) == (3, ""), done
        assert "needs the extra" in done.stderr
        assert "Traceback" not in done.stderr

    alone = [sys.executable, str(SUPPORT / "without_packages.py"), MISSING, "cleanrl_worker.cli", "--algo", "ppo"]
    for flags, told in (
        (["--track-wandb"], "--track-wandb needs the extra 'wandb'"),
        (["--algo=bdi_q"], "bdi_q needs"),
    ):
        done = subprocess.run([*alone, *flags], env=variables, capture_output=True, text=True, timeout=300)
        assert (done.returncode, told in done.stderr) == (3, True), done
    typed("play", "butterfly/pistonball-v6", "--actor", "random")
    typed("train", "bdi_q")
    typed("gui")
    typed("sweep", "ppo", "--trials", "3")
    plan = {"document": kit.document(), "space": [{"name": "gamma", "low": 0.9, "high": 0.99}], "defaults": {}}
    with pytest.raises(Refused, match="a sweep by tpe needs the extra 'sweep'"):
        client.submit_sweep(plan)
    assert list(client.sweeps()) == []
    typed("publish", "@last")
    assert client.list() == []


@pytest.mark.parametrize(
    "words",
    [
        ("track", "@last", "--to", "trackio"),
        ("wandb", "sync", "@last"),
        ("export-minari", "@last", "--dataset", "a/b-v0"),
        ("tensorboard",),
    ],
)
@pytest.mark.usefixtures("nothing_installed")
def test_commands_of_this_machine_look_before_they_ask_a_daemon(words: tuple[str, ...], capsys: Any) -> None:
    from mosaic.cli import main

    assert main(list(words)) == MissingExtra.exit_code
    assert re.search(r"needs .*: (make extras|.*install) ", capsys.readouterr().err)


def test_a_family_that_is_not_installed_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.import_module", _nothing_of_pettingzoo)
    with pytest.raises(MosaicError, match=r"the PettingZoo family needs the extra 'pettingzoo': "):
        envs.make_for_several("classic/tictactoe-v3", render_mode=None)


def _nothing_of_pettingzoo(name: str, package: str | None = None) -> Any:
    raise ModuleNotFoundError(f"No module named '{name}'", name=name)
