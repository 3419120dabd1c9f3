"""A traced policy as ONNX: `observations` (and memory) in, `actions` (and memory) out, any number of rows."""

import json
import logging
import warnings
from collections.abc import Mapping
from typing import Any

import torch

from cleanrl_worker.sdk.exported.traced_policy import ACTIONS, OBSERVATIONS, TracedPolicy
from cleanrl_worker.sdk.policy import PolicyFile, space_to_json
from mosaic.errors import PolicyError
from mosaic.spec.catalogue.extras import ONNX

AFTER = "_after"
"""The memory that comes out of a step is called as the one that goes in, with this behind it."""


def model_of(file: PolicyFile, traced: TracedPolicy, *, about: str) -> bytes:
    ONNX.require("an export to ONNX")
    log = logging.getLogger("torch.onnx")
    level = log.level
    log.setLevel(logging.ERROR)  # It tells that torchvision is not there.
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program: Any = torch.onnx.export(
                traced.program,
                (),
                input_names=[OBSERVATIONS, *traced.memory],
                output_names=[ACTIONS, *(name + AFTER for name in traced.memory)],
                dynamo=True,
                verbose=False,
            )
    except torch.onnx.OnnxExporterError as error:
        reason = str(error).strip().splitlines()[0]
        raise PolicyError(f"ONNX cannot hold what the policy of '{file.algo}' does: {reason}") from error
    finally:
        log.setLevel(level)
    proto = program.model_proto
    _name_weights(proto, traced)
    proto.doc_string = about
    for name, value in metadata(file).items():
        proto.metadata_props.add(key=name, value=value)
    return proto.SerializeToString()


def metadata(file: PolicyFile) -> dict[str, str]:
    return {
        "algo": file.algo,
        "env_id": file.env_id,
        "global_step": str(file.global_step),
        "observation_space": json.dumps(space_to_json(file.observation_space)),
        "action_space": json.dumps(space_to_json(file.action_space)),
    }


def _name_weights(proto: Any, traced: TracedPolicy) -> None:
    """As the policy file has them."""
    names: Mapping[str, str] = {place.removeprefix("c_"): name for place, name in traced.weight_names.items()}
    for tensor in proto.graph.initializer:
        tensor.name = names.get(tensor.name, tensor.name)
    for node in proto.graph.node:
        for place, name in enumerate(node.input):
            node.input[place] = names.get(name, name)
