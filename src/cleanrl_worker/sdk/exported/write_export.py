"""A policy as a file that needs no MOSAIC: written whole, and only if it does what the policy does.

written(file, policy, Path("cartpole.onnx"))     # ONNX
written(file, policy, Path("cartpole.py"))       # plain torch, and cartpole.safetensors
"""

import importlib.util
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.torch import save

from cleanrl_worker.sdk.exported import equal_actions, onnx_model, torch_module
from cleanrl_worker.sdk.exported.equal_actions import Actions, Compared
from cleanrl_worker.sdk.exported.traced_policy import OBSERVATIONS, TracedPolicy, traced
from cleanrl_worker.sdk.policy import Policy, PolicyFile
from mosaic import __version__
from mosaic.errors import ConfigError, HomeUnusable, Problem
from mosaic.spec.files.shared_files import write_atomically

Array = np.ndarray[Any, Any]
WEIGHTS = ".safetensors"


@dataclass(frozen=True)
class Written:
    files: list[Path]
    compared: Compared


def written(file: PolicyFile, policy: Policy, path: Path) -> Written:
    """What the suffix of the path says. Nothing is left over where it cannot be made or differs."""
    make = KINDS.get(path.suffix)
    if make is None:
        raise ConfigError([Problem("file", f"'{path.name}' must end in {' or '.join(KINDS)}")], what="export")
    contents, load = make(file, traced(file, policy), path)
    with tempfile.TemporaryDirectory(prefix="mosaic-policy-") as folder:
        for name, content in contents.items():
            (Path(folder) / name).write_bytes(content)
        compared = equal_actions.compare(file, policy, load(Path(folder) / path.name))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            write_atomically(path.with_name(name), content)
    except OSError as error:
        raise HomeUnusable(f"{path} could not be written: {error}") from error
    return Written([path.with_name(name) for name in contents], compared)


Made = tuple[dict[str, bytes], Callable[[Path], Actions]]


def _onnx(file: PolicyFile, traced: TracedPolicy, path: Path) -> Made:
    return {path.name: onnx_model.model_of(file, traced, about=_about(file))}, lambda at: _by_onnxruntime(at, traced)


def _torch(file: PolicyFile, traced: TracedPolicy, path: Path) -> Made:
    weights = path.with_suffix(WEIGHTS).name
    source = torch_module.source_of(file, traced, about=_about(file), module=path.stem, weights=weights)
    contents = {path.name: source.encode(), weights: save(dict(traced.weights), onnx_model.metadata(file))}
    return contents, _by_torch


KINDS: dict[str, Callable[[PolicyFile, TracedPolicy, Path], Made]] = {".onnx": _onnx, ".py": _torch}


def _about(file: PolicyFile) -> str:
    return (
        f"A policy of {file.algo} for {file.env_id}, after {file.global_step} steps, exported by MOSAIC {__version__}."
    )


def _by_onnxruntime(path: Path, traced: TracedPolicy) -> Actions:
    import onnxruntime

    session: Any = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    memory: dict[str, Array] = {}

    def actions(observations: Array, begins: Array) -> Array:
        for name, shape in traced.memory.items():
            before = memory.get(name, np.zeros((len(observations), *shape), np.float32))
            memory[name] = np.where(begins.reshape(-1, *[1] * len(shape)), np.float32(0), before)
        found, *after = session.run(None, {OBSERVATIONS: observations, **memory})
        memory.update(zip(traced.memory, after, strict=True))
        return found

    return actions


def _by_torch(path: Path) -> Actions:
    """The file as a program of the user's imports it."""
    spec = importlib.util.spec_from_file_location(f"exported_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    policy = module.Policy()

    def actions(observations: Array, begins: Array) -> Array:
        for state in policy.memory or ():
            state[begins] = 0
        return policy(observations)

    return actions
