"""Every algorithm's policy takes the same actions as ONNX and as plain torch, or says why it cannot be exported."""

import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import onnx
import pytest
from worker_cases import Case

from cleanrl_worker.algorithms.ppo import Agent
from cleanrl_worker.sdk import LikeliestActions
from cleanrl_worker.sdk.exported import equal_actions, write_export
from cleanrl_worker.sdk.policies.open_policy import open_policy
from cleanrl_worker.sdk.policy import PolicyFile, write
from mosaic.errors import ConfigError, PolicyError
from mosaic.spec.run_dir import RunDir

BY_PLANS = {"bdi_q"}


def policy_of(straight: RunDir) -> Path:
    return next(straight.root.glob("runs/*/*.cleanrl_model"))


@pytest.mark.parametrize("suffix", [".onnx", ".py"])
def test_an_exported_policy_takes_the_same_actions(case: Case, straight: RunDir, suffix: str, tmp_path: Path) -> None:
    file, policy = open_policy(policy_of(straight))
    path = tmp_path / f"policy{suffix}"
    if case.algo in BY_PLANS:
        with pytest.raises(PolicyError, match="'bdi_q' cannot be exported: it acts by plans"):
            write_export.written(file, policy, path)
        assert not list(tmp_path.iterdir())
        return
    made = write_export.written(file, policy, path)
    assert made.compared.where == f"played in {case.env_id}"
    assert made.compared.different == 0
    assert {one.name for one in made.files} == {one.name for one in tmp_path.iterdir()}


HOSTILE = '"""\nraise SystemExit(7)\n"""\\'


def ppo_file(tmp_path: Path, env_id: str = "CartPole-v1") -> Path:
    """Of an agent that has learnt nothing."""
    space = gym.spaces.Box(-1, 1, (4,))
    weights = Agent(space, gym.spaces.Discrete(2)).state_dict()
    file = PolicyFile(
        algo="ppo",
        env_id=env_id,
        args={},
        observation_space=space,
        action_space=gym.spaces.Discrete(2),
        global_step=7,
        arrays={f"agent.{name}": tensor.numpy() for name, tensor in weights.items()},
    )
    path = tmp_path / "ppo.cleanrl_model"
    write(path, file)
    return path


def test_the_python_file_needs_no_mosaic_and_nothing_of_a_policy_file_is_code_in_it(tmp_path: Path) -> None:
    file, policy = open_policy(ppo_file(tmp_path, HOSTILE))
    made = write_export.written(file, policy, tmp_path / "mine.py")
    # Whose environment is not known here.
    assert made.compared.where.startswith("observations drawn from its space, because ")
    program = (
        "import sys, numpy, mine\n"
        "acts = mine.Policy()\n"
        "print(acts(numpy.ones(4)), acts(numpy.ones((3, 4))).tolist(), mine.ENVIRONMENT == sys.argv[1])\n"
        "print([name for name in ('mosaic', 'cleanrl_worker', 'gymnasium', 'safetensors') if name in sys.modules])\n"
    )
    command = [sys.executable, "-c", program, HOSTILE]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.splitlines()
    one = int(policy.act(np.ones((1, 4), np.float32), np.random.default_rng(0), deterministic=True)[0])
    assert said == [f"{one} {[one] * 3} True", "[]"]


def test_an_onnx_file_says_what_it_is_and_has_the_names_of_the_weights(tmp_path: Path) -> None:
    file, policy = open_policy(ppo_file(tmp_path))
    [path] = write_export.written(file, policy, tmp_path / "policy.onnx").files
    model = onnx.load(path)
    onnx.checker.check_model(model)
    assert [one.name for one in (*model.graph.input, *model.graph.output)] == ["observations", "actions"]
    about = {one.key: one.value for one in model.metadata_props}
    assert (about["algo"], about["env_id"], about["global_step"]) == ("ppo", "CartPole-v1", "7")
    weights = {one.name: onnx.numpy_helper.to_array(one) for one in model.graph.initializer}
    assert np.array_equal(weights["actor.0.weight"], file.arrays["agent.actor.0.weight"])


def test_an_export_that_does_something_else_is_refused_and_not_kept(tmp_path: Path) -> None:
    file, policy = open_policy(ppo_file(tmp_path))

    def contrary(observations: np.ndarray, begins: np.ndarray) -> np.ndarray:
        return 1 - policy.act(observations, np.random.default_rng(0), deterministic=True)

    with pytest.raises(PolicyError, match="does something else and was not kept: only 0 of 80 actions"):
        equal_actions.compare(file, policy, contrary, steps=20)


def test_what_cannot_be_exported_says_why(tmp_path: Path) -> None:
    file, policy = open_policy(ppo_file(tmp_path))
    with pytest.raises(ConfigError, match=r"'policy.zip' must end in \.onnx or \.py"):
        write_export.written(file, policy, tmp_path / "policy.zip")

    class OfTheirOwn:
        def act(self, observations, generator, *, deterministic):
            return policy.act(observations, generator, deterministic=deterministic)

    with pytest.raises(PolicyError, match="it does not say what torch computes for it"):
        write_export.written(file, OfTheirOwn(), tmp_path / "policy.py")

    class ByLength(OfTheirOwn):
        def in_torch(self):
            return LikeliestActions(lambda observations: observations.view(len(observations), -1).argmax(1))

    with pytest.raises(PolicyError, match="it takes the number of rows for a fixed one"):
        write_export.written(file, ByLength(), tmp_path / "policy.py")

    class ByItself(OfTheirOwn):
        def in_torch(self):
            return LikeliestActions(lambda observations: observations.argmax(1) if observations.sum() > 0 else None)

    with pytest.raises(PolicyError, match="torch cannot record what the policy of 'ppo' does"):
        write_export.written(file, ByItself(), tmp_path / "policy.py")
    assert [path.name for path in tmp_path.iterdir()] == ["ppo.cleanrl_model"]
