"""Recorded episodes leave as Minari datasets, which Minari loads, and as videos."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from mosaic.errors import MissingExtra, RecordingError, RenderUnavailable
from mosaic.play.export.dataset import export
from mosaic.play.export.filming import FAR_OFF, Gif, film
from mosaic.play.export.remade_episode import RemadeEpisode
from mosaic.spec.episode_file import EpisodeFile


@pytest.fixture
def datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))
    return tmp_path / "datasets"


def paths(played: Any) -> list[str]:
    return [str(episode.path) for episode in played.episodes]


def changed(episode: EpisodeFile, folder: Path) -> Path:
    """The same recording, with one digest that is another."""
    lines = [json.loads(line) for line in episode.path.read_text().splitlines()]
    lines[3]["digest"] = "0" * 16
    path = folder / "changed.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize("env_id", ["CartPole-v1", "FrozenLake-v1", "MiniGrid-Empty-5x5-v0", "Blackjack-v1"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_minari_loads_what_was_played(play: Callable[..., Any], datasets: Path, env_id: str) -> None:
    import minari

    played = play(env_id, "random", episodes=2, record_observations=True)
    made = export(episodes=paths(played), dataset="mosaic/test-v0")
    assert Path(made["path"]).is_relative_to(datasets)
    loaded = minari.load_dataset("mosaic/test-v0")
    assert loaded.spec.env_spec.id == env_id
    assert loaded.total_steps == made["steps"] == sum(len(episode.steps) for episode in played.episodes)
    for kept, episode in zip(loaded.iterate_episodes(), played.episodes, strict=True):
        recorded = [episode.head.observation, *(step.observation for step in episode.steps)]
        assert rows(kept.observations) == recorded
        assert kept.actions.tolist() == [step.action for step in episode.steps]
        assert kept.rewards.tolist() == [step.reward for step in episode.steps]
        assert kept.terminations.tolist() == [step.terminated for step in episode.steps]
        assert kept.terminations[-1] or kept.truncations[-1]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_minari_keeps_the_settings_of_the_environment(play: Callable[..., Any], datasets: Path) -> None:
    import minari

    settings = {"is_slippery": False, "map_name": "8x8"}
    played = play("FrozenLake-v1", "random", episodes=1, env_settings=settings)
    assert played.episodes[0].head.env_settings == settings
    export(episodes=paths(played), dataset="mosaic/lake-v0")
    loaded = minari.load_dataset("mosaic/lake-v0")
    assert loaded.spec.env_spec.kwargs == settings
    assert loaded.recover_environment().observation_space.n == 64
    plain = play("FrozenLake-v1", "random", episodes=1)
    with pytest.raises(RecordingError, match=r"of one environment; .* has no settings|has is_slippery=false"):
        export(episodes=[*paths(played), *paths(plain)], dataset="mosaic/mixed-v0")


def test_an_episode_is_made_again_with_its_settings(play: Callable[..., Any]) -> None:
    [episode] = play("FrozenLake-v1", "random", episodes=1, env_settings={"map_name": "8x8"}).episodes
    made = RemadeEpisode(episode, pictures=False)
    made.begin()
    list(made.steps())
    assert made.difference == ""
    assert made.arena.observation_space.n == 64  # type: ignore[attr-defined]
    made.close()


def rows(columns: Any) -> list[Any]:
    """As the recording has them."""
    if isinstance(columns, dict):
        return [dict(zip(columns, row, strict=True)) for row in zip(*map(rows, columns.values()), strict=True)]
    if isinstance(columns, tuple):
        return [list(row) for row in zip(*map(rows, columns), strict=True)]
    return np.asarray(columns).tolist()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_lock_step_becomes_an_episode_for_each_actor(play: Callable[..., Any], datasets: Path) -> None:
    played = play("CartPole-v1", {"a": "random", "b": "random"}, episodes=2, lockstep=True)
    assert export(episodes=paths(played), dataset="pair-v0")["episodes"] == 4


def test_what_minari_must_not_get_is_refused_and_nothing_is_left(
    play: Callable[..., Any], datasets: Path, tmp_path: Path
) -> None:
    [good] = play("CartPole-v1", "random", episodes=1).episodes
    with pytest.raises(RecordingError, match=r"step 3: the observation differs"):
        export(episodes=[str(good.path), str(changed(good, tmp_path))], dataset="broken-v0")
    [game] = play("tictactoe_v3", {"*": "random"}, episodes=1).episodes
    with pytest.raises(RecordingError, match="for one agent"):
        export(episodes=[str(game.path)], dataset="broken-v0")
    with pytest.raises(RecordingError, match="not a name for a Minari dataset"):
        export(episodes=[str(good.path)], dataset="no version")
    [other] = play("Acrobot-v1", "random", episodes=1).episodes
    with pytest.raises(RecordingError, match="of one environment"):
        export(episodes=[str(good.path), str(other.path)], dataset="broken-v0")
    assert not [path for path in datasets.rglob("*") if path.is_file()]
    export(episodes=[str(good.path)], dataset="whole-v0")
    with pytest.raises(RecordingError, match="exists already"):
        export(episodes=[str(good.path)], dataset="whole-v0")


def test_a_missing_minari_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "minari", None)
    with pytest.raises(MissingExtra, match="needs the extra 'minari'"):
        export(episodes=[], dataset="any-v0")


def test_videos_have_every_step_at_the_speed_that_was_asked_for(play: Callable[..., Any], tmp_path: Path) -> None:
    import av

    one, other = play("CartPole-v1", "random", episodes=2).episodes
    out = tmp_path / "slow.mp4"
    made = film([one.path], ["random"], out, 0.5)
    assert made["differences"] == [""]
    with av.open(str(out)) as container:
        stream = container.streams.video[0]
        # CartPole means to be seen at 50 pictures a second.
        assert stream.average_rate == 25
        assert sum(1 for _ in container.decode(video=0)) == len(one.steps) + 1 == made["frames"]
    told: list[dict[str, int]] = []
    both = film([one.path, other.path], ["random", "random"], tmp_path / "both.gif", 1.0, told.append)
    longest = max(len(one.steps), len(other.steps)) + 1
    with Image.open(tmp_path / "both.gif") as picture:
        assert (picture.n_frames, both["frames"], picture.width) == (longest, longest, 2 * 600)
        assert picture.info["duration"] == 20
    assert told[0] == {"frame": 10, "of": longest}
    assert sorted(path.name for path in tmp_path.glob("*.mp4")) == ["slow.mp4"]


def test_a_gif_shows_a_new_colour_although_it_keeps_those_of_the_pictures_before(tmp_path: Path) -> None:
    # Flat areas, as environments draw them: few colours, and a small thing in one of its own.
    shades = np.repeat(np.arange(0, 250, 25, dtype=np.uint8), 20)[:, None, None].repeat(300, 1).repeat(3, 2)
    with_flame = shades.copy()
    with_flame[50:54, 50:54] = (255, 80, 0)
    pictures = (shades, np.roll(shades, 5, axis=0), with_flame)
    reel = Gif(tmp_path / "film.gif")
    for at, picture in enumerate(pictures):
        reel.add(picture, at / 10)
    reel.close()
    with Image.open(tmp_path / "film.gif") as made:
        for at, picture in enumerate(pictures):
            made.seek(at)
            shown = np.asarray(made.convert("RGB")).astype(int)
            assert np.abs(shown - picture).max() <= FAR_OFF


def test_a_video_says_that_it_differs_and_one_without_pictures_is_refused(
    play: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [good] = play("CartPole-v1", "random", episodes=1).episodes
    assert "step 3" in film([changed(good, tmp_path)], ["x"], tmp_path / "other.mp4", 1.0)["differences"][0]
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    [blind] = play("strange_envs:Blind-v0", "random", episodes=1).episodes
    with pytest.raises(RenderUnavailable, match="no render mode rgb_array"):
        film([blind.path], ["x"], tmp_path / "none.mp4", 1.0)
    assert not list(tmp_path.glob("*none*"))
