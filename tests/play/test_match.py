"""Matches and comparisons: games that count, what was played is kept, and failures are told."""

import json
import os
import signal
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from mosaic import cli
from mosaic.cli.play.compare_script import read, seeds_of
from mosaic.errors import ConfigError
from mosaic.rpc.client import Client
from mosaic.spec import episode_file
from mosaic.spec.return_statistics import share

FIRST_FREE = "def select_action(view): return next(at for at, free in enumerate(view.legal) if free)"
SLOW = "import time\n" + FIRST_FREE.replace("return", "time.sleep(0.02); return")
RAISES = "def select_action(view):\n    if view.step > 3: raise RuntimeError('lost the plot')\n    return 3"
STALLS = "import time\ndef select_action(view):\n    time.sleep(3600 if view.step > 3 else 0)\n    return 3"


@pytest.fixture
def mosaic(
    client: Client, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """The command, with the daemon of these tests: its code, and what it printed."""
    monkeypatch.setenv("MOSAIC_HOME", str(client.home.root))

    def run(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = cli.main(words)
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], str]:
    def make(text: str) -> str:
        path = tmp_path / f"script_{abs(hash(text))}.py"
        path.write_text(text)
        return f"scripted:{path}"

    return make


def test_a_match_alternates_seats_and_counts_every_game(
    mosaic: Callable[..., Any], client: Client, script: Callable[[str], str]
) -> None:
    who = script(FIRST_FREE)
    match = ("match", "classic/tictactoe-v3", "--actor", "random", "--actor", who, "--games", "21", "--json")
    code, out, _ = mosaic(*match)
    result = json.loads(out)
    assert (code, result["played"]) == (0, 21)
    one, other = result["sides"]
    assert (one["wins"], one["losses"]) == (other["losses"], other["wins"])
    assert one["wins"] + one["losses"] + result["draws"] == 21
    assert [sum(seat.values()) for seat in one["by_seat"].values()] == [11, 10]
    assert one["win_rate"] == vars(share(one["wins"], 21))
    # The recordings say the same: both runs, the same seeds from either seat.
    wins, seeds = 0, []
    for run_id in result["runs"]:
        files = sorted(client.home.run(run_id).episodes.glob("*.jsonl"))
        games = [episode_file.read(path) for path in files]
        seeds.append([game.head.seed for game in games])
        for game in games:
            seat = next(seat for seat, actor in game.head.seats.items() if actor == "random")
            wins += float(game.end.returns[seat]) > 0  # type: ignore[union-attr]
    assert wins == one["wins"]
    assert seeds == [list(range(1, 12)), list(range(1, 11))]
    # Seeds are fixed: the same match has the same result.
    again = json.loads(mosaic(*match)[1])
    assert [side["wins"] for side in again["sides"]] == [one["wins"], other["wins"]]
    shown = mosaic("match", "--resume", result["runs"][0])[1]
    assert f"{one['wins'] / 21:.1%}" in shown


def test_a_match_that_was_killed_goes_on_with_the_games_that_are_missing(
    mosaic: Callable[..., Any], client: Client, kit: Any, script: Callable[[str], str]
) -> None:
    who = script(SLOW)
    words = ("match", "classic/tictactoe-v3", "--actor", who, "--actor", who, "--games", "24")
    first, second = mosaic(*words, "--detach")[1].split()
    folder = client.home.run(first).episodes
    kit.eventually(lambda: folder.is_dir() and len(list(folder.glob("*.jsonl"))) > 3)
    os.kill(client.get(first).pid, signal.SIGKILL)
    client.wait(first, second)
    kept = {path.name: path.read_bytes() for path in folder.glob("*.jsonl")}
    code, out, _ = mosaic("match", "--resume", second, "--json")
    result = json.loads(out)
    assert (code, result["played"]) == (0, 24)
    [third] = set(result["runs"]) - {first, second}
    played = [episode.seed for episode in client.episodes(third)]
    done = {each.seed for each in client.episodes(first) if each.outcome == "terminated"}
    assert len(done) >= 3
    assert set(played) == set(range(1, 13)) - done
    assert {path.name: path.read_bytes() for path in folder.glob("*.jsonl")} == kept


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["classic/tictactoe-v3", "--actor", "random", "--actor", "random", "--games", "0"], "--games: must be from 1"),
        (["classic/tictactoe-v3", "--actor", "random"], "a match is between two"),
        (["CartPole-v1", "--actor", "random", "--actor", "random"], "not a game for two"),
        (["classic/tictactoe-v3", "--actor", "player_1=random", "--actor", "random"], "change seats"),
    ],
)
def test_what_is_no_match_is_refused(mosaic: Callable[..., Any], words: list[str], reason: str) -> None:
    code, _, err = mosaic("match", *words)
    assert code == 2
    assert reason in err


def test_a_script_compares_actors_on_the_same_seeds_and_tells_who_failed(
    mosaic: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "alternate.py").write_text("def select_action(view): return view.step % 2")
    (tmp_path / "broken.py").write_text("def select_action(view): return 1 / 0")
    file = tmp_path / "plan.toml"
    file.write_text(
        'environments = ["CartPole-v1", "Acrobot-v1"]\nseeds = "3-8"\n[actors]\nchance = "random"\n'
        'alternate = "scripted:alternate.py"\nbroken = "scripted:broken.py"\n'
        '[env."Acrobot-v1"]\nmax_episode_steps = 9\nwrappers = ["ClipReward:-0.5,0"]\n'
    )
    code, out, err = mosaic("compare", str(file), "--json")
    assert code == 2
    assert "division by zero" in err
    rows = {(row["env_id"], row["name"]): row for row in map(json.loads, out.splitlines())}
    assert len(rows) == 6
    assert set(rows["Acrobot-v1", "chance"]["returns"].values()) == {-4.5}
    assert rows["CartPole-v1", "broken"]["episodes"] == 0
    chance, other = rows["CartPole-v1", "chance"], rows["CartPole-v1", "alternate"]
    assert list(map(int, chance["returns"])) == list(range(3, 9))
    differences = [other["returns"][seed] - value for seed, value in chance["returns"].items()]
    assert other["paired"]["difference"]["value"] == pytest.approx(statistics.fmean(differences))
    assert (
        other["paired"]["difference"]["low"] <= statistics.fmean(differences) <= other["paired"]["difference"]["high"]
    )
    assert other["paired"]["better"] == sum(each > 0 for each in differences) / 6


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.toml", 'environments = [\n"A-v0"\nepisodes = 1', "is not TOML: .*line 3"),
        ("a.json", "[1]", "a.json"),
        ("a.toml", 'environments = ["A-v0"]\nepisode = 3\n[actors]\na = "random"', "did you mean episodes"),
        ("a.toml", 'environments = []\nepisodes = 3\n[actors]\na = "random"', "environments"),
        ("a.toml", 'environments = ["A-v0"]\n[actors]\na = "random"', "how many, or which seeds"),
        ("a.toml", 'environments = ["A-v0"]\nseeds = "3-1"\n[actors]\na = "random"', "seeds: '3-1'"),
        ("a.toml", 'environments = ["A-v0"]\nseeds = [1, 1]\n[actors]\na = "random"', "different"),
        ("a.toml", 'environments = ["mpe/simple_tag-v3"]\nepisodes = 1\n[actors]\na = "random"', "mosaic match"),
        ("a.toml", 'environments = ["A-v0"]\nepisodes = 1\n[actors]\na = "human"', "actors.a: .*unattended"),
        (
            "a.toml",
            'environments = ["A-v0"]\nepisodes = 1\n[actors]\na = "random"\n[env.B]\nx = 1',
            "env.B: is not one",
        ),
    ],
)
def test_a_script_with_errors_says_which(tmp_path: Path, name: str, text: str, reason: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ConfigError, match=reason) as caught:
        read(path)
    assert str(path) in str(caught.value)


def test_a_json_script_is_a_script(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"environments": ["A-v0"], "actors": {"a": "random"}, "seed": 5, "episodes": 2}')
    assert seeds_of(read(path)) == [5, 6]


@pytest.mark.parametrize(
    ("text", "timeout_s", "reason"),
    [(RAISES, 300.0, "lost the plot"), (STALLS, 3.0, "has not answered for 3 s")],
    ids=["raises", "stalls"],
)
def test_a_seat_that_fails_pauses_the_game_with_the_reason(
    client: Client, kit: Any, script: Callable[[str], str], text: str, timeout_s: float, reason: str
) -> None:
    actors = {"player_0": "random", "player_1": script(text)}
    document = kit.document("connect_four_v3", actors, interactive=True, actor_timeout_s=timeout_s)
    [run] = client.submit(document)
    kit.eventually(lambda: client.get(run.run_id).state == "running")
    link = kit.eventually(lambda: client.play(run.run_id))
    try:
        state = next(state for state in link if state.get("status") == "paused")
        assert reason in state["reason"]
        assert state["turn"] == "player_1"
        # Another actor may take the seat, and the game goes on.
        link.send("actor", seat="player_1", actor="random")
        link.send("continue")
        next(state for state in link if state["episode"] > 1 or state["t"] > 6)
    finally:
        client.cancel(run.run_id)
        link.close()
    client.wait(run.run_id)
    assert len(episode_file.read(client.home.run(run.run_id).episode(1)).steps) > 4


def test_lock_step_is_one_picture_of_all(mosaic: Callable[..., Any], client: Client, kit: Any, tmp_path: Path) -> None:
    words = ["MountainCar-v0", "--actor", "a=random", "--actor", "b=random", "--lockstep", "--speed", "1", "--detach"]
    run_id = mosaic("play", *words)[1].strip()
    kit.eventually(lambda: any(each.kind == "fastlane" for each in client.artifacts(run_id)))
    out = tmp_path / "both.png"
    assert mosaic("frame", run_id, str(out))[0] == 0
    client.cancel(run_id)
    with Image.open(out) as picture:
        width, height = picture.size
        assert width / height == pytest.approx(2 * 600 / 400, rel=0.05)


def test_two_actors_for_one_seat_are_refused(mosaic: Callable[..., Any]) -> None:
    code, _, err = mosaic("play", "CartPole-v1", "--actor", "random", "--actor", "random")
    assert (code, "--lockstep gives each a copy" in err) == (2, True)
    code, _, err = mosaic("play", "tictactoe_v3", "--actor", "player_1=random", "--actor", "player_1=random")
    assert (code, "'player_1' was given two actors" in err) == (2, True)
