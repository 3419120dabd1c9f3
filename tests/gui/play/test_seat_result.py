"""What stands beside a seat of a session: steps, games, or a mean with its number of episodes."""

from mosaic.gui.widgets.play import seat_list


def test_a_mean_return_has_its_number_of_episodes() -> None:
    score = {"won": 2, "drawn": 1, "lost": 0, "mean": 12.5}
    state = {"seats": {"agent": {}}, "score": {"agent": score}, "lengths": {"agent": 3}}
    said = seat_list._result(state, "agent")  # pyright: ignore[reportPrivateUsage]
    assert said == "step 3  ·  mean 12.5 (n = 3)"
