"""The replay buffer of pictures against a plain list of transitions, its checkpoints, and what is too large for it."""

import shutil
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cleanrl_worker import cli
from cleanrl_worker.sdk import frame_replay
from cleanrl_worker.sdk.checkpoints import array_file, checkpoint, paged_array
from cleanrl_worker.sdk.checkpoints.checkpoint import BackgroundWriter, Header
from cleanrl_worker.sdk.frame_replay import FrameReplay
from cleanrl_worker.sdk.run import Run, RunSpec
from mosaic.envs import make_vec
from mosaic.errors import CheckpointError, ConfigError
from mosaic.spec.files.digests import FileDigest
from mosaic.spec.run_config import TrainOptions
from mosaic.spec.run_dir import RunDir, new_run_id

STACKS = gym.spaces.Box(0, 255, (4, 2, 2), np.uint8)


class Slot:
    """An environment whose frames are all different; `carries` keeps the old frames over an end, as envpool does."""

    def __init__(self, number: int, *, carries: bool) -> None:
        self.number, self.carries, self.clock = number, carries, 0
        self.frames: deque[np.ndarray] = deque([self.frame()] * 4, maxlen=4)

    def frame(self) -> np.ndarray:
        self.clock += 1
        return np.array([[self.number, self.clock % 256], [self.clock // 256, 7]], np.uint8)

    @property
    def stack(self) -> np.ndarray:
        return np.stack(self.frames)

    def step(self) -> np.ndarray:
        self.frames.append(self.frame())
        return self.stack

    def begin(self) -> None:
        if self.carries:
            self.frames.append(self.frame())
        else:
            self.frames.extend([self.frame()] * 4)


def fill(buffer: FrameReplay, slots: list[Slot], ends: list[int], start: int = 0) -> list[tuple[bytes, ...]]:
    """Steps that end an episode in each slot where a bit of `ends` is set; every transition, oldest first."""
    told: list[tuple[bytes, ...]] = []
    for number, bits in enumerate(ends, start):
        obs = np.stack([slot.stack for slot in slots])
        after = np.stack([slot.step() for slot in slots])
        ended = np.array([bool(bits >> index & 1) for index in range(len(slots))])
        actions, rewards = np.full(len(slots), number % 200), np.full(len(slots), number, np.float64)
        buffer.add(obs, after, actions, rewards, ended, np.zeros_like(ended))
        for index, slot in enumerate(slots):
            told.append(as_row(obs[index], actions[index], after[index], rewards[index], ended[index]))
            if ended[index]:
                slot.begin()
    return told


def as_row(*parts: Any) -> tuple[bytes, ...]:
    obs, action, next_obs, reward, done = parts
    return obs.tobytes(), bytes([int(action)]), next_obs.tobytes(), np.float32(reward).tobytes(), bytes([bool(done)])


def rows(batch: Any) -> list[tuple[bytes, ...]]:
    return [as_row(*parts) for parts in zip(*batch, strict=True)]


@given(
    size=st.integers(1, 40),
    num_envs=st.integers(1, 3),
    ends=st.lists(st.integers(0, 7), min_size=1, max_size=120),
    carries=st.booleans(),
)
def test_gives_back_the_very_transitions(size: int, num_envs: int, ends: list[int], carries: bool) -> None:
    buffer = FrameReplay(size, num_envs, STACKS)
    told = fill(buffer, [Slot(number, carries=carries) for number in range(num_envs)], ends)
    held = rows(buffer.transitions(np.flatnonzero(buffer.live.reshape(-1))))
    assert len(held) == len(buffer) == len(set(held))
    assert set(held) <= set(told)
    steps = max(size // num_envs, 1)
    for env in range(num_envs):
        mine = [row for row in told if row[0][-4] == env]
        newest = [row for row in mine if row in set(held)]
        assert newest == mine[len(mine) - len(newest) :], "the newest, without a hole"
        # Each end costs a row; a beginning that repeats its frame none.
        lost = sum(row[4] == b"\1" for row in mine[-steps:])
        assert len(newest) >= min(len(mine), max(steps - lost, 1))
    assert set(rows(buffer.sample(np.random.default_rng(0), 32))) <= set(held)


def test_a_stack_from_nowhere_is_stored_whole() -> None:
    buffer = FrameReplay(30, 1, STACKS)
    generator = np.random.default_rng(0)
    told = []
    for _ in range(5):
        obs = generator.integers(256, size=(1, 4, 2, 2)).astype(np.uint8)
        after = np.concatenate([obs[:, 1:], generator.integers(256, size=(1, 1, 2, 2)).astype(np.uint8)], axis=1)
        buffer.add(obs, after, np.array([1]), np.array([2.0]), np.array([False]), np.array([True]))
        told.append(as_row(obs[0], 1, after[0], 2.0, False))
    assert rows(buffer.transitions(np.flatnonzero(buffer.live.reshape(-1)))) == told


def test_samples_uniformly() -> None:
    buffer = FrameReplay(40, 2, STACKS)
    fill(buffer, [Slot(number, carries=False) for number in range(2)], [1, 0, 2, 0] * 20)
    places = buffer.draw(np.random.default_rng(0), 100_000)
    drawn, counts = np.unique(places, return_counts=True)
    assert drawn.tolist() == np.flatnonzero(buffer.live.reshape(-1)).tolist()
    np.testing.assert_allclose(counts, 100_000 / len(buffer), rtol=0.08)


def test_atari_frames_are_stored_once() -> None:
    envs = make_vec("BreakoutNoFrameskip-v4", 1, observations="pixels")
    buffer = FrameReplay(100, 1, envs.single_observation_space)
    obs, _ = envs.reset(seed=0)
    told, ends = [], 0
    for action in np.random.default_rng(0).integers(4, size=(100, 1)):
        next_obs, rewards, terminations, truncations, infos = envs.step(action)
        after = infos.get("final_obs", next_obs)
        buffer.add(obs, after, action, rewards, terminations, truncations)
        told.append(as_row(obs[0], action[0], after[0], rewards[0], terminations[0]))
        ends += int(terminations[0])
        obs = next_obs
    assert ends
    assert rows(buffer.transitions(np.flatnonzero(buffer.live.reshape(-1)))) == told[-len(buffer) :]
    assert len(buffer) >= 100 - ends
    assert buffer.frames.array.nbytes == 104 * 84 * 84
    assert frame_replay.bytes_needed(1_000_000, 1, envs.single_observation_space) < 1.003 * 1_000_000 * 84 * 84


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paged_array, "PAGE_BYTES", 10 * 4)


def header(step: int) -> Header:
    return Header(algo="dqn_atari", args={}, global_step=step, mean_return=None)


def saved(writer: BackgroundWriter, run_dir: RunDir, step: int, buffer: FrameReplay) -> Path:
    writer.start(header(step), {"replay": buffer.state()}, ready=lambda: None, done=lambda _: None)
    writer.wait()
    assert writer.error is None
    return run_dir.checkpoint(step)


def files(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.usefixtures("small_pages")
def test_a_checkpoint_writes_what_has_changed_and_comes_back_whole(tmp_path: Path) -> None:
    run_dir = RunDir(tmp_path / new_run_id())
    run_dir.create()
    writer = BackgroundWriter(run_dir)
    straight, slots = FrameReplay(60, 1, STACKS), [Slot(0, carries=False)]
    fill(straight, slots, [0, 0, 0, 1] * 9)
    first = saved(writer, run_dir, 36, straight)
    fill(straight, slots, [0] * 8, 36)
    second = saved(writer, run_dir, 44, straight)
    pages = sorted(file.name for file in second.glob("replay.frames-*.safetensors"))
    shared = [name for name in pages if (first / name).exists() and (first / name).samefile(second / name)]
    assert len(pages) == 6, "only the filled part is saved"
    assert shared == pages[:4]

    # A buffer that was loaded goes on alike, and links to what it was loaded from.
    shutil.rmtree(first)
    _, state = checkpoint.load(second, algo="dqn_atari")
    resumed, again = FrameReplay(60, 1, STACKS), BackgroundWriter(run_dir)
    again.go_on_from(state)
    resumed.load(state["replay"])
    other = Slot(0, carries=False)
    other.clock, other.frames = slots[0].clock, deque(slots[0].frames, maxlen=4)
    fill(straight, slots, [0, 1, 0] * 11, 44)
    fill(resumed, [other], [0, 1, 0] * 11, 44)
    one, two = (rows(each.sample(np.random.default_rng(1), 50)) for each in (straight, resumed))
    assert one == two
    third = saved(writer, run_dir, 77, straight)
    wanted = files(third)
    assert files(saved(again, run_dir, 77, resumed)) == wanted


@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize("reason", ["interval", "end"])
def test_the_checkpoint_that_a_run_waits_for_holds_no_frame_twice(
    reason: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    buffer = FrameReplay(60, 1, STACKS)
    fill(buffer, [Slot(0, carries=False)], [0] * 30)
    written: list[bool] = []
    write = array_file.write

    def seen(path: Path, arrays: Mapping[str, Any]) -> FileDigest:
        if "page" in arrays:
            written.append(np.shares_memory(arrays["page"], buffer.frames.array))
        return write(path, arrays)

    monkeypatch.setattr(array_file, "write", seen)
    run_dir = RunDir(tmp_path / new_run_id())
    args = {"env_id": "worker_pictures:Lights-v0", "seed": 1, "total_timesteps": 60}
    run_dir.create()
    with Run(RunSpec(run_dir=run_dir, algo="dqn_atari", args=args, options=TrainOptions(), quiet=True)) as run:
        run.make_envs(args["env_id"], 1, observations="pixels").reset(1)
        run.checkpoint({"replay": buffer.state()}, reason=reason)
    assert set(written) == {reason == "end"}


@pytest.mark.usefixtures("small_pages")
def test_a_lost_page_and_another_size_are_refused(tmp_path: Path) -> None:
    run_dir = RunDir(tmp_path / new_run_id())
    run_dir.create()
    buffer = FrameReplay(60, 1, STACKS)
    fill(buffer, [Slot(0, carries=False)], [0] * 30)
    folder = saved(BackgroundWriter(run_dir), run_dir, 30, buffer)
    _, state = checkpoint.load(folder, algo="dqn_atari")
    with pytest.raises(CheckpointError, match="resume with the buffer size"):
        FrameReplay(61, 1, STACKS).load(state["replay"])
    (folder / "replay.frames-00001.safetensors").write_bytes(b"cut")
    with pytest.raises(CheckpointError, match=r"00001\.safetensors is damaged"):
        FrameReplay(60, 1, STACKS).load(state["replay"])


def test_what_could_never_fit_is_refused_with_its_size_before_anything_starts(
    own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ConfigError, match=r"--buffer-size: needs 65853\.8 GiB once full"):
        FrameReplay(10**10, 1, gym.spaces.Box(0, 255, (4, 84, 84), np.uint8))
    lights, many = "--env-id=worker_pictures:Lights-v0", "10000000000"
    for flags, told in (
        (["--algo=dqn_atari", lights, f"--buffer-size={many}"], "--buffer-size: needs 65853.8 GiB once full"),
        (
            ["--algo=ppo_atari", lights, f"--num-steps={many}", f"--total-timesteps={many}0"],
            "needs 2102851.9 GiB for its",
        ),
        (
            ["--algo=ppo", f"--num-steps={many}", f"--total-timesteps={many}0"],
            "--num-steps: a rollout of --num-envs × --num-steps needs 596.0 GiB",
        ),
    ):
        for more in ([], ["--dry-run"]):
            assert cli.main([*flags, *more]) == 2
            assert told in capsys.readouterr().err
    assert not own_home.exists()
