"""Policy files come back as they were, are the same bytes in every process, and run nothing when they are opened."""

import json
import os
import pickle
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from cleanrl_worker.sdk import policy
from cleanrl_worker.sdk.policy import PolicyFile
from mosaic.envs.observations.parted_rows import PartedRows
from mosaic.errors import PolicyError


def some_policy(**changes: Any) -> PolicyFile:
    content: dict[str, Any] = {
        "algo": "ppo",
        "env_id": "CartPole-v1",
        "args": {"seed": 1, "target_kl": None},
        "observation_space": gym.spaces.Box(np.array([-1.5, -np.inf]), np.array([1.5, np.inf]), dtype=np.float64),
        "action_space": gym.spaces.Discrete(3),
        "global_step": 7,
        "arrays": {
            "agent.weight": np.arange(6, dtype=np.float32).reshape(2, 3),
            "observation_normaliser.mean": np.zeros(2),
            "observation_normaliser.count": np.array(3.0),
        },
    }
    return PolicyFile(**content | changes)


def test_a_policy_comes_back_as_it_was(tmp_path: Path) -> None:
    path, wanted = tmp_path / "deep" / "ppo.cleanrl_model", some_policy()
    policy.write(path, wanted)
    found = policy.read(path)
    assert (found.algo, found.env_id, found.args, found.global_step) == ("ppo", "CartPole-v1", wanted.args, 7)
    assert (found.observation_space, found.action_space) == (wanted.observation_space, wanted.action_space)
    assert set(found.arrays) == set(wanted.arrays)
    assert set(found.group("observation_normaliser")) == {"mean", "count"}
    assert found.group("observation_normaliser")["count"].shape == ()
    assert found.weights()["weight"].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_the_file_is_plain_safetensors_with_a_sorted_header(tmp_path: Path) -> None:
    path = tmp_path / "ppo.cleanrl_model"
    policy.write(path, some_policy())
    assert set(load_file(path)) == set(some_policy().arrays)
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = data[8 : 8 + length].decode()
    assert length % 8 == 0
    assert header.rstrip() == json.dumps(json.loads(header), sort_keys=True, separators=(",", ":"))


@pytest.mark.parametrize(
    "space",
    [
        gym.spaces.Discrete(4, start=2),
        gym.spaces.Box(0, 255, (4, 4, 3), np.uint8),
        gym.spaces.Box(-np.inf, np.inf, (3,), np.float32),
        gym.spaces.Box(np.array([-1, 0.1]), np.array([2, np.inf]), dtype=np.float64),
        gym.spaces.MultiDiscrete([3, 4], start=[0, 2]),
        gym.spaces.MultiDiscrete([[3, 4], [2, 5]]),
        gym.spaces.MultiBinary((2, 3)),
        PartedRows({"action_mask": gym.spaces.Box(0, 1, (3,)), "eye": gym.spaces.Box(0, 255, (2, 2, 1), np.uint8)}),
    ],
    ids=str,
)
def test_spaces_come_back_as_they_were(space: gym.Space[Any]) -> None:
    assert policy.space_from_json(json.loads(json.dumps(policy.space_to_json(space), allow_nan=False))) == space


def test_a_space_that_no_policy_can_have_is_refused() -> None:
    with pytest.raises(PolicyError, match="only those that are one array"):
        policy.space_to_json(gym.spaces.Text(3))


def test_a_pickle_is_refused_and_its_payload_is_not_run(tmp_path: Path) -> None:
    trap, path = tmp_path / "sprung", tmp_path / "evil.cleanrl_model"

    class Payload:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.mkdir, (str(trap),)

    path.write_bytes(pickle.dumps({"agent": Payload()}))
    with pytest.raises(PolicyError, match=r"evil.cleanrl_model cannot be read as a policy"):
        policy.read(path)
    assert not trap.exists()


@pytest.mark.parametrize("content", [b"", b"\x00" * 7, b"\xff" * 64, os.urandom(1000)])
def test_bytes_that_are_no_policy_are_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.cleanrl_model"
    path.write_bytes(content)
    with pytest.raises(PolicyError, match="cannot be read as a policy"):
        policy.read(path)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "missing", tmp_path):
        with pytest.raises(PolicyError, match="cannot be read as a policy"):
            policy.read(path)


def test_a_truncated_policy_is_refused_wherever_it_ends(tmp_path: Path) -> None:
    path = tmp_path / "x.cleanrl_model"
    policy.write(path, some_policy())
    whole = path.read_bytes()
    for length in range(0, len(whole), 16):
        path.write_bytes(whole[:length])
        with pytest.raises(PolicyError):
            policy.read(path)


def test_safetensors_of_another_program_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    save_file({"weight": np.zeros(3)}, path, metadata={"format": "pt"})
    with pytest.raises(PolicyError, match="is a safetensors file, but not a MOSAIC policy"):
        policy.read(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"args": "{"},
        {"global_step": "many"},
        {"observation_space": '{"type": "Box"}'},
        {"observation_space": '{"type":"Box","shape":[2],"dtype":"no","low":0,"high":1}'},
        {"action_space": '{"type":"Discrete","n":-3,"start":0}'},
        {"action_space": "[1]"},
        {"observation_space": '{"type":"Parts","parts":[{"name":"x","type":"Discrete","n":2,"start":0}]}'},
        {"algo": None},
    ],
    ids=str,
)
def test_damaged_metadata_is_refused(changes: dict[str, str | None], tmp_path: Path) -> None:
    path = tmp_path / "x.cleanrl_model"
    policy.write(path, some_policy())
    data = path.read_bytes()
    metadata = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]
    kept = {name: value for name, value in (metadata | changes).items() if value is not None}
    save_file(load_file(path), path, metadata=kept)
    with pytest.raises(PolicyError):
        policy.read(path)
