"""Files in the layouts of upstream CleanRL, and Stable-Baselines3's zips: recognised, explained, and never trusted."""

import os
import pickle
import zipfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from torch import nn
from worker_runs import evaluated_returns, new_run

from cleanrl_worker import evaluate
from cleanrl_worker.sdk import policy
from cleanrl_worker.sdk.command import algorithm_catalogue
from cleanrl_worker.sdk.policies.open_policy import open_policy
from mosaic.errors import PolicyError


def mlp(prefix: str, *sizes: int) -> dict[str, torch.Tensor]:
    """A stack of linear layers with something between them, under upstream's names."""
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        layers += [nn.Linear(inputs, outputs), nn.Identity()]
    return {f"{prefix}.{name}": value for name, value in nn.Sequential(*layers).state_dict().items()}


def linear(name: str, inputs: int, outputs: int) -> dict[str, torch.Tensor]:
    return {f"{name}.{key}": value for key, value in nn.Linear(inputs, outputs).state_dict().items()}


def actor(observations: int, actions: int) -> dict[str, torch.Tensor]:
    """The one of ddpg and td3; upstream keeps the bounds of the actions for each environment."""
    layers = linear("fc1", observations, 256) | linear("fc2", 256, 256) | linear("fc_mu", 256, actions)
    return layers | {"action_scale": torch.ones(1, actions), "action_bias": torch.zeros(1, actions)}


def critic(observations: int, actions: int) -> dict[str, torch.Tensor]:
    return linear("fc1", observations + actions, 256) | linear("fc2", 256, 256) | linear("fc3", 256, 1)


UPSTREAM: dict[str, tuple[str, Any]] = {
    "ppo": ("CartPole-v1", lambda: mlp("critic", 4, 64, 64, 1) | mlp("actor", 4, 64, 64, 2)),
    "dqn": ("CartPole-v1", lambda: mlp("network", 4, 120, 84, 2)),
    "ppo_continuous_action": (
        "Pendulum-v1",
        lambda: mlp("critic", 3, 64, 64, 1) | mlp("actor_mean", 3, 64, 64, 1) | {"actor_logstd": torch.zeros(1, 1)},
    ),
    "c51": (
        "CartPole-v1",
        lambda: {
            "model_weights": mlp("network", 4, 120, 84, 2 * 101) | {"atoms": torch.linspace(-100, 100, 101)},
            "args": {"exp_name": "c51", "env_id": "CartPole-v1", "n_atoms": 101, "v_min": -100, "v_max": 100},
        },
    ),
    "ddpg_continuous_action": ("Pendulum-v1", lambda: (actor(3, 1), critic(3, 1))),
    "td3_continuous_action": ("Pendulum-v1", lambda: (actor(3, 1), critic(3, 1), critic(3, 1))),
}
"""Environment and content of upstream's file of each algorithm, as torch.save gets it."""


@pytest.fixture(params=[name for name in UPSTREAM if name in algorithm_catalogue.names()])
def upstream(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A file where upstream puts it."""
    torch.manual_seed(1)
    env_id, content = UPSTREAM[request.param]
    folder = tmp_path / "runs" / f"{env_id}__{request.param}__1__1700000000"
    folder.mkdir(parents=True)
    torch.save(content(), folder / f"{request.param}.cleanrl_model")
    return folder / f"{request.param}.cleanrl_model"


def normaliser_of(path: Path) -> list[str]:
    return ["--normaliser=running"] if path.stem == "ppo_continuous_action" else []


def test_an_upstream_file_is_evaluated_where_upstream_left_it(upstream: Path, tmp_path: Path) -> None:
    flags = ["--episodes=3", *normaliser_of(upstream)]
    returns = evaluated_returns(new_run(tmp_path), upstream, *flags)
    assert len(returns) == 3
    assert evaluated_returns(new_run(tmp_path), upstream, *flags) == returns


def test_an_upstream_file_is_known_by_its_keys_and_shapes(upstream: Path, tmp_path: Path) -> None:
    """Without a name that says what it is."""
    path, env_id = tmp_path / "model.pt", UPSTREAM[upstream.stem][0]
    upstream.rename(path)
    file, _ = open_policy(path, env_id=env_id, running_normaliser=True)
    assert file.algo == upstream.stem


def test_upstream_weights_act_as_upstream_does(tmp_path: Path) -> None:
    """The likeliest action of a ppo state dict is the highest logit of its actor."""
    torch.manual_seed(3)
    weights = UPSTREAM["ppo"][1]()
    torch.save(weights, tmp_path / "x")
    _, policy = open_policy(tmp_path / "x", env_id="CartPole-v1")
    network = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))
    network.load_state_dict({name[6:]: value for name, value in weights.items() if name.startswith("actor.")})
    observations = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    wanted = network(torch.from_numpy(observations)).argmax(1).numpy()
    found = policy.act(observations, np.random.default_rng(0), deterministic=True)
    assert found.tolist() == wanted.tolist()


def test_parameters_and_half_precision_are_weights_too(tmp_path: Path) -> None:
    weights = UPSTREAM["ppo"][1]()
    torch.save({name: nn.Parameter(value) for name, value in weights.items()}, tmp_path / "parameters")
    torch.save({name: value.bfloat16() for name, value in weights.items()}, tmp_path / "half")
    for name in ("parameters", "half"):
        assert open_policy(tmp_path / name, env_id="CartPole-v1")[0].algo == "ppo"


def test_a_missing_normaliser_is_explained_not_guessed(tmp_path: Path) -> None:
    torch.save(UPSTREAM["ppo_continuous_action"][1](), tmp_path / "x")
    with pytest.raises(PolicyError, match=r"does not hold the moments .* --normaliser running learns them again"):
        open_policy(tmp_path / "x", env_id="Pendulum-v1")


@pytest.mark.parametrize(
    ("content", "env_id", "algo", "complaint"),
    [
        (UPSTREAM["ppo"][1], "Acrobot-v1", "", r"fits no algorithm of this version .* check --env-id"),
        (UPSTREAM["ppo"][1], "Acrobot-v1", "ppo", r"does not fit 'ppo' in Acrobot-v1: .*size mismatch"),
        (
            UPSTREAM["ppo"][1],
            "Pendulum-v1",
            "ppo",
            "'ppo' acts in discrete and multi_discrete spaces, Pendulum-v1 has Box",
        ),
        (UPSTREAM["ppo"][1], "CartPole-v1", "dqn", "does not fit 'dqn' in CartPole-v1: .*Missing key"),
        (UPSTREAM["ppo"][1], "CartPol-v1", "", "did you mean CartPole-v1"),
        (UPSTREAM["ppo"][1], None, "", "give --env-id"),
        (lambda: {"steps": 3}, "CartPole-v1", "", "neither a state dict"),
        (lambda: [1, 2], "CartPole-v1", "", "neither a state dict"),
        (lambda: torch.zeros(3), "CartPole-v1", "", "neither a state dict"),
    ],
)
def test_a_mismatch_is_explained(content: Any, env_id: str | None, algo: str, complaint: str, tmp_path: Path) -> None:
    torch.save(content(), tmp_path / "x")
    with pytest.raises(PolicyError, match=complaint):
        open_policy(tmp_path / "x", env_id=env_id, algo=algo)


def test_what_fits_two_algorithms_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(algorithm_catalogue, "names", lambda: ["ppo", "dqn"])
    right = algorithm_catalogue.load
    monkeypatch.setattr(algorithm_catalogue, "load", lambda _: right("ppo"))
    torch.save(UPSTREAM["ppo"][1](), tmp_path / "x")
    with pytest.raises(PolicyError, match="fits ppo and dqn alike; say which with --algo"):
        open_policy(tmp_path / "x", env_id="CartPole-v1")
    assert open_policy(tmp_path / "x", env_id="CartPole-v1", algo="dqn")[0].algo == "dqn"
    (tmp_path / "x").rename(tmp_path / "dqn.cleanrl_model")
    assert open_policy(tmp_path / "dqn.cleanrl_model", env_id="CartPole-v1")[0].algo == "dqn"


class Payload:
    def __init__(self, trap: Path) -> None:
        self.trap = trap

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.trap),)


@pytest.mark.parametrize("form", ["torch zip", "old torch", "bare pickle", "sb3"])
@pytest.mark.parametrize("trust", [False, True], ids=["", "trusted"])
def test_a_payload_is_never_run(form: str, trust: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trap, path = tmp_path / "sprung", tmp_path / "evil.cleanrl_model"
    content = {"network.0.weight": Payload(trap)}
    if form == "sb3":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("data", "{}")
            archive.writestr("policy.pth", pickle.dumps(content))
    elif form == "bare pickle":
        path.write_bytes(pickle.dumps(content))
    else:
        torch.save(content, path, _use_new_zipfile_serialization=form == "torch zip")
    flags = ["--trust"] if trust else []
    assert evaluate.main(["--policy-path", str(path), "--env-id=CartPole-v1", *flags]) == 2
    said = capsys.readouterr().err
    assert ("nothing in it was run" in said) or ("--trust" in said) or ("damaged" in said), said
    assert not trap.exists()


@pytest.mark.parametrize("algo", ["ppo", "dqn"])
def test_a_truncated_or_damaged_upstream_file_is_refused(algo: str, tmp_path: Path) -> None:
    path = tmp_path / "x.cleanrl_model"
    torch.save(UPSTREAM[algo][1](), path)
    whole = path.read_bytes()
    generator = np.random.default_rng(0)
    damaged = [whole[: len(whole) * part // 7] for part in range(7)]
    damaged += [b"PK\x03\x04" + generator.bytes(500), b"\x80" + generator.bytes(500), generator.bytes(500)]
    for content in damaged:
        path.write_bytes(content)
        with pytest.raises(PolicyError, match=r"cannot be read as a policy|more than weights"):
            open_policy(path, env_id="CartPole-v1")


def test_an_sb3_zip_is_opened_only_with_trust(tmp_path: Path) -> None:
    from stable_baselines3 import PPO

    path = tmp_path / "model.zip"
    PPO("MlpPolicy", gym.make("CartPole-v1"), seed=0, device="cpu").save(path)
    with pytest.raises(PolicyError, match="add --trust if you trust who made it"):
        open_policy(path, env_id="CartPole-v1")
    flags = ["--env-id=CartPole-v1", "--episodes=3", "--trust"]
    returns = evaluated_returns(new_run(tmp_path), path, *flags)
    assert evaluated_returns(new_run(tmp_path), path, *flags) == returns
    (tmp_path / "vecnormalize.pkl").touch()
    with pytest.raises(PolicyError, match=r"vecnormalize.pkl lies beside it"):
        open_policy(path, env_id="CartPole-v1", trust=True)


@pytest.mark.parametrize("kind", ["A2C", "PPO", "DDPG", "TD3"])
def test_an_sb3_zip_is_named_after_the_algorithm_that_made_it(tmp_path: Path, kind: str) -> None:
    import stable_baselines3

    env_id = "CartPole-v1" if kind in ("A2C", "PPO") else "Pendulum-v1"
    model = getattr(stable_baselines3, kind)("MlpPolicy", gym.make(env_id), seed=0, device="cpu")
    model.save(tmp_path / "model.zip")
    file, opened = open_policy(tmp_path / "model.zip", env_id=env_id, trust=True)
    assert file.algo == f"sb3_{kind.lower()}"
    assert type(opened.model).__name__ == kind


def test_our_own_file_is_not_given_settings_or_another_algorithm(tmp_path: Path) -> None:
    space = gym.spaces.Discrete(2)
    box = gym.spaces.Box(-1, 1, (4,))
    file = policy.PolicyFile(
        algo="ppo", env_id="CartPole-v1", args={}, observation_space=box, action_space=space, global_step=1, arrays={}
    )
    policy.write(tmp_path / "x", file)
    with pytest.raises(PolicyError, match="leave algo_params empty"):
        open_policy(tmp_path / "x", args={"gamma": 1})
    with pytest.raises(PolicyError, match="was trained by 'ppo', the config says 'dqn'"):
        open_policy(tmp_path / "x", algo="dqn")
