"""Episodes are recorded as they are played, and seed and actions make them again."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from mosaic.errors import ActorFailed, RecordingError
from mosaic.play.json_values import action_from_json, digest, to_json
from mosaic.rpc.client import Client
from mosaic.spec import episode_file

ENVIRONMENTS = [
    "CartPole-v1",
    "Pendulum-v1",
    "FrozenLake-v1",
    "MiniGrid-Empty-5x5-v0",
    "Walker2d-v5",
    "BipedalWalker-v3",
]


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_an_episode_is_made_again_from_seed_and_actions(play: Callable[..., Any], env_id: str) -> None:
    played = play(env_id, "random", episodes=2, seed=3)
    assert played.code == 0
    first, second = played.episodes
    assert first.end is not None
    assert first.end.length == len(first.steps) > 0
    assert first.head.digest != second.head.digest or env_id in ("FrozenLake-v1", "MiniGrid-Empty-5x5-v0")
    # The second one: its beginning must not depend on what was played before it.
    again = play(env_id, f"replay:{second.path}")
    assert again.code == 0
    assert again.summary["replay"]["exact"], again.summary
    assert again.summary["replay"]["compared"] == len(second.steps)


def test_the_same_seed_is_the_same_session_and_another_one_is_not(play: Callable[..., Any]) -> None:
    runs = [play("CartPole-v1", "random", episodes=2, seed=seed) for seed in (5, 5, 6)]
    actions = [[step.action for episode in run.episodes for step in episode.steps] for run in runs]
    assert actions[0] == actions[1] != actions[2]


def test_a_replay_says_where_it_differs(play: Callable[..., Any], tmp_path: Path) -> None:
    [episode] = play("CartPole-v1", "random", episodes=1).episodes
    lines = [json.loads(line) for line in episode.path.read_text().splitlines()]
    lines[0]["versions"]["gymnasium"] = "0.29.1"
    lines[4]["digest"] = "0" * 16
    changed = tmp_path / "changed.jsonl"
    changed.write_text("".join(json.dumps(line) + "\n" for line in lines))
    verdict = play("CartPole-v1", f"replay:{changed}").summary["replay"]
    assert not verdict["exact"]
    assert verdict["compared"] == 3
    assert "step 4: the observation differs" in verdict["difference"]
    assert "gymnasium 0.29.1" in verdict["difference"]


def test_observations_and_frames_are_recorded_only_when_asked(play: Callable[..., Any]) -> None:
    plain = play("CartPole-v1", "random", episodes=1)
    assert all(step.observation is None for step in plain.episodes[0].steps)
    assert not list(plain.run_dir.root.rglob("*.mp4"))
    whole = play("CartPole-v1", "random", episodes=1, record_observations=True, record_frames=True)
    [episode] = whole.episodes
    recorded = np.array(episode.steps[0].observation, dtype=np.float32)
    assert digest(recorded) == episode.steps[0].digest
    [film] = whole.run_dir.root.rglob("*.mp4")
    import av

    with av.open(str(film)) as container:
        assert sum(1 for _ in container.decode(video=0)) == len(episode.steps) + 1


def test_kill_9_loses_at_most_the_running_step(client: Client, kit: Any) -> None:
    [run] = client.submit(kit.document("CartPole-v1", "random", episodes=0, speed=2.0))
    run_dir = client.home.run(run.run_id)
    path = run_dir.episode(1)
    kit.eventually(lambda: path.exists() and path.read_bytes().count(b"\n") > 5)
    os.kill(client.get(run.run_id).pid, signal.SIGKILL)
    steps_done = path.read_bytes().count(b"\n") - 1
    kit.eventually(lambda: client.get(run.run_id).state in ("failed", "lost"))
    with path.open("ab") as file:
        file.write(b'{"kind":"step","t":')  # What a kill in the middle of a write would leave.
    found = episode_file.read(path)
    assert len(found.steps) >= steps_done
    assert next(listed for listed in client.episodes(run.run_id) if listed.episode == 1).length == len(found.steps)
    [again] = client.submit(kit.document("CartPole-v1", f"replay:{run.run_id}/1"))
    [ended] = client.wait(again.run_id)
    assert ended.state == "finished", ended
    verdict = json.loads(client.home.run(again.run_id).play_summary.read_text())["replay"]
    assert verdict["exact"]
    assert verdict["compared"] == len(found.steps)


def test_the_index_follows_the_files(client: Client, kit: Any) -> None:
    [run] = client.submit(kit.document("Pendulum-v1", "random", episodes=2))
    client.wait(run.run_id)
    found = client.episodes(run.run_id)
    assert [(each.episode, each.length, each.outcome) for each in found] == [
        (2, 200, "truncated"),
        (1, 200, "truncated"),
    ]
    assert {each.run_id for each in client.episodes(env_id="Pendulum-v1")} == {run.run_id}
    client.home.run(run.run_id).episode(2).unlink()
    assert [each.episode for each in client.episodes(run.run_id)] == [1]
    client.home.episodes.write_bytes(b"this is not a database" * 100)
    assert [each.episode for each in client.episodes(run.run_id)] == [1]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not a head"),
        ("nonsense\n", "not JSON"),
        ('{"kind":"step","t":0}\n', "is missing"),
        ('{"kind":"end"}\n', "miss"),
    ],
)
def test_a_file_that_is_no_recording_is_refused_with_its_reason(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "episode.jsonl"
    path.write_text(text)
    with pytest.raises(RecordingError, match=reason):
        episode_file.read(path)


@pytest.mark.parametrize(
    "space",
    [
        spaces.Discrete(5, start=2),
        spaces.Box(-1, 1, (3,), np.float32),
        spaces.Box(0, 255, (2, 2), np.uint8),
        spaces.MultiDiscrete([3, 4]),
        spaces.MultiBinary(4),
        spaces.Dict(a=spaces.Discrete(2), b=spaces.Box(-np.inf, np.inf, (2,))),
        spaces.Tuple((spaces.Discrete(2), spaces.Discrete(3))),
    ],
)
def test_actions_survive_json(space: spaces.Space[Any]) -> None:
    space.seed(1)
    for _ in range(20):
        action = space.sample()
        again = action_from_json(json.loads(json.dumps(to_json(action))), space)
        assert digest(again) == digest(action)


def test_what_is_no_action_is_refused() -> None:
    for data in (7, -1, 0.5, "left", None, [1], True):
        with pytest.raises(ActorFailed, match="not an action"):
            action_from_json(data, spaces.Discrete(5))
    with pytest.raises(ActorFailed, match="not an action"):
        action_from_json([0.1, 0.2], spaces.Box(-1, 1, (3,)))


def test_digests_tell_values_shapes_and_types_apart() -> None:
    values = [
        np.zeros(4, np.float32),
        np.zeros(4, np.float64),
        np.zeros((2, 2), np.float32),
        np.array([0, 0, 0, -0.0], np.float32),
        0,
        1,
        (0, 0),
        {"a": 0},
        {"b": 0},
        "0",
    ]
    assert len({digest(value) for value in values}) == len(values)
    assert digest(3) == digest(np.int64(3))
