"""What stands beside a seat of a session: steps, games, or a mean with its number of episodes."""

from mosaic.gui.widgets.play import play_status, seat_list


def test_a_mean_return_has_its_number_of_episodes() -> None:
    score = {"won": 2, "drawn": 1, "lost": 0, "mean": 12.5}
    state = {"seats": {"agent": {}}, "score": {"agent": score}, "lengths": {"agent": 3}}
    said = seat_list._result(state, "agent")  # pyright: ignore[reportPrivateUsage]
    assert said == "step 3  ·  mean 12.5 (n = 3)"


def test_a_policy_that_plays_with_other_settings_than_it_was_trained_with_says_so() -> None:
    seat = {"actor": "policy:x", "trained_with": "is_slippery=false"}
    said = seat_list._result({"seats": {"agent": seat}}, "agent")  # pyright: ignore[reportPrivateUsage]
    assert said == "trained with is_slippery=false"
    both = play_status.settings_of({"seats": {"agent": seat}, "env_settings": "map_name=8x8"})
    assert both == "The environment has map_name=8x8; agent was trained with is_slippery=false"
    assert play_status.settings_of({"seats": {"agent": {"trained_with": ""}}, "env_settings": ""}) == ""
