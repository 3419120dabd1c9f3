"""What a run writes of its networks: the weights that it trains with, the gradients that moved them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import HISTOGRAMS, TENSORS, EventAccumulator
from torch import nn
from worker_runs import events_of, new_run, policy_of, train

from cleanrl_worker.sdk import policy
from cleanrl_worker.sdk.command import algorithm_catalogue
from cleanrl_worker.sdk.record.histogram_writer import MOST_VALUES, HistogramWriter, histogram
from mosaic.spec.events import RunCompleted, Warned
from mosaic.spec.files.histogram_file import MOST_PARTS, HistogramRow, rows_of
from mosaic.spec.run_dir import RunDir

FLAGS = ("--algo=ppo", "--env-id=CartPole-v1", "--total-timesteps=2048", "--quiet", "--no-cuda", "--histograms-every=1")


def rows_in(run_dir: RunDir) -> list[HistogramRow]:
    rows, damaged = rows_of(run_dir.histograms.read_bytes().split(b"\n")[:-1])
    assert damaged == 0
    return rows


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> RunDir:
    """Of four updates."""
    run_dir = new_run(tmp_path_factory.mktemp("histograms"))
    train(run_dir, *FLAGS)
    return run_dir


def test_the_last_line_has_the_weights_of_the_policy(shown: RunDir) -> None:
    rows = rows_in(shown)
    assert [(row.update, row.global_step) for row in rows] == [(1, 512), (2, 1024), (3, 1536), (4, 2048)]
    weights = policy.read(policy_of(shown)).weights()
    for name, one in rows[-1].weights.items():
        assert one == histogram(weights[name]), name
    assert rows[-1].weights.keys() == rows[-1].gradients.keys() == weights.keys()


def test_the_path_by_hand_and_the_loss_show_the_same_gradients(
    shown: RunDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module: Any = algorithm_catalogue.load("ppo")
    monkeypatch.setattr(module, "guarded", lambda run, plain, fast: plain)
    run_dir = new_run(tmp_path)
    train(run_dir, *FLAGS, "--total-timesteps=512")
    [plain], by_hand = rows_in(run_dir), rows_in(shown)[0]
    for name, one in by_hand.gradients.items():
        assert plain.gradients[name].low == pytest.approx(one.low, rel=1e-3, abs=1e-7), name
        assert plain.gradients[name].high == pytest.approx(one.high, rel=1e-3, abs=1e-7), name


def test_tensorboard_shows_them_too(shown: RunDir) -> None:
    board = EventAccumulator(str(shown.tensorboard), size_guidance={HISTOGRAMS: 0, TENSORS: 0})
    board.Reload()
    rows = rows_in(shown)
    assert set(board.Tags()["histograms"]) == {
        f"{group}/{name}" for group in ("weights", "gradients") for name in rows[0].weights
    }
    seen = board.Histograms("weights/actor.0.weight")
    assert [one.step for one in seen] == [row.global_step for row in rows]
    last, ours = seen[-1].histogram_value, rows[-1].weights["actor.0.weight"]
    assert (last.min, last.max, last.num) == (ours.low, ours.high, ours.count)
    assert list(last.bucket) == list(ours.counts)


def test_where_the_file_cannot_be_written_the_run_says_so_and_goes_on(tmp_path: Path) -> None:
    run_dir = new_run(tmp_path)
    run_dir.histograms.mkdir(parents=True)
    train(run_dir, *FLAGS, "--total-timesteps=1024")
    said = [event.body.message for event in events_of(run_dir) if isinstance(event.body, Warned)]
    assert [message for message in said if "no more histograms" in message]
    assert isinstance(events_of(run_dir)[-1].body, RunCompleted)


def test_values_that_are_not_finite_are_counted_apart_and_many_are_sampled() -> None:
    one = histogram(torch.tensor([1.0, float("nan"), 3.0, float("inf")]))
    assert (one.count, one.low, one.high, sum(one.counts), one.not_finite) == (4, 1.0, 3.0, 2, 2)
    assert histogram(torch.full((3,), 2.0)).counts == (3,)
    assert histogram(torch.full((3,), float("nan"))).counts == ()
    large = histogram(torch.arange(4.0 * MOST_VALUES))
    assert (large.count, sum(large.counts)) == (4 * MOST_VALUES, MOST_VALUES)
    values = np.random.default_rng(1).normal(size=(7, 5)).astype(np.float32)
    # A fast path keeps the weights of a layer transposed.
    assert histogram(torch.from_numpy(values.T)) == histogram(torch.from_numpy(values.T.copy()))


def test_a_torn_line_and_void_lines_are_cut_off_and_damage_before_them_stays(tmp_path: Path) -> None:
    path, said = tmp_path / "histograms.jsonl", list[str]()
    writer = HistogramWriter(path, 1, complain=said.append)
    network = nn.Linear(2, 2)
    for step in (10, 20, 30):
        writer.updated(network, step)
    writer.flush()
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b"damage\n" + b"".join(lines[1:]) + lines[0][:20])
    writer.go_on(2, 20)
    assert path.read_bytes() == lines[0] + b"damage\n" + lines[1]
    writer.updated(network, 30)
    writer.flush()
    rows, damaged = rows_of(path.read_bytes().split(b"\n")[:-1])
    assert ([row.update for row in rows], damaged, said) == ([1, 2, 3], 1, [])


def test_parameters_that_do_not_train_are_left_out_and_too_many_are_said(tmp_path: Path) -> None:
    said: list[str] = []
    writer = HistogramWriter(tmp_path / "histograms.jsonl", 1, complain=said.append)
    frozen = nn.Linear(1, 1).requires_grad_(False)
    many = nn.ModuleList([nn.Linear(1, 1) for _ in range(MOST_PARTS)])
    for step in (1, 2):
        writer.updated({"frozen": frozen, "many": many}, step)
    writer.close()
    rows, _ = rows_of((tmp_path / "histograms.jsonl").read_bytes().split(b"\n")[:-1])
    assert [len(row.weights) for row in rows] == [MOST_PARTS] * 2
    assert all(name.startswith("many.") for name in rows[0].weights)
    assert rows[0].gradients == {}
    assert len(said) == 1
    assert replace(rows[0], time=0.0, update=2, global_step=2) == replace(rows[1], time=0.0)


def test_values_as_large_as_a_float32_can_be_are_counted() -> None:
    """A run that diverges has them, and must end by its own loss."""
    largest = float(np.finfo(np.float32).max)
    found = histogram(torch.tensor([-largest, largest, 0.0]))
    assert (found.low, found.high, sum(found.counts), found.not_finite) == (-largest, largest, 3, 0)
    assert found.counts[0] == found.counts[-1] == 1


def test_a_parameter_without_values_has_no_bins() -> None:
    found = histogram(torch.zeros(0, 4))
    assert (found.count, found.counts) == (0, ())
