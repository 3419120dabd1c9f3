"""Train state survives its two files: every array bit for bit, every number, every key."""

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from safetensors.numpy import load, save

from cleanrl_worker.sdk.checkpoints import state_tree

DTYPES = (np.bool_, np.uint8, np.int32, np.int64, np.float16, np.float32, np.float64)

some_arrays = st.sampled_from(DTYPES).flatmap(
    lambda dtype: arrays.arrays(dtype, arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3))
)
some_tensors = some_arrays.map(lambda array: torch.from_numpy(np.array(array)))
some_keys = st.text(max_size=3) | st.sampled_from(["$array", "$pairs", "$", "a/b", "a~1b", "~", "/", "1", ""])
some_numbers = st.integers(-(2**130), 2**130) | st.floats()
leaves = st.none() | st.booleans() | some_numbers | st.text(max_size=5) | some_arrays | some_tensors
some_trees = st.recursive(
    leaves,
    lambda below: (
        st.lists(below, max_size=4)
        | st.lists(below, max_size=4).map(tuple)
        | st.dictionaries(some_keys, below, max_size=4)
        | st.dictionaries(some_keys | st.integers(-9, 9), below, max_size=4)
    ),
    max_leaves=12,
)


def stored(state: Any) -> Any:
    """Through the bytes of both files."""
    document, parts = state_tree.split(state)
    return state_tree.join(json.loads(json.dumps(document)), load(save(parts)))


def assert_same(one: Any, other: Any) -> None:
    if isinstance(one, (np.ndarray, torch.Tensor)):
        assert type(other) is type(one)
        first, second = np.asarray(one), np.asarray(other)
        assert (first.dtype, first.shape) == (second.dtype, second.shape)
        assert first.tobytes() == second.tobytes()
    elif isinstance(one, Mapping):
        assert list(one) == list(other)
        assert [type(key) for key in one] == [type(key) for key in other]
        for key, value in one.items():
            assert_same(value, other[key])
    elif isinstance(one, (list, tuple)):
        assert isinstance(other, list)
        assert len(one) == len(other)
        for first, second in zip(one, other, strict=True):
            assert_same(first, second)
    else:
        assert type(one) is type(other)
        assert one == other or (math.isnan(one) and math.isnan(other))


@given(some_trees)
def test_what_is_stored_comes_back(state: Any) -> None:
    assert_same(state, stored(state))


def test_the_state_of_a_generator_comes_back() -> None:
    generator = np.random.default_rng(5)
    state = generator.bit_generator.state
    assert state["state"]["state"].bit_length() > 64
    first = generator.random(8)
    generator.bit_generator.state = stored(state)
    assert first.tobytes() == generator.random(8).tobytes()


def test_the_state_of_a_torch_optimiser_comes_back() -> None:
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.Adam([weight])
    weight.sum().backward()
    optimizer.step()
    state = stored(optimizer.state_dict())
    assert list(state["state"]) == [0]
    other = torch.optim.Adam([torch.nn.Parameter(torch.ones(3))])
    other.load_state_dict(state)
    assert_same(other.state_dict()["state"], optimizer.state_dict()["state"])


def test_arrays_are_copied_so_that_the_learner_can_go_on() -> None:
    mine = np.zeros(3)
    _, parts = state_tree.split({"values": mine})
    mine += 1
    assert parts["values"].tolist() == [0, 0, 0]


def test_views_with_strides_are_stored_whole() -> None:
    grid = np.arange(12).reshape(3, 4)
    assert_same(stored({"column": grid[:, 1], "turned": grid.T})["turned"], np.ascontiguousarray(grid.T))


def test_numpy_scalars_become_plain_numbers() -> None:
    assert stored({"a": np.float32(0.1), "b": np.int64(3), "c": np.bool_(True)}) == {
        "a": float(np.float32(0.1)),
        "b": 3,
        "c": True,
    }


@pytest.mark.parametrize("bad", [{1, 2}, b"bytes", object(), {("a", "b"): 1}])
def test_what_no_file_can_hold_is_refused_at_once_and_by_name(bad: Any) -> None:
    with pytest.raises(TypeError, match="algorithm/thing is a"):
        state_tree.split({"algorithm": {"thing": bad}})
