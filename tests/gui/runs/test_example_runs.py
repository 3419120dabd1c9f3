"""The examples of an empty studio: one click each, and they really train."""

from dataclasses import replace

from mosaic.gui.models.form.example_runs import EXAMPLES
from mosaic.gui.widgets.runs.empty_state import EmptyState

MOST_STEPS = 200_000
"""What the slowest algorithm of them makes in a minute, on a core of today, twice over."""
SHARES = {"CartPole-v1": 0.25, "FrozenLake-v1": 0.25, "Pendulum-v1": 0.5}
"""Of its steps: enough to have learnt something."""
LEARNT = {"CartPole-v1": 100.0, "FrozenLake-v1": 0.2, "Pendulum-v1": -800.0}
"""Mean return that no untrained policy has."""


def test_each_example_trains_to_its_end_and_is_short(show, client):
    shown = show()
    page = EmptyState(shown.studio, shown.theme)
    begun = []
    for card in page.cards:
        assert card.example.total_timesteps <= MOST_STEPS
        share = SHARES[card.example.env_id]
        card.example = replace(card.example, total_timesteps=int(share * card.example.total_timesteps))
        card.start.click()
        assert not card.start.isEnabled()
        shown.until(card.start.isEnabled, "the submit")
        begun += shown.studio.selected
    assert len(set(begun)) == len(EXAMPLES)
    for run in client.wait(*begun):
        assert run.state == "finished", run
        assert run.last_return > LEARNT[run.env_id], run
    page.deleteLater()


def test_an_example_that_cannot_be_started_says_why(show):
    shown = show()
    page = EmptyState(shown.studio, shown.theme)
    page.cards[0].example = replace(EXAMPLES[0], algo="nope")
    page.cards[0].start.click()
    shown.until(lambda: page.said.text(), "the answer")
    assert "nope" in page.said.text()
    assert page.cards[0].start.isEnabled()
    page.deleteLater()
