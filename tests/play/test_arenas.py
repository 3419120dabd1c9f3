"""Several at one table, in turns or together, and several copies of one environment in lock-step."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mosaic.errors import ConfigError
from mosaic.play.arenas.arena_choice import seated

TABLES = {
    "classic/tictactoe-v3": ("turns", ("player_1", "player_2")),
    "classic/connect_four_v3": ("turns", ("player_0", "player_1")),
    "pettingzoo/rps_v2": ("together", ("player_0", "player_1")),
    "mpe/simple_tag-v3": ("together", ("adversary_0", "adversary_1", "adversary_2", "agent_0")),
}
LISTENER = """
import json, pathlib
heard, seen = [], []
def select_action(view):
    seen.append(view.seat)
    return next(action for action, allowed in enumerate(view.legal) if allowed)
def observe(outcome): heard.append([int(outcome.action), outcome.reward, outcome.terminated])
def close(): pathlib.Path({path!r}).write_text(json.dumps([heard, seen]))
"""


@pytest.mark.parametrize("env_id", TABLES)
def test_a_game_is_recorded_by_seat_and_made_again_exactly(play: Callable[..., Any], env_id: str) -> None:
    order, seats = TABLES[env_id]
    played = play(env_id, {"*": "random"}, episodes=2, seed=7)
    assert played.code == 0
    _, game = played.episodes
    assert (game.head.order, tuple(game.head.seats), game.head.versions["pettingzoo"]) == (order, seats, "1.27.0")
    assert {step.seat for step in game.steps} == set(seats)
    # Alternately, whichever of the two interfaces it is.
    assert [step.seat for step in game.steps[: len(seats)]] == list(seats)
    assert game.end is not None
    totals = {seat: sum(float((step.rewards or {})[seat]) for step in game.steps) for seat in seats}
    assert totals == pytest.approx({seat: float(total) for seat, total in game.end.returns.items()})
    assert played.summary["episodes"][1]["returns"] == pytest.approx(totals)
    again = play(env_id, dict.fromkeys(seats, f"replay:{game.path}")).summary["replay"]
    assert again["exact"], again
    assert again["compared"] == len(game.steps)


def test_actors_at_one_table_do_not_draw_the_same_numbers(play: Callable[..., Any]) -> None:
    [game] = play("rps_v2", {"*": "random"}, episodes=1).episodes
    choices = [[step.action for step in game.steps if step.seat == seat] for seat in game.head.seats]
    assert choices[0] != choices[1]


def test_a_seat_sees_what_is_legal_and_hears_once_what_came_of_each_action(
    play: Callable[..., Any], tmp_path: Path
) -> None:
    told = tmp_path / "told.json"
    script = tmp_path / "listener.py"
    script.write_text(LISTENER.format(path=str(told)))
    played = play("classic/tictactoe-v3", {"player_1": "random", "player_2": f"scripted:{script}"}, episodes=5)
    assert played.code == 0
    mine = [step for game in played.episodes for step in game.steps if step.seat == "player_2"]
    heard, seen = json.loads(told.read_text())
    assert set(seen) == {"player_2"}
    assert [action for action, _, _ in heard] == [step.action for step in mine]
    # What the other player's winning move costs is heard too, with the last action of the game.
    assert sum(reward for _, reward, _ in heard) == sum(float(game.end.returns["player_2"]) for game in played.episodes)
    assert sum(ended for _, _, ended in heard) == 5


def test_a_move_against_the_rules_is_refused_before_the_game_sees_it(
    play: Callable[..., Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "stubborn.py"
    script.write_text("def select_action(view): return 4")
    played = play("tictactoe_v3", {"*": f"scripted:{script}"}, episodes=1)
    assert played.code == 2
    assert "chose 4, which the rules do not allow now; allowed is 0, 1, 2, 3, 5" in capsys.readouterr().err
    [game] = played.episodes
    assert (len(game.steps), game.end.outcome) == (1, "stopped")


@pytest.mark.parametrize(
    ("actors", "reason"),
    [
        ({"playr_1": "random", "player_2": "random"}, "did you mean player_1?"),
        ({"player_1": "random"}, "extras.actors.player_2: is missing"),
        ({"player_1": "random", "1": "random", "2": "random"}, "player_1 has an actor already"),
        ({"3": "random", "*": "random"}, "has no such seat; it has player_1, player_2"),
    ],
)
def test_seats_that_do_not_fit_are_named(
    play: Callable[..., Any], actors: dict[str, str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert play("classic/tictactoe-v3", actors, episodes=1).code == 2
    assert reason in capsys.readouterr().err


def test_a_seat_has_a_number_too() -> None:
    class Three:
        seats = ("a", "b", "c")

    assert seated("X", {"2": "two", "*": "rest"}, Three()) == {"a": "rest", "b": "two", "c": "rest"}  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="is missing"):
        seated("X", {}, Three())  # type: ignore[arg-type]


def test_lock_step_gives_each_actor_what_it_would_have_had_alone(play: Callable[..., Any], tmp_path: Path) -> None:
    script = tmp_path / "alternate.py"
    script.write_text("def select_action(view): return view.step % 2")
    actors = {"chance": "random", "other": f"scripted:{script}"}
    both = play("CartPole-v1", actors, episodes=3, seed=4, lockstep=True, record_frames=True, video_mode="grid")
    assert both.code == 0
    for seat, word in actors.items():
        alone = play("CartPole-v1", word, episodes=3, seed=4)
        for together, single in zip(both.episodes, alone.episodes, strict=True):
            own = [(step.action, step.reward, step.digest) for step in together.steps if step.seat == seat]
            assert own == [(step.action, step.reward, step.digest) for step in single.steps]
    first = both.episodes[0]
    assert first.head.order == "copies"
    # In step: no copy is more than one ahead while both go on.
    assert [step.seat for step in first.steps[:6]] == ["chance", "other"] * 3
    again = play("CartPole-v1", dict.fromkeys(actors, f"replay:{first.path}"), lockstep=True).summary["replay"]
    assert again["exact"], again
    import av

    with av.open(str(first.path.with_suffix(".mp4"))) as film:
        assert film.streams.video[0].width == 2 * 600


def test_the_seeds_of_the_episodes_can_be_named(play: Callable[..., Any]) -> None:
    played = play("CartPole-v1", "random", episodes=3, seed=9, seeds=[5, 2])
    assert [episode.head.seed for episode in played.episodes] == [5, 2, 11]
