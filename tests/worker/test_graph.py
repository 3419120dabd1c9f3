"""Inputs and graphs of a GPU: on a CPU they do nothing; with a GPU they must do what plain calls do."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from cleanrl_worker.sdk import graph
from cleanrl_worker.sdk.graph import MOST_RECORDINGS, WARM_UPS, Inputs, Replayed, Tensors
from cleanrl_worker.sdk.graph_memory import Numbers
from mosaic.errors import TrainingFailed

CPU, GPU = torch.device("cpu"), torch.device("cuda")
with_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def counting() -> tuple[Callable[[Tensors], dict[str, torch.Tensor]], list[int]]:
    calls: list[int] = []

    def step(inputs: Tensors) -> dict[str, torch.Tensor]:
        calls.append(len(inputs["x"]))
        return {"y": inputs["x"] + 1}

    return step, calls


def test_on_a_cpu_a_graph_is_a_plain_call_also_where_there_is_a_gpu() -> None:
    step, calls = counting()
    replayed = Replayed(step, CPU, enabled=True)
    for rows in (2, 2, 3, 2, 2, 2):
        assert replayed({"x": torch.zeros(rows)})["y"].tolist() == [1.0] * rows
    assert calls == [2, 2, 3, 2, 2, 2]


def test_on_a_cpu_inputs_are_not_copied() -> None:
    array, tensor = np.arange(3.0), torch.arange(3)
    put = Inputs(CPU).put({"array": array, "tensor": tensor})
    array[0] = 7
    assert put["array"].tolist() == [7, 1, 2]
    assert put["tensor"] is tensor


@with_gpu
def test_every_call_counts_once() -> None:
    total = torch.zeros(3, device=GPU)

    def step(batch: Tensors) -> dict[str, torch.Tensor]:
        total.add_(batch["x"])
        return {"total": total.clone()}

    inputs, replayed = Inputs(GPU), Replayed(step, GPU, enabled=True)
    for number in range(1, 21):
        found = replayed(inputs.put({"x": np.full(3, number, np.float32)}))
        assert found["total"].tolist() == [number * (number + 1) / 2] * 3


@with_gpu
def test_a_graph_draws_the_numbers_that_plain_calls_draw() -> None:
    def drawn(*, enabled: bool) -> list[float]:
        torch.manual_seed(3)
        replayed = Replayed(lambda batch: {"noise": batch["x"] + torch.randn(1, device=GPU)}, GPU, enabled=enabled)
        inputs = Inputs(GPU)
        return [replayed(inputs.put({"x": np.zeros(1, np.float32)}))["noise"].item() for _ in range(12)]

    assert drawn(enabled=True) == drawn(enabled=False)
    assert len(set(drawn(enabled=True))) == 12


@with_gpu
def test_inputs_of_any_type_arrive_whole_though_the_gpu_lags_behind() -> None:
    inputs = Inputs(GPU)
    slow = torch.randn(3000, 3000, device=GPU)
    seen: list[tuple[int, dict[str, torch.Tensor]]] = []
    for number in range(30):
        slow = (slow @ slow).clamp(-1, 1)
        arrays = {
            "bytes": np.full((3, 5), number, np.uint8),
            "longs": np.full(7, number, np.int64),
            "floats": np.full((2, 2), number, np.float32)[:, ::-1],
            "there": torch.full((4,), number, device=GPU),
        }
        seen.append((number, {name: tensor.clone() for name, tensor in inputs.put(arrays).items()}))
    for number, tensors in seen:
        for tensor in tensors.values():
            assert (tensor == number).all()
    assert seen[0][1]["longs"].dtype == torch.int64


@with_gpu
def test_inputs_that_move_about_are_a_mistake_and_not_a_leak() -> None:
    step, _ = counting()
    replayed = Replayed(step, GPU, enabled=True)
    kept = [torch.zeros(2, device=GPU) for _ in range(MOST_RECORDINGS + 1)]
    for tensor in kept[:-1]:
        replayed({"x": tensor})
    with pytest.raises(AssertionError, match="move about: put them with Inputs"):
        replayed({"x": kept[-1]})


@with_gpu
def test_what_cannot_be_recorded_says_how_to_go_on() -> None:
    def step(batch: Tensors) -> dict[str, torch.Tensor]:
        return {"y": batch["x"] * batch["x"].sum().item()}

    inputs, replayed = Inputs(GPU), Replayed(step, GPU, enabled=True)
    batch = inputs.put({"x": np.ones(2, np.float32)})
    for _ in range(WARM_UPS):
        replayed(batch)
    with pytest.raises(TrainingFailed, match="train with --no-cuda-graph"):
        replayed(batch)


class Network(torch.nn.Module):
    """With a number of its own beside its weights."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)
        self.bonus = 0.5


class Schedule:
    """Something that a researcher keeps beside the learner."""

    def __init__(self) -> None:
        self.rate = 1.0


SCALE = {"of all": 1.0}
"""A module's own number."""


class Learner:
    """One that reads numbers from everywhere."""

    def __init__(self, device: torch.device) -> None:
        self.network = Network().to(device)
        self.schedule = Schedule()
        self.coefficients = {"entropy": 1.0}
        self.weight = 1.0
        self.optimizer = torch.optim.SGD(self.network.parameters(), lr=0.1)

    def step(self, batch: Tensors) -> dict[str, torch.Tensor]:
        factor = self.network.bonus * self.schedule.rate * self.coefficients["entropy"] * self.weight * SCALE["of all"]
        loss = factor * self.network.layer(batch["x"]).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return {"loss": loss.detach()}


def change(learner: Learner, which: str) -> None:
    match which:
        case "an attribute":
            learner.weight *= 2
        case "of the network":
            learner.network.bonus *= 2
        case "of an object":
            learner.schedule.rate *= 2
        case "of a dictionary":
            learner.coefficients["entropy"] *= 2
        case _:
            SCALE["of all"] *= 2


NUMBERS = ["an attribute", "of the network", "of an object", "of a dictionary", "of the module"]


@pytest.fixture
def scale(monkeypatch: pytest.MonkeyPatch) -> None:
    """The module's number is put back after the test."""
    monkeypatch.setitem(SCALE, "of all", 1.0)


@pytest.mark.usefixtures("scale")
@pytest.mark.parametrize("which", NUMBERS)
def test_a_number_that_a_step_may_read_is_watched(which: str) -> None:
    learner = Learner(CPU)
    numbers = Numbers(learner.step)
    assert numbers.changed() is None
    change(learner, which)
    assert numbers.changed() is not None


@with_gpu
@pytest.mark.usefixtures("scale")
@pytest.mark.parametrize("which", NUMBERS)
def test_a_changed_number_is_recorded_again(which: str) -> None:
    torch.manual_seed(0)
    learner = Learner(GPU)
    weights = {name: value.clone() for name, value in learner.network.state_dict().items()}
    x = np.ones((4, 2), np.float32)

    def losses(*, enabled: bool) -> list[float]:
        learner.network.load_state_dict(weights)
        inputs, replayed = Inputs(GPU), Replayed(learner.step, GPU, enabled=enabled)
        found: list[float] = []
        for call in range(30):
            if call in (12, 20):
                change(learner, which)
            found.append(replayed(inputs.put({"x": x}))["loss"].item())
        for name, value in vars(Learner(GPU)).items():
            if name in ("weight", "schedule", "coefficients"):
                setattr(learner, name, value)
        learner.network.bonus, SCALE["of all"] = 0.5, 1.0
        return found

    assert losses(enabled=True) == losses(enabled=False)


@with_gpu
def test_a_number_that_always_changes_ends_the_replay_and_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(graph, "tell", told.append)
    learner, inputs = Learner(GPU), Inputs(GPU)
    replayed = Replayed(learner.step, GPU, enabled=True)
    for _ in range(200):
        learner.weight += 0.001
        replayed(inputs.put({"x": np.ones((4, 2), np.float32)}))
    assert len(told) == 1
    assert "weight of the learner changed" in told[0]


@with_gpu
def test_what_no_number_shows_is_found_by_the_next_comparison() -> None:
    class Hidden(Learner):
        def step(self, batch: Tensors) -> dict[str, torch.Tensor]:
            return {"y": batch["x"] * len(told)}

    told = [1]
    learner, inputs = Hidden(GPU), Inputs(GPU)
    replayed = Replayed(learner.step, GPU, enabled=True)
    batch = {"x": np.ones(1, np.float32)}
    for _ in range(10):
        assert replayed(inputs.put(batch))["y"].item() == 1
    told.append(2)
    graph.compare_next_replays()
    assert replayed(inputs.put(batch))["y"].item() == 2
    assert all(replayed(inputs.put(batch))["y"].item() == 2 for _ in range(10))
