"""What a policy does, recorded as a graph of operations on tensors: from observations and memory to actions and memory.

Normalisers, bounds of the actions and the choice of the likeliest one are in the graph. The number of rows is free.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from cleanrl_worker.sdk.policy import ExportablePolicy, LikeliestActions, Policy, PolicyFile
from mosaic.errors import PolicyError

Array = np.ndarray[Any, Any]
EXAMPLE_ROWS = 3
OBSERVATIONS, ACTIONS = "observations", "actions"
FIXED_ROWS = (
    "it takes the number of rows for a fixed one; obs.shape[0], or a size of -1, leaves it open, len(obs) does not"
)


@dataclass(frozen=True, kw_only=True)
class TracedPolicy:
    """A graph, and what goes in and out of it."""

    program: torch.export.ExportedProgram
    weights: Mapping[str, torch.Tensor]
    """By name: as the policy file has them, those that it has."""
    weight_names: Mapping[str, str]
    """Of each input of the graph that is a weight."""
    observation_shape: tuple[int, ...]
    observation_dtype: torch.dtype
    memory: Mapping[str, tuple[int, ...]]


class _Traced(nn.Module):
    def __init__(self, likeliest: LikeliestActions) -> None:
        super().__init__()
        self.likeliest = likeliest

    def forward(self, observations: torch.Tensor, *memory: torch.Tensor) -> tuple[torch.Tensor, ...]:
        result = self.likeliest.function(observations, *memory)
        return result if isinstance(result, tuple) else (result,)


def traced(file: PolicyFile, policy: Policy) -> TracedPolicy:
    likeliest = _likeliest(file, policy)
    shape = file.observation_space.shape or ()
    # As a policy is given them: bools and the like are what the space says.
    dtype = torch.from_numpy(np.zeros(1, file.observation_space.dtype)).dtype
    examples = [torch.zeros(EXAMPLE_ROWS, *shape, dtype=dtype)]
    examples += [torch.zeros(EXAMPLE_ROWS, *each) for each in likeliest.memory.values()]
    rows = {0: torch.export.Dim("rows", min=1)}
    free = (rows, *([(rows,) * len(likeliest.memory)] if likeliest.memory else []))
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # What torch thinks of its own export is of no use to a user.
            program = torch.export.export(_Traced(likeliest), tuple(examples), dynamic_shapes=free, strict=False)
            program = program.run_decompositions({})
    except PolicyError as error:
        raise _refused(file, error) from error
    except (RuntimeError, ValueError, TypeError) as error:  # torch's own are RuntimeErrors.
        reason = FIXED_ROWS if "Constraints violated (rows)" in str(error) else _first_line(error)
        raise PolicyError(f"torch cannot record what the policy of '{file.algo}' does: {reason}") from error
    inputs = _weights(program)
    names = _names(inputs, file)
    return TracedPolicy(
        program=program,
        weights={names[place]: tensor for place, tensor in inputs.items()},
        weight_names=names,
        observation_shape=shape,
        observation_dtype=dtype,
        memory=likeliest.memory,
    )


def _likeliest(file: PolicyFile, policy: Policy) -> LikeliestActions:
    if not isinstance(policy, ExportablePolicy):
        raise PolicyError(
            f"a policy of '{file.algo}' cannot be exported: it does not say what torch computes for it"
            " (its policy has no 'in_torch'; docs/policies.md)"
        )
    try:
        return policy.in_torch()
    except PolicyError as error:
        raise _refused(file, error) from error


def _refused(file: PolicyFile, error: PolicyError) -> PolicyError:
    return PolicyError(f"a policy of '{file.algo}' cannot be exported: {error}")


def _weights(program: torch.export.ExportedProgram) -> dict[str, torch.Tensor]:
    """Parameters, buffers and constants that the graph reads."""
    signature = program.graph_signature
    kept: dict[str, Any] = {**program.constants, **program.state_dict}
    places = {
        **signature.inputs_to_parameters,
        **signature.inputs_to_buffers,
        **signature.inputs_to_lifted_tensor_constants,
    }
    return {place: kept[name].detach().contiguous().clone() for place, name in places.items()}


def _names(inputs: Mapping[str, torch.Tensor], file: PolicyFile) -> dict[str, str]:
    """A constant of the graph is told by its numbers: torch keeps no names of what a closure holds."""
    known = dict(file.arrays)
    names: dict[str, str] = {}
    for place, tensor in inputs.items():
        array = tensor.numpy()
        same = (name for name, one in known.items() if one.dtype == array.dtype and np.array_equal(one, array))
        name = next(same, "")
        known.pop(name, None)
        names[place] = name.removeprefix("agent.") or f"constant.{len(names)}"
    return names


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
