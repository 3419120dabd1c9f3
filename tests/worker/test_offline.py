"""Learning from a Minari data set: its transitions, IQL's losses against plain loops, and data that do not fit."""

from collections.abc import Callable
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import recorded_data
import torch

from cleanrl_worker.algorithms import bc, iql
from cleanrl_worker.sdk.minari_data import MinariData
from mosaic import config
from mosaic.errors import CheckpointError, ConfigError, IncompatibleSpaces, RecordingError
from mosaic.spec import user_files

OBSERVATIONS = gym.spaces.Box(-1, 1, (1,), np.float32)
ACTIONS = gym.spaces.Box(-1, 1, (1,), np.float32)
ROWS = 10


@pytest.fixture
def folder(made_once: Callable[[str, Callable[[Path], object]], Path]) -> Path:
    return made_once("minari-aim", recorded_data.record) / "suite" / "aim-v0"


def test_each_step_of_each_episode_is_a_transition(folder: Path) -> None:
    data = MinariData(str(folder), OBSERVATIONS, ACTIONS)
    found = data.transitions
    assert len(found.rewards) == len(data.replay) == 10 * recorded_data.EPISODES
    np.testing.assert_allclose(found.rewards, 1 - np.abs(found.actions - found.obs)[:, 0], atol=1e-6)
    for episode in range(recorded_data.EPISODES):
        steps = slice(10 * episode, 10 * episode + 10)
        np.testing.assert_array_equal(found.next_obs[steps][:-1], found.obs[steps][1:])
        assert found.dones[steps].tolist() == [0.0] * 9 + [1.0]
    batch = data.replay.sample(np.random.default_rng(0), 32)
    np.testing.assert_allclose(batch.rewards, 1 - np.abs(batch.actions - batch.obs)[:, 0], atol=1e-6)


def test_the_best_episodes_are_those_with_the_highest_returns(folder: Path) -> None:
    whole = MinariData(str(folder), OBSERVATIONS, ACTIONS).transitions.rewards.reshape(-1, 10).sum(1)
    best = MinariData(str(folder), OBSERVATIONS, ACTIONS, best=0.25).transitions.rewards.reshape(-1, 10).sum(1)
    np.testing.assert_allclose(sorted(best), sorted(whole)[-5:], rtol=1e-6)


def test_what_does_not_fit_or_is_not_there_is_explained(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(IncompatibleSpaces, match="give the --env-id that it was recorded in"):
        MinariData(str(folder), gym.spaces.Box(-1, 1, (3,), np.float32), ACTIONS)
    with pytest.raises(ConfigError, match="--dataset: is missing"):
        MinariData("", OBSERVATIONS, ACTIONS)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "main_data.hdf5").write_bytes(b"no such format")
    with pytest.raises(RecordingError, match="cannot be read"):
        MinariData(str(tmp_path), OBSERVATIONS, ACTIONS)


def test_a_resume_with_other_data_is_refused(folder: Path) -> None:
    whole, half = (MinariData(str(folder), OBSERVATIONS, ACTIONS, best=best) for best in (1.0, 0.5))
    whole.check(whole.state())
    with pytest.raises(CheckpointError, match="it had 200 steps and has 100"):
        half.check(whole.state())


def test_a_name_is_found_where_it_is_typed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(folder.parents[1]))
    schema = config.json_schema(iql.Args)
    assert user_files.absolute(schema, {"dataset": recorded_data.NAME}, what="x") == {"dataset": str(folder)}
    assert user_files.absolute(schema, {"dataset": str(folder)}, what="x") == {"dataset": str(folder)}
    for typed, complaint in (("aim-v9", "there is no data set aim-v9"), ("", "is missing")):
        with pytest.raises(ConfigError, match=rf"--dataset: {complaint}.*there are {recorded_data.NAME}"):
            user_files.absolute(schema, {"dataset": typed}, what="x")


@pytest.mark.parametrize("discrete", [False, True])
def test_iql_learns_by_the_losses_of_the_paper(discrete: bool) -> None:
    torch.manual_seed(0)
    space: gym.Space[object] = gym.spaces.Discrete(3) if discrete else gym.spaces.Box(-2, 2, (2,), np.float32)
    agent = iql.Agent(gym.spaces.Box(-1, 1, (3,), np.float32), space)
    with torch.no_grad():
        for parameter in agent.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape))
    numbers = {"gamma": 0.5, "expectile": 0.8, "temperature": 2.0, "reward_scale": 3.0}
    batch = {
        "obs": torch.randn(ROWS, 3),
        "next_obs": torch.randn(ROWS, 3),
        "actions": torch.randint(3, (ROWS,)) if discrete else 2 * torch.tanh(torch.randn(ROWS, 2)),
        "rewards": torch.randn(ROWS),
        "dones": (torch.rand(ROWS) < 0.3).float(),
        **{name: torch.tensor(value) for name, value in numbers.items()},
    }
    with torch.no_grad():
        seen = iql.seen_values(agent, batch)
        v_loss, _ = iql.value_loss(agent, batch, seen)
        policy_loss = iql.actor_loss(agent, batch, seen)
        qf_loss, _ = iql.critic_loss(agent, batch)
        inputs = agent.actor.as_inputs(batch["actions"])
        old = [values.tolist() for values in agent.targets(batch["obs"], inputs)]
        now = [values.tolist() for values in agent.critics(batch["obs"], inputs)]
        values, later = (agent.value(batch[name])[:, 0].tolist() for name in ("obs", "next_obs"))
        outputs = agent.actor.network(batch["obs"])
        if discrete:
            logprobs = torch.distributions.Categorical(logits=outputs).log_prob(batch["actions"])
        else:
            normal = torch.distributions.Normal(torch.tanh(outputs), agent.actor.log_std.exp())
            logprobs = normal.log_prob(batch["actions"] / 2).sum(1)
    value_sum = policy_sum = critic_sum = 0.0
    for row in range(ROWS):
        error = min(old[0][row], old[1][row]) - values[row]
        value_sum += (0.8 if error > 0 else 0.2) * error**2
        policy_sum -= min(float(np.exp(2.0 * error)), 100.0) * float(logprobs[row])
        wanted = 3.0 * float(batch["rewards"][row]) + (1 - float(batch["dones"][row])) * 0.5 * later[row]
        critic_sum += (now[0][row] - wanted) ** 2 + (now[1][row] - wanted) ** 2
    assert float(v_loss) == pytest.approx(value_sum / ROWS, rel=1e-4)
    assert float(policy_loss) == pytest.approx(policy_sum / ROWS, rel=1e-4)
    assert float(qf_loss) == pytest.approx(critic_sum / ROWS, rel=1e-4)


def test_cloning_is_the_likelihood_of_what_was_done() -> None:
    torch.manual_seed(0)
    actor = bc.Actor(gym.spaces.Box(-1, 1, (3,), np.float32), gym.spaces.Discrete(3))
    batch = {"obs": torch.randn(ROWS, 3), "actions": torch.randint(3, (ROWS,))}
    with torch.no_grad():
        expected = torch.nn.functional.cross_entropy(actor.network(batch["obs"]), batch["actions"])
        assert float(bc.cloning_loss(actor, batch)) == pytest.approx(float(expected), rel=1e-5)
