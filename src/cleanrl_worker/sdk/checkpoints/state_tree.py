"""Nested train state to and from two files: arrays as safetensors, the rest as JSON. No pickle anywhere.

A leaf is an array, a tensor, or anything JSON knows. In the JSON part an array is `{"$array": name}`, a tensor
`{"$tensor": name}`, and a mapping that JSON cannot hold (keys that are not strings, or that begin with `$`)
`{"$pairs": [[key, value], ...]}`. A paged array (`cleanrl_worker.sdk.checkpoints.paged_array`) is `{"$pages": name,
...}`; its pages are files of their own. The name of an array is its path: keys and indices joined by `/`, in which a
`/` of a key is `~1` and a `~` is `~0`. Tuples become lists. Whole numbers keep any size (the state of a PCG64 has 128
bits).
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
import torch

from cleanrl_worker.sdk.checkpoints.paged_array import PagedArray, SavedPages

Tree: TypeAlias = Any
"""dict | list | tuple | ndarray | PagedArray | Tensor | int | float | str | bool | None, nested."""
Arrays: TypeAlias = Mapping[str, np.ndarray[Any, Any]]
PagesOf: TypeAlias = Callable[[str, tuple[int, ...], tuple[int, ...]], SavedPages]
"""Makes a saved paged array of its name, stamps and shape."""
_HERE: PagesOf = partial(SavedPages, Path())


def split(tree: Tree) -> tuple[Any, dict[str, np.ndarray[Any, Any]]]:
    """The JSON part and the arrays, copied: the learner may go on changing its own."""
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    return _split(tree, "", arrays), arrays


def paged(tree: Tree, path: str = "") -> dict[str, PagedArray]:
    """The paged arrays of a tree, which `split` names but does not copy."""
    if isinstance(tree, PagedArray):
        return {path[1:]: tree}
    items = cast("Mapping[str, Any]", tree).items() if isinstance(tree, Mapping) else ()
    return {name: found for key, value in items for name, found in paged(value, f"{path}/{_escaped(str(key))}").items()}


def join(node: Any, arrays: Arrays, pages: PagesOf = _HERE) -> Tree:
    """The tree that `split` took apart; KeyError, TypeError or ValueError for what it never made.

    `pages` knows where the paged arrays lie.
    """
    if isinstance(node, list):
        return [join(item, arrays, pages) for item in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    mapping = cast("dict[str, Any]", node)
    if "$array" in mapping:
        return arrays[mapping["$array"]]
    if "$tensor" in mapping:
        return torch.from_numpy(arrays[mapping["$tensor"]])
    if "$pages" in mapping:
        return pages(mapping["$pages"], tuple(mapping["stamps"]), tuple(mapping["shape"]))
    if "$pairs" in mapping:
        return {key: join(value, arrays, pages) for key, value in mapping["$pairs"]}
    return {key: join(value, arrays, pages) for key, value in mapping.items()}


def _split(node: Tree, path: str, arrays: dict[str, np.ndarray[Any, Any]]) -> Any:
    if isinstance(node, torch.Tensor):
        arrays[path[1:]] = node.detach().cpu().numpy().copy()
        return {"$tensor": path[1:]}
    if isinstance(node, PagedArray):
        return {"$pages": path[1:], "shape": list(node.array.shape), "stamps": list(node.stamps)}
    if isinstance(node, np.ndarray):
        arrays[path[1:]] = np.array(cast("np.ndarray[Any, Any]", node), order="C", copy=True)
        return {"$array": path[1:]}
    if isinstance(node, Mapping):
        return _split_mapping(cast("Mapping[Any, Any]", node), path, arrays)
    if isinstance(node, (list, tuple)):
        sequence = cast("list[Any]", node)
        return [_split(value, f"{path}/{index}", arrays) for index, value in enumerate(sequence)]
    return _scalar(node, path)


def _split_mapping(mapping: Mapping[Any, Any], path: str, arrays: dict[str, np.ndarray[Any, Any]]) -> Any:
    if all(isinstance(key, str) and not key.startswith("$") for key in mapping):
        return {key: _split(value, f"{path}/{_escaped(key)}", arrays) for key, value in mapping.items()}
    # By index, because 1 and "1" are two keys and one text.
    pairs = enumerate(mapping.items())
    return {"$pairs": [[_scalar(key, path), _split(value, f"{path}/{at}", arrays)] for at, (key, value) in pairs]}


def _scalar(node: Any, path: str) -> Any:
    if isinstance(node, np.generic):
        node = cast("np.generic[Any]", node).item()
    if node is not None and not isinstance(node, (bool, int, float, str)):
        raise TypeError(f"{path[1:]} is a {type(node).__name__}, which a checkpoint cannot hold")
    return node


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
