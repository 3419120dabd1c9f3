"""The policy file, `*.cleanrl_model`: safetensors with everything needed to act in its metadata; no pickle.

Metadata: `format`, `algo`, `env_id`, `args` (JSON), `observation_space`, `action_space` (JSON), `global_step`, and
`sha256`, the digest of the whole file (`mosaic.spec.files.policy_digest`). For an algorithm of a user's also `source`
(JSON), a copy of its code (`mosaic.spec.files.source_copy`), and for an environment or wrappers of a user's
`env_sources` (JSON), such a copy for each by its reference (`mosaic.spec.own_code`). Where the environment had settings
also `env_settings` (JSON).
Tensors: `agent.<name>` (weights), `observation_normaliser.<name>`, `return_normaliser.<name>` where there are any.
"""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

import gymnasium as gym
import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from mosaic.envs.observations.parted_rows import PartedRows
from mosaic.errors import PolicyError
from mosaic.spec import own_code
from mosaic.spec.files import digests, policy_digest, source_copy
from mosaic.spec.files.policy_digest import FORMAT
from mosaic.spec.files.shared_files import write_atomically
from mosaic.spec.files.source_copy import SourceCopy

Array = np.ndarray[Any, Any]


class MissingNormaliser(PolicyError):
    """The weights fit, but the moments that the policy's observations were normalised with are not in the file."""


class Policy(Protocol):
    """Something that acts: what every algorithm's `load` returns."""

    def act(self, observations: Array, generator: np.random.Generator, *, deterministic: bool) -> Array:
        """Actions for a batch of observations, one row each, as the environments take them."""
        ...


@runtime_checkable
class RecurrentPolicy(Policy, Protocol):
    """A policy that remembers: row i of each batch must go on from row i of the one before."""

    def forget(self, slots: Array) -> None:
        """The next observation of these slots, (rows,) bool, is the first one of an episode."""
        ...


@runtime_checkable
class RewardedPolicy(Policy, Protocol):
    """A policy whose next action may depend on what the last one earned."""

    def rewarded(self, rewards: Array) -> None:
        """What the last actions earned, (rows,) float."""
        ...


@dataclass(frozen=True)
class LikeliestActions:
    """What a policy does with `deterministic`, computed by torch alone."""

    function: Callable[..., Any]
    """Of a tensor of observations as `act` takes them, and of the memory: the actions, or (actions, memory…)."""
    memory: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    """Name and shape of what each row remembers; zeros at the beginning of an episode."""


@runtime_checkable
class ExportablePolicy(Policy, Protocol):
    """A policy that can be used without MOSAIC."""

    def in_torch(self) -> LikeliestActions:
        """PolicyError, with the reason, where torch alone does not compute its actions."""
        ...


@dataclass(frozen=True, kw_only=True)
class PolicyFile:
    """What a policy file holds."""

    algo: str
    env_id: str
    args: dict[str, Any]
    observation_space: gym.Space[Any]
    action_space: gym.Space[Any]
    global_step: int
    arrays: Mapping[str, Array]
    env_settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Settings of the environment that it was trained in."""
    source: SourceCopy | None = None
    """A copy of what it was trained by: the code of an algorithm of a user's, or plans."""
    env_sources: Mapping[str, SourceCopy] = field(default_factory=dict[str, SourceCopy])
    """The code of an environment and of wrappers of a user's that it was trained in, by reference."""
    running_normaliser: bool = False
    """Learn the moments of the observations anew while it plays; never written."""
    has_digest: bool = True
    """False for a file of an earlier version, in which damage is not noticed."""
    remarks: tuple[str, ...] = ()
    """What the user should know of the code that acts with it now; never written."""

    def group(self, prefix: str) -> dict[str, Array]:
        """The arrays below a prefix, without it."""
        cut = f"{prefix}."
        return {name.removeprefix(cut): array for name, array in self.arrays.items() if name.startswith(cut)}

    def weights(self) -> dict[str, torch.Tensor]:
        """The agent's state dict."""
        return {name: torch.from_numpy(array.copy()) for name, array in self.group("agent").items()}


def write(path: Path, file: PolicyFile) -> None:
    metadata = {
        "format": FORMAT,
        "algo": file.algo,
        "env_id": file.env_id,
        "args": json.dumps(file.args),
        "observation_space": json.dumps(space_to_json(file.observation_space)),
        "action_space": json.dumps(space_to_json(file.action_space)),
        "global_step": str(file.global_step),
        digests.MEMBER: digests.EMPTY,
    }
    if file.env_settings:
        metadata["env_settings"] = json.dumps(dict(file.env_settings))
    if file.source is not None:
        metadata["source"] = json.dumps(file.source.to_json())
    if file.env_sources:
        metadata["env_sources"] = json.dumps(own_code.to_json(file.env_sources))
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays = {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in file.arrays.items()}
    write_atomically(path, policy_digest.seal(_in_order(save(arrays, metadata=metadata))))


def _in_order(data: bytes) -> bytes:
    """The same file with its header sorted: the library's order of the metadata is another one in every process.

    A safetensors file is a length (uint64, little endian), a JSON header of that many bytes, and the arrays.
    """
    end = 8 + int.from_bytes(data[:8], "little")
    header = json.dumps(json.loads(data[8:end]), sort_keys=True, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)  # The arrays begin at a multiple of eight.
    return len(header).to_bytes(8, "little") + header + data[end:]


def read(path: str | os.PathLike[str]) -> PolicyFile:
    """A policy file of ours, whole; anything else raises PolicyError with the reason."""
    has_digest = policy_digest.check_file(Path(path))
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise PolicyError(f"{path} cannot be read as a policy: {error}") from error
    try:
        return PolicyFile(
            algo=metadata["algo"],
            env_id=metadata["env_id"],
            args=json.loads(metadata["args"]),
            observation_space=space_from_json(json.loads(metadata["observation_space"])),
            action_space=space_from_json(json.loads(metadata["action_space"])),
            global_step=int(metadata["global_step"]),
            arrays=arrays,
            has_digest=has_digest,
            env_settings=json.loads(metadata.get("env_settings", "{}")),
            source=source_copy.from_json(json.loads(metadata["source"])) if "source" in metadata else None,
            env_sources=own_code.from_json(json.loads(metadata.get("env_sources", "{}"))),
        )
    except (AssertionError, KeyError, TypeError, ValueError) as error:  # Gymnasium's spaces assert.
        raise PolicyError(f"{path} is a damaged MOSAIC policy: {error!r}") from error


def space_to_json(space: gym.Space[Any]) -> dict[str, Any]:
    """Gymnasium spaces as JSON, for policy files and error messages."""
    if isinstance(space, gym.spaces.Discrete):
        return {"type": "Discrete", "n": int(space.n), "start": int(space.start)}
    if isinstance(space, PartedRows):
        return {"type": "Parts", "parts": [{"name": name, **space_to_json(box)} for name, box in space.parts.items()]}
    if isinstance(space, gym.spaces.Box):
        box = cast(Any, space)
        return {
            "type": "Box",
            "shape": list(box.shape),
            "dtype": str(box.dtype),
            "low": _bounds(box.low),
            "high": _bounds(box.high),
        }
    if isinstance(space, gym.spaces.MultiDiscrete):
        return {"type": "MultiDiscrete", "nvec": space.nvec.tolist(), "start": space.start.tolist()}
    if isinstance(space, gym.spaces.MultiBinary):
        return {"type": "MultiBinary", "shape": list(space.shape)}
    raise PolicyError(f"space {space} cannot be stored in a policy file; only those that are one array can")


def space_from_json(data: dict[str, Any]) -> gym.Space[Any]:
    match data:
        case {"type": "Discrete", "n": n, "start": start}:
            return gym.spaces.Discrete(n, start=start)
        case {"type": "MultiDiscrete", "nvec": nvec, "start": start}:
            return gym.spaces.MultiDiscrete(nvec, start=start)
        case {"type": "MultiBinary", "shape": shape}:
            return gym.spaces.MultiBinary(shape)
        case {"type": "Parts", "parts": parts}:
            boxes = {part["name"]: space_from_json(part) for part in parts}
            if not all(isinstance(box, gym.spaces.Box) for box in boxes.values()):
                raise PolicyError(f"the policy file describes parts that are not all boxes: {data}")
            return PartedRows(cast("dict[str, gym.spaces.Box[Any]]", boxes))
        case {"type": "Box", "shape": shape, "dtype": dtype, "low": low, "high": high}:
            kind = np.dtype(dtype)
            bounds = [np.broadcast_to(np.array(b, dtype=float), shape).astype(kind) for b in (low, high)]
            return gym.spaces.Box(bounds[0], bounds[1], dtype=kind.type)
        case _:
            raise PolicyError(f"the policy file describes a space that is not known: {data}")


def _bounds(values: np.ndarray[Any, Any]) -> Any:
    """One number where all are equal, else the nested list; infinities as strings, which float() reads back."""
    flat = values.astype(float)
    if flat.size and (flat == flat.flat[0]).all():
        return _json_float(float(flat.flat[0]))
    return _nested(flat.tolist())


def _nested(value: Any) -> Any:
    return [_nested(item) for item in cast("list[Any]", value)] if isinstance(value, list) else _json_float(value)


def _json_float(value: float) -> float | str:
    return value if np.isfinite(value) else str(value)
