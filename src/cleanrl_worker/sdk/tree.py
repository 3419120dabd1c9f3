"""Nested train state to and from two files: arrays as safetensors, the rest as JSON. No pickle anywhere.

A leaf is an array, a tensor, or anything JSON knows. In the JSON part an array is `{"$array": name}`, a tensor
`{"$tensor": name}`, and a mapping whose keys are not all strings `{"$pairs": [[key, value], ...]}`; tuples become
lists. Whole numbers keep any size (the state of a PCG64 has 128 bits).
"""

from collections.abc import Mapping
from typing import Any, TypeAlias, cast

import numpy as np
import torch

Tree: TypeAlias = Any
"""dict | list | tuple | ndarray | Tensor | int | float | str | bool | None, nested."""


def split(tree: Tree) -> tuple[Any, dict[str, np.ndarray[Any, Any]]]:
    """The JSON part and the arrays, copied: the learner may go on changing its own."""
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    return _split(tree, "", arrays), arrays


def join(node: Any, arrays: Mapping[str, np.ndarray[Any, Any]]) -> Tree:
    """The tree that `split` took apart."""
    if isinstance(node, list):
        return [join(item, arrays) for item in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    mapping = cast("dict[str, Any]", node)
    if "$array" in mapping:
        return arrays[mapping["$array"]]
    if "$tensor" in mapping:
        return torch.from_numpy(arrays[mapping["$tensor"]])
    if "$pairs" in mapping:
        return {key: join(value, arrays) for key, value in mapping["$pairs"]}
    return {key: join(value, arrays) for key, value in mapping.items()}


def _split(node: Tree, path: str, arrays: dict[str, np.ndarray[Any, Any]]) -> Any:
    if isinstance(node, torch.Tensor):
        arrays[path] = node.detach().cpu().numpy().copy()
        return {"$tensor": path}
    if isinstance(node, np.ndarray):
        arrays[path] = np.array(cast("np.ndarray[Any, Any]", node), order="C", copy=True)
        return {"$array": path}
    if isinstance(node, np.generic):
        return cast("np.generic[Any]", node).item()
    if isinstance(node, Mapping):
        mapping = cast("Mapping[Any, Any]", node)
        items = [(key, _split(value, f"{path}/{key}" if path else str(key), arrays)) for key, value in mapping.items()]
        return dict(items) if all(isinstance(key, str) for key, _ in items) else {"$pairs": [list(p) for p in items]}
    if isinstance(node, (list, tuple)):
        sequence = cast("list[Any]", node)
        return [
            _split(value, f"{path}/{index}" if path else str(index), arrays) for index, value in enumerate(sequence)
        ]
    return node
