"""What a policy file says of itself, or its surroundings say of it; nothing in it is run."""

import json
import struct
import zipfile
from pathlib import Path

import pytest

from mosaic.errors import PolicyError
from mosaic.spec import policy_facts


def our_file(path: Path, **changes: str) -> Path:
    metadata = {
        "format": "mosaic-policy-1",
        "algo": "ppo",
        "env_id": "CartPole-v1",
        "args": '{"seed": 7}',
        "global_step": "512",
    }
    header = json.dumps({"__metadata__": metadata | changes}).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(struct.pack("<Q", len(header)) + header)
    return path


def torch_file(path: Path) -> Path:
    """A zip as torch.save makes it; what is in its pickle does not matter here."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", b"x")
    return path


def test_our_own_file_says_everything(tmp_path: Path) -> None:
    facts = policy_facts.read(our_file(tmp_path / "renamed"))
    assert (facts.kind, facts.algo, facts.env_id, facts.seed, facts.global_step) == (
        "mosaic",
        "ppo",
        "CartPole-v1",
        7,
        512,
    )
    assert facts.source == "the file"


def test_a_header_whose_length_begins_as_a_pickle_does_is_ours_too(tmp_path: Path) -> None:
    path = next(
        path
        for padding in range(256)
        if (path := our_file(tmp_path / "policy", note="x" * padding)).read_bytes().startswith(b"\x80")
    )
    assert policy_facts.read(path).kind == "mosaic"


@pytest.mark.parametrize(
    ("place", "env_id", "algo", "seed"),
    [
        ("runs/CartPole-v1__dqn__3__1700000000/dqn.cleanrl_model", "CartPole-v1", "dqn", 3),
        ("runs/ALE/Breakout-v5__ppo_atari__1__1700000000/ppo_atari.cleanrl_model", "ALE/Breakout-v5", "ppo_atari", 1),
        ("ALE-Pong-v5__ppo_atari__1__1700000000/x.cleanrl_model", "ALE/Pong-v5", "ppo_atari", 1),
        ("Hopper-v4-td3_continuous_action-seed2/x.cleanrl_model", "Hopper-v4", "td3_continuous_action", 2),
        ("elsewhere/ppo.cleanrl_model", "", "ppo", None),
        ("elsewhere/model.pt", "", "", None),
    ],
)
def test_the_names_around_an_upstream_file(
    place: str, env_id: str, algo: str, seed: int | None, tmp_path: Path
) -> None:
    facts = policy_facts.read(torch_file(tmp_path / place))
    assert (facts.kind, facts.env_id, facts.algo, facts.seed) == ("cleanrl", env_id, algo, seed)


def test_a_config_beside_it_comes_first_and_a_model_card_helps(tmp_path: Path) -> None:
    path = torch_file(tmp_path / "run" / "runs" / "CartPole-v1__ppo__1__1700000000" / "ppo.cleanrl_model")
    worker = {"algo": "ppo", "env_id": "Acrobot-v1", "seed": 9}
    (tmp_path / "run" / "config.json").write_text(json.dumps({"metadata": {"worker": {"config": worker}}}))
    facts = policy_facts.read(path)
    assert (facts.env_id, facts.seed, facts.source) == ("Acrobot-v1", 9, str(tmp_path / "run" / "config.json"))
    path = torch_file(tmp_path / "card" / "dqn.cleanrl_model")
    card = "---\nmodel-index:\n- name: DQN\n  results:\n  - dataset:\n      name: LunarLander-v3\n---\n"
    (tmp_path / "card" / "README.md").write_text(card)
    (tmp_path / "card" / "config.json").write_text("[broken")
    assert policy_facts.read(path).env_id == "LunarLander-v3"


def test_the_run_of_a_script_says_what_it_knows_and_no_more(tmp_path: Path) -> None:
    """Its config names the script by its path, and an environment only if one is known."""
    worker = {"algo": "/scripts/ppo_atari.py", "env_id": "unknown", "seed": 9}
    (tmp_path / "config.json").write_text(json.dumps({"metadata": {"worker": {"config": worker}}}))
    facts = policy_facts.read(torch_file(tmp_path / "work" / "runs" / "Pong-v4__mine__1__1700000000" / "x.pt"))
    assert (facts.env_id, facts.algo, facts.seed) == ("Pong-v4", "ppo_atari", 9)


def test_the_name_of_its_folder_comes_before_some_config_far_above(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"env_id": "Ant-v5", "seed": 9}))
    facts = policy_facts.read(torch_file(tmp_path / "runs" / "CartPole-v1__ppo__1__1700000000" / "ppo.cleanrl_model"))
    assert (facts.env_id, facts.seed) == ("CartPole-v1", 1)


def test_a_folder_means_the_one_policy_in_it(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="holds no policy"):
        policy_facts.read(tmp_path)
    inner = our_file(tmp_path / "runs" / "label" / "ppo.cleanrl_model")
    assert policy_facts.read(tmp_path).path == inner
    ours = our_file(tmp_path / "a.cleanrl_model")
    assert policy_facts.read(tmp_path).path == ours
    our_file(tmp_path / "b.cleanrl_model")
    with pytest.raises(PolicyError, match=r"a\.cleanrl_model, b\.cleanrl_model; name one"):
        policy_facts.read(tmp_path)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "may be cut off"),
        (b"\x00" * 30, "neither a policy of MOSAIC"),
        (struct.pack("<Q", 2**62) + b"{", "header would have"),
        (struct.pack("<Q", 50) + b'{"__meta', "it is cut off"),
        (struct.pack("<Q", 2) + b"{}", "not a MOSAIC policy"),
        (struct.pack("<Q", 3) + b"{1}", "damaged"),
        (b"PK\x03\x04 and nothing more", "may be cut off"),
    ],
)
def test_what_is_no_policy_is_refused_with_the_reason(content: bytes, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(PolicyError, match=complaint):
        policy_facts.read(tmp_path / "x")


def test_a_missing_file_and_damaged_metadata_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="No such file"):
        policy_facts.read(tmp_path / "missing")
    with pytest.raises(PolicyError, match="damaged"):
        policy_facts.read(our_file(tmp_path / "x", global_step="many"))
