"""A single flipped bit anywhere in a policy or a checkpoint is noticed; files without digests still load."""

import contextlib
import json
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from cleanrl_worker.sdk import policy
from cleanrl_worker.sdk.checkpoints import checkpoint, paged_array
from cleanrl_worker.sdk.checkpoints.checkpoint import BackgroundWriter, Header
from cleanrl_worker.sdk.policy import PolicyFile
from mosaic.errors import CheckpointError, PolicyError
from mosaic.spec.files import checkpoint_files, digests, policy_digest
from mosaic.spec.run_dir import RunDir, new_run_id


@pytest.fixture
def policy_path(tmp_path: Path) -> Path:
    generator = np.random.default_rng(1)
    arrays = {
        "agent.actor.weight": generator.normal(size=(64, 4)).astype(np.float32),
        "agent.actor.bias": np.zeros(64, np.float32),
        "observation_normaliser.mean": generator.normal(size=4),
    }
    content = PolicyFile(
        algo="ppo",
        env_id="CartPole-v1",
        args={"seed": 1, "learning_rate": 2.5e-4, "note": "Zürich"},
        observation_space=gym.spaces.Box(-1, 1, (4,), np.float32),
        action_space=gym.spaces.Discrete(2),
        global_step=4096,
        arrays=arrays,
    )
    policy.write(tmp_path / "ppo.cleanrl_model", content)
    return tmp_path / "ppo.cleanrl_model"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkpoint with some pages that an earlier one shares."""
    monkeypatch.setattr(paged_array, "PAGE_BYTES", 100)
    run_dir = RunDir(tmp_path / new_run_id())
    run_dir.create()
    frames = paged_array.PagedArray((40, 10), np.uint8)
    writer = BackgroundWriter(run_dir)
    for step in (1, 2):
        for row in range(30 if step == 1 else 5):
            frames.write(row, np.full(10, row + step, np.uint8))
        header = Header(algo="dqn", args={"seed": 1, "sha256": "0" * 64}, global_step=step, mean_return=1.5)
        state = {"algorithm": {"weights": np.linspace(0, 1, 500), "frames": frames}, "rng": {"state": 2**127 + 1}}
        writer.start(header, state, ready=lambda: None, done=lambda _: None)
        writer.wait()
        assert writer.error is None
    return run_dir.checkpoint(2)


def flips(path: Path, places: Iterable[int]) -> Iterator[None]:
    """The file with one bit changed, then as it was."""
    whole = path.read_bytes()
    for place in places:
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << place % 8
        path.write_bytes(damaged)
        yield
    path.write_bytes(whole)


def some(path: Path, count: int) -> list[int]:
    return random.Random(15).sample(range(path.stat().st_size * 8), count)


def load(folder: Path) -> Any:
    """Everything, the pages too."""
    _, state = checkpoint.load(folder, algo="dqn")
    saved = state["algorithm"]["frames"]
    paged_array.PagedArray(saved.shape, np.uint8).load(saved)
    return state


def test_every_flipped_bit_of_a_policys_header_is_refused(policy_path: Path) -> None:
    data = bytearray(policy_path.read_bytes())
    header = 8 + int.from_bytes(data[:8], "little")
    accepted: list[int] = []
    for place in range(header * 8):
        data[place // 8] ^= 1 << place % 8
        with contextlib.suppress(PolicyError):
            policy_digest.check(bytes(data), what="flipped")
            accepted.append(place)
        assert policy_digest.is_ours(data), place
        data[place // 8] ^= 1 << place % 8
    assert (header > 600, accepted) == (True, [])
    assert policy_digest.check(bytes(data), what="whole")


def test_flipped_bits_anywhere_in_a_policy_are_refused_by_its_reader(policy_path: Path) -> None:
    for _ in flips(policy_path, some(policy_path, 400)):
        with pytest.raises(PolicyError):
            policy.read(policy_path)
    assert policy.read(policy_path).has_digest


def test_the_refusal_of_a_policy_names_the_file_and_what_to_do(policy_path: Path) -> None:
    for _ in flips(policy_path, [policy_path.stat().st_size * 8 - 3]):
        with pytest.raises(PolicyError, match=r"ppo\.cleanrl_model is damaged.*mosaic resume RUN.*mosaic verify"):
            policy.read(policy_path)


def test_flipped_bits_anywhere_in_a_checkpoint_are_refused(folder: Path) -> None:
    load(folder)
    files = sorted(folder.iterdir())
    assert len(files) == 5, "state, arrays and three pages"
    for path in files:
        for _ in flips(path, some(path, 150)):
            with pytest.raises(CheckpointError, match=r"step-2"):
                load(folder)
            with pytest.raises(CheckpointError, match=r"step-2"):
                checkpoint_files.check(folder)
    load(folder)
    assert checkpoint_files.check(folder)


def test_a_lost_or_cut_file_is_noticed_without_reading_the_others(folder: Path) -> None:
    page = next(folder.glob("*-00001.safetensors"))
    page.write_bytes(page.read_bytes()[:-1])
    with pytest.raises(CheckpointError, match=r"00001\.safetensors is damaged: it has .* bytes instead of"):
        checkpoint_files.check(folder, quick=True)
    page.unlink()
    with pytest.raises(CheckpointError, match=r"00001\.safetensors is damaged: it is missing"):
        checkpoint_files.check(folder, quick=True)


def test_a_list_that_leads_elsewhere_is_refused(folder: Path) -> None:
    document = checkpoint_files.read(folder)
    del document["sha256"]
    files = {"../step-1/arrays.safetensors": digests.of_file(folder / "arrays.safetensors")}
    (folder / "state.json").write_bytes(checkpoint_files.encode(document, files))
    with pytest.raises(CheckpointError, match="not a file of a checkpoint"):
        checkpoint_files.check(folder)


def test_a_linked_page_is_not_hashed_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = checkpoint_files.listed(checkpoint_files.read(folder), folder)
    assert listed is not None
    assert listed == {path.name: digests.of_file(path) for path in folder.iterdir() if path.name != "state.json"}
    hashed: list[str] = []
    monkeypatch.setattr(digests, "of_file", lambda path: hashed.append(path.name))  # type: ignore[misc]
    run_dir = RunDir(folder.parent.parent)
    _, state = checkpoint.load(folder, algo="dqn", checked=True)
    frames = paged_array.PagedArray((40, 10), np.uint8)
    frames.load(state["algorithm"]["frames"])
    writer = BackgroundWriter(run_dir)
    writer.go_on_from(state)
    header = Header(algo="dqn", args={}, global_step=3, mean_return=None)
    writer.start(header, {"algorithm": {"frames": frames}}, ready=lambda: None, done=lambda _: None)
    writer.wait()
    assert (writer.error, hashed) == (None, [])
    again = checkpoint_files.listed(checkpoint_files.read(run_dir.checkpoint(3)), run_dir.checkpoint(3))
    pages = {name: digest for name, digest in listed.items() if name != "arrays.safetensors"}
    assert again is not None
    assert pages.items() <= again.items()


def test_a_policy_without_a_digest_still_loads_and_says_so(policy_path: Path) -> None:
    data = policy_path.read_bytes()
    metadata = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]
    del metadata["sha256"]
    save_file(load_file(policy_path), policy_path, metadata=metadata)
    assert not policy.read(policy_path).has_digest


def without_digests(folder: Path) -> None:
    """As the version before wrote it."""
    document = json.loads((folder / "state.json").read_bytes())
    for later in ("sha256", "files", "threads", "source", "env_settings", "env_sources"):
        del document[later]
    (folder / "state.json").write_text(json.dumps(document))


def test_a_checkpoint_without_digests_still_loads_and_its_pages_get_one_when_they_are_linked(folder: Path) -> None:
    wanted = digests.of_file(next(folder.glob("*-00002.safetensors")))
    without_digests(folder)
    assert not checkpoint_files.check(folder)
    state = load(folder)
    frames = paged_array.PagedArray((40, 10), np.uint8)
    frames.load(state["algorithm"]["frames"])
    run_dir = RunDir(folder.parent.parent)
    writer = BackgroundWriter(run_dir)
    writer.go_on_from(state)
    header = Header(algo="dqn", args={}, global_step=3, mean_return=None)
    writer.start(header, {"algorithm": {"frames": frames}}, ready=lambda: None, done=lambda _: None)
    writer.wait()
    assert writer.error is None
    third = run_dir.checkpoint(3)
    listed = checkpoint_files.listed(checkpoint_files.read(third), third)
    assert listed is not None
    assert wanted in listed.values()
    assert checkpoint_files.check(third)
