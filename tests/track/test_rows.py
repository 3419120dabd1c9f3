"""What belongs to one step is one row, and no number is lost."""

import math

import pytest

from mosaic.spec import manifest
from mosaic.spec.events import Episode, EvalBatch, Event, Heartbeat, RunStarted, Scalars
from mosaic.spec.manifest import Artifact, Manifest
from mosaic.spec.run_dir import Home, new_run_id
from mosaic.track.mlflow_exporter import plain_name
from mosaic.track.rows import Attempts, Rows
from mosaic.track.tensorboard_links import BoardRun, links_of

START = {"algo": "ppo", "env_id": "E", "seed": 1, "total_timesteps": 100}


def rows_of(*bodies):
    rows = Rows()
    found = [rows.take(Event(seq, float(seq), body)) for seq, body in enumerate(bodies, start=1)]
    return [(row.global_step, row.values) for row in [*found, rows.rest()] if row is not None]


def episode(step: int, score: float = 1.0) -> Episode:
    return Episode(global_step=step, slot=0, episodic_return=score, episodic_length=5)


def test_an_episode_and_the_scalars_of_its_step_are_one_row():
    scalars = Scalars(global_step=10, values={"charts/SPS": 7.0})
    tags = {"charts/episodic_return": 1.0, "charts/episodic_length": 5.0, "charts/SPS": 7.0}
    assert rows_of(episode(10), Heartbeat(global_step=10, steps_per_s=1.0), scalars) == [(10, tags)]


def test_two_episodes_of_one_step_are_two_rows():
    assert [values["charts/episodic_return"] for _, values in rows_of(episode(10, 1.0), episode(10, 2.0))] == [1.0, 2.0]


def test_numbers_that_json_cannot_carry_arrive():
    ((_, values),) = rows_of(Scalars(global_step=1, values={"a": "nan", "b": "-inf"}))
    assert math.isnan(values["a"])
    assert values["b"] == -math.inf


def test_batches_of_an_evaluation_stand_at_their_last_episode():
    batch = EvalBatch(batch=2, episodes=5, mean=1.0, std=0.5, minimum=0.0, maximum=2.0, duration_s=1.0)
    ((step, values),) = rows_of(batch)
    assert (step, values["eval/batch_mean"]) == (10, 1.0)


def test_a_resume_drops_what_came_after_its_checkpoint():
    first, second = Event(1, 0.0, episode(100)), Event(2, 0.0, episode(200))
    start = Event(3, 0.0, RunStarted(**START, attempt=2, resumed_from_step=100))
    again = Event(4, 0.0, episode(150))
    attempts = Attempts([start])
    assert [attempts.keeps(event) for event in (first, second, start, again)] == [True, False, True, True]
    assert attempts.note(start) is None
    assert attempts.note(Event(5, 0.0, RunStarted(**START, attempt=3, resumed_from_step=120))) == 120
    assert not attempts.keeps(again)


@pytest.mark.parametrize(
    "tag", ["loss (critic)", "q@0.5", "a//b", "/a", "../x", "losses/50%", "x" * 300, "/", "a/" * 200]
)
def test_mlflow_is_given_names_that_it_takes(tag):
    from mlflow.utils.validation import MAX_ENTITY_KEY_LENGTH, _validate_metric_name

    name = plain_name(tag)
    _validate_metric_name(name)
    assert 0 < len(name) <= MAX_ENTITY_KEY_LENGTH
    assert plain_name("charts/episodic_return") == "charts/episodic_return"


def test_every_folder_of_a_run_has_a_place_in_tensorboard(tmp_path):
    run_dir = Home(tmp_path).run(new_run_id())
    run_dir.root.mkdir(parents=True)
    made = Manifest(run_id=run_dir.run_id, algo="mine.py", env_id="E", seed=1, label="mine")
    for name in ("actor", "critic", "test", "more"):
        made = made.adding(Artifact(kind="tensorboard", path=f"work/runs/{name}"))
    manifest.write(run_dir, made)
    links = links_of([BoardRun("mine", str(run_dir.root))] * 2)
    assert sorted(path.name for path in links.values()) == sorted(["actor", "critic", "test", "more"] * 2)
