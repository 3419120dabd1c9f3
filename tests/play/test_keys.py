"""What keys, gamepads and names of moves mean, and who has won."""

from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest
from gymnasium import spaces

from mosaic.errors import ActorFailed
from mosaic.play.arenas.arena import Arena
from mosaic.play.arenas.game_arena import GameArena
from mosaic.play.arenas.legal_moves import moves_of
from mosaic.play.key_maps import checked, default_map, touch_of
from mosaic.play.session.session_progress import Score


@pytest.fixture
def pendulum() -> Iterator[Arena]:
    with closing(Arena("Pendulum-v1", pictures=False)) as arena:
        yield arena


def test_keys_and_a_stick_add_up_within_the_bounds(pendulum: Arena) -> None:
    keys, space = default_map("Pendulum-v1", pendulum), pendulum.action_space

    def torque(*down: str, **axes: float) -> float:
        return float(keys.action(down, space, {name.replace("_", " "): value for name, value in axes.items()})[0])

    assert torque(Stick_X=-0.25) == pytest.approx(-0.5)
    assert torque("Right", Stick_X=-0.25) == pytest.approx(1.5)
    assert torque("Right", Stick_X=1.0) == pytest.approx(2.0)
    # At rest is not quite zero; what means nothing here does nothing.
    assert torque(Stick_X=0.03) == torque(Stick_Y=1.0) == 0.0
    mapped = checked({"keys": {}, "idle": [0.0], "axes": {"Trigger R": [1.0]}}, space)
    assert float(mapped.action((), space, {"Trigger R": 0.5})[0]) == pytest.approx(0.5)
    with pytest.raises(ActorFailed, match="not an action"):
        checked({"keys": {}, "idle": [0.0], "axes": {"Stick X": [1.0, 2.0]}}, space)


def test_the_stick_is_the_cross_where_actions_are_discrete() -> None:
    with closing(Arena("CliffWalking-v1", pictures=False)) as arena:
        keys, space = default_map("CliffWalking-v1", arena), arena.action_space
        assert keys.action(["Pad Right"], space) == keys.action(["Stick Right"], space) == 1
        assert keys.action(["Pad A"], space) is None
        with pytest.raises(ActorFailed, match="continuous"):
            checked({"keys": {}, "idle": None, "axes": {"Stick X": 1}}, space)


def test_moves_of_large_games_have_names_and_small_ones_a_place_in_the_picture() -> None:
    with closing(GameArena("classic/chess-v6", pictures=False)) as chess:
        chess.reset(1)
        moves = moves_of(chess, "player_0")
        assert isinstance(moves, list)
        names = {str(name): int(action) for action, name in moves}  # type: ignore[misc,arg-type]
        assert len(names) == 20
        assert {"e4", "Nf3"} <= names.keys()
        assert moves_of(chess, "player_1") is None, "it is not its turn"
        chess.step(names["e4"])
        replies = moves_of(chess, "player_1")
        assert isinstance(replies, list)
        assert "e5" in {name for _, name in replies}  # type: ignore[misc]
    with closing(GameArena("classic/connect_four-v3", pictures=False)) as four:
        four.reset(1)
        assert moves_of(four, "player_0") is None
        assert touch_of(four.env_id, four.at("player_0").action_space) == (tuple(range(7)),)
    assert touch_of("CartPole-v1", spaces.Discrete(2)) is None


def test_the_higher_return_wins_and_an_equal_one_is_a_draw() -> None:
    score = Score()
    for returns in ({"a": 1.0, "b": -1.0}, {"a": 0.0, "b": 0.0}, {"a": -1.0, "b": 1.0}, {"a": 1.0, "b": -1.0}):
        score.take(returns)
    assert score.as_json() == {
        "a": {"won": 2, "drawn": 1, "lost": 1, "mean": 0.25},
        "b": {"won": 1, "drawn": 1, "lost": 2, "mean": -0.25},
    }
    assert np.isclose(sum(score.total.values()), 0.0)
