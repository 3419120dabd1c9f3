"""What a resumed run does again counts once in its mean return, its best one and their course."""

import json
import random

import pytest

from mosaic.spec import ulid
from mosaic.spec.run_dir import Home
from mosaic.trainer.index.ingest import RunIngest

STEPS = 4000
CUT = 2500
"""The checkpoint from which it goes on."""


def returns():
    """Step and return of each episode: first high, so that a part that is done twice moves means and best."""
    values = random.Random(1)
    return {step: 500 * values.random() ** (1 + step / 1000) for step in range(7, STEPS, 7)}


def spool(*attempts):
    """Attempts, each with the step that it goes on from and the one at which it ends."""
    seq, lines = 0, []
    for number, (first, last) in enumerate(attempts, 1):
        started = {"algo": "ppo", "env_id": "CartPole-v1", "seed": 1, "total_timesteps": STEPS, "attempt": number}
        bodies = [{"kind": "run.started", **started, "resumed_from_step": first or None}]
        bodies += [
            {"kind": "episode", "global_step": step, "slot": 0, "episodic_return": value, "episodic_length": 7}
            for step, value in returns().items()
            if first < step <= last
        ]
        for body in bodies:
            seq += 1
            lines.append(json.dumps({"v": 1, "seq": seq, "time": 1.0, **body}) + "\n")
    return lines


def taken_in(run_dir, home, lines, pieces, *, keep_metrics):
    """Events that come in so many pieces, each read by another daemon."""
    size = -(-len(lines) // pieces)
    for first in range(0, len(lines), size):
        with run_dir.events.open("a") as file:
            file.writelines(lines[first : first + size])
        ingest = RunIngest(home, run_dir, keep_metrics=keep_metrics or first + size < len(lines))
        ingest.catch_up()
        ingest.save()
    return ingest.progress


@pytest.mark.parametrize("keep_metrics", [True, False])
@pytest.mark.parametrize("pieces", [1, 5])
def test_progress_is_that_of_the_same_run_undisturbed(tmp_path, keep_metrics, pieces) -> None:
    home = Home(tmp_path)
    home.runs.mkdir(parents=True)
    home.metrics.mkdir(parents=True)
    found = []
    for attempts in (((0, STEPS),), ((0, 3600), (CUT, 2900), (CUT, STEPS))):
        run_dir = home.run(ulid.new())
        run_dir.root.mkdir()
        found.append(taken_in(run_dir, home, spool(*attempts), pieces, keep_metrics=keep_metrics))
    undisturbed, resumed = found
    assert (resumed.last_return, resumed.best_return) == (undisturbed.last_return, undisturbed.best_return)
    assert resumed.sparkline == undisturbed.sparkline
