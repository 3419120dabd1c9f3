"""Runs that have no score: no returns, NaN, failed ones; against a stand-in for the daemon's answers."""

from typing import Any, cast

import numpy as np
import pytest

from mosaic.cli.statistics.run_groups import RunGroup
from mosaic.cli.statistics.run_scores import NoScore, ScoredGroup, scored
from mosaic.rpc.client import Client, Series
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import RunState


class Answers:
    """The part of a client that is asked for scores."""

    def __init__(self, returns: dict[str, list[float]], tag: str = "charts/episodic_return") -> None:
        self._returns, self._tag = returns, tag

    def metrics(self, run_id: str, *, tags: list[str]) -> dict[str, Series]:
        values = self._returns.get(run_id, [])
        if self._tag not in tags or not values:
            return {}
        steps = [10 * place for place in range(1, len(values) + 1)]
        return {self._tag: Series(self._tag, steps, values, [0.0] * len(values), len(values))}

    def tags(self, run_id: str) -> list[str]:
        return ["losses/value_loss", self._tag] if run_id in self._returns else []


def a_run(run_id: str, state: RunState = RunState.FINISHED, **given: Any) -> RunRecord:
    facts: dict[str, Any] = {"algo": "ppo", "env_id": "CartPole-v1", "global_step": 100, "seed": int(run_id)} | given
    return RunRecord(run_id=run_id, state=state, **facts)


def scores_of(
    runs: list[RunRecord], answers: Answers, *, leave_out: bool = False, at: int = 0, last: int = 100
) -> tuple[list[ScoredGroup], list[str]]:
    client = cast(Client, answers)
    return scored(client, [RunGroup("group", runs)], at=at, last=last, leave_out=leave_out)


@pytest.mark.parametrize(
    ("state", "returns", "said"),
    [
        (RunState.FINISHED, [], "it has logged no return of an episode"),
        (RunState.FINISHED, [1.0, float("nan"), float("inf")], "2 of its 3 returns are not finite"),
        (RunState.FAILED, [1.0], "it is failed (out of memory)"),
        (RunState.CANCELLED, [1.0], "it is cancelled"),
        (RunState.RUNNING, [1.0], "it is running; 'mosaic follow 2' waits for it"),
        (RunState.QUEUED, [], "it is queued"),
    ],
)
def test_a_run_without_a_score_is_refused_by_name_or_left_out_by_name(
    state: RunState, returns: list[float], said: str
) -> None:
    reason = "out of memory" if state is RunState.FAILED else ""
    runs = [a_run("1"), a_run("2", state, reason=reason)]
    answers = Answers({"1": [3.0, 5.0], "2": returns})
    with pytest.raises(NoScore) as refused:
        scores_of(runs, answers)
    assert f"2: {said}" in str(refused.value)
    assert "--leave-out" in str(refused.value)
    [group], notes = scores_of(runs, answers, leave_out=True)
    assert group.scores.tolist() == [4.0]
    assert any(said in note and "1 left out" in note for note in notes)


def test_a_script_is_scored_by_the_name_that_it_logs_returns_under() -> None:
    [group], _ = scores_of([a_run("1")], Answers({"1": [1.0, 2.0]}, tag="rollout/ep_rew_mean"))
    assert group.scores.tolist() == [1.5]


def test_the_last_episodes_count_and_a_step_cuts_off() -> None:
    answers = Answers({"1": [float(place) for place in range(10)]})
    assert scores_of([a_run("1")], answers, last=2)[0][0].scores.tolist() == [8.5]
    assert scores_of([a_run("1")], answers, last=2, at=50)[0][0].scores.tolist() == [3.5]
    with pytest.raises(NoScore, match="before --at 500"):
        scores_of([a_run("1")], answers, at=500)
    cancelled = a_run("1", RunState.CANCELLED)
    assert scores_of([cancelled], answers, last=1, at=50)[0][0].scores.tolist() == [4.0], "it went beyond that step"


def test_the_same_seed_twice_is_said() -> None:
    runs = [a_run("1"), a_run("2", seed=1)]
    _, notes = scores_of(runs, Answers({"1": [1.0], "2": [2.0]}))
    assert any("seed 1 occurs more than once" in note for note in notes)


def test_one_run_has_a_score_and_nothing_else() -> None:
    from mosaic.cli.statistics.group_statistics import as_json, statistics_of

    found, _ = scores_of([a_run("1")], Answers({"1": [2.0, 4.0]}))
    [line] = as_json(statistics_of(found))
    assert (line["n"], line["scores"], line["std"], line["iqm"]["low"]) == (1, [3.0], None, None)
    assert np.isfinite(line["area"]["value"])
