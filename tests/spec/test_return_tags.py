"""Which tags tell the return of a training."""

import pytest

from mosaic.spec.return_tags import is_return


@pytest.mark.parametrize(
    "tag",
    [
        "charts/episodic_return",
        "charts/avg_episodic_return",
        "rollout/ep_rew_mean",
        "episode_return",
        "train/episode_return",
        "Episode Reward",
        "episode/reward",
        "episode_reward_mean",
        "total_reward",
        "AverageEpRet",
        "return",
        "train/score",
        "mean-return",
    ],
)
def test_a_spelling_of_the_return(tag: str) -> None:
    assert is_return(tag)


@pytest.mark.parametrize(
    "tag",
    [
        "reward",
        "train/reward_scale",
        "losses/return",
        "eval/episodic_return",
        "test/episode_reward",
        "charts/episode_curiosity_reward",
        "charts/episodic_length",
        "discounted_return",
        "returns_std",
        "rollout/ep_len_mean",
        "",
        "/",
    ],
)
def test_something_else(tag: str) -> None:
    assert not is_return(tag)
