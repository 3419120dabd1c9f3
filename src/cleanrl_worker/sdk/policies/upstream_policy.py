"""Policies that upstream CleanRL saved with `torch.save`: opened as plain weights, recognised by keys and shapes.

Upstream's files are one state dict (ppo, dqn, …), a tuple of state dicts whose first one acts (td3, ddpg), or
`{"model_weights": state dict, "args": {…}}` (c51). No table says which is whose: every algorithm that offers `load` is
asked whether these weights are all of its own, and none that is not. What fits several is decided by the file's name
or by `--algo`, never by chance.
"""

import inspect
import pickle
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, cast

import gymnasium as gym
import numpy as np
import torch

from cleanrl_worker.sdk.command import algorithm_catalogue
from cleanrl_worker.sdk.command.algorithm_catalogue import Algorithm
from cleanrl_worker.sdk.policy import MissingNormaliser, Policy, PolicyFile
from mosaic.envs import action_kind
from mosaic.errors import MosaicError, PolicyError

Array = np.ndarray[Any, Any]
Weights = Mapping[str, Array]


@dataclass(frozen=True, kw_only=True)
class Saved:
    """What was in the file."""

    path: Path
    parts: tuple[Weights, ...]
    """State dicts; the first one acts."""
    in_tuple: bool
    args: Mapping[str, Any]
    """Settings, where they were saved too."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What is known of it beside its weights."""

    algo: str
    """Given by the user; empty to find out."""
    name: str
    """What the file's name or folder says."""
    env_id: str
    observation_space: gym.Space[Any]
    action_space: gym.Space[Any]
    args: Mapping[str, Any]
    """Settings that the user gave."""
    running_normaliser: bool


def open_saved(path: Path) -> Saved:
    """The weights; a file that holds anything else is refused, and nothing of it is run."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # What torch thinks of the pickle's age is of no use here.
            content: Any = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise PolicyError(
            f"{path} holds more than weights, so it was not opened and nothing in it was run:"
            f" {_first_line(error, containing='Unsupported')}"
        ) from error
    except Exception as error:  # A border: the bytes of a file from elsewhere may make the library raise anything.
        raise PolicyError(f"{path} cannot be read as a policy: {_first_line(error)}; it may be cut off") from error
    args: Any = {}
    in_tuple = isinstance(content, (tuple, list))
    if isinstance(content, dict) and "model_weights" in content:
        args = content.get("args") or {}
        content = content["model_weights"]
    parts = tuple(content) if in_tuple else (content,)
    if not parts or not all(map(_is_state_dict, parts)) or not isinstance(args, dict):
        raise PolicyError(
            f"{path} was written by torch.save, but is neither a state dict nor a tuple of them: {_shape_of(content)}"
        )
    arrays = tuple({name: _array(tensor) for name, tensor in part.items()} for part in parts)
    return Saved(path=path, parts=arrays, in_tuple=in_tuple, args=args)


def _array(tensor: torch.Tensor) -> Array:
    # Parameters want a gradient, and numpy knows no bfloat16.
    plain = tensor.detach()
    return (plain.float() if plain.dtype == torch.bfloat16 else plain).numpy()


def recognise(saved: Saved, wanted: Wanted) -> tuple[PolicyFile, Policy]:
    """The algorithm whose weights these are, ready to act."""
    fits: dict[str, tuple[PolicyFile, Policy]] = {}
    refusals: dict[str, MosaicError] = {}
    # The one that its name speaks of first, so that it is the one whose complaint is heard.
    for name in (
        [wanted.algo] if wanted.algo else sorted(algorithm_catalogue.names(), key=lambda name: name != wanted.name)
    ):
        if name not in (wanted.algo, wanted.name) and not algorithm_catalogue.saved_by_upstream(
            algorithm_catalogue.load(name)
        ):
            continue
        try:
            fits[name] = _tried(name, algorithm_catalogue.load(name), saved, wanted)
        except (PolicyError, MissingNormaliser) as refusal:
            refusals[name] = refusal
    if len(fits) > 1:
        declared = [name for name in fits if algorithm_catalogue.upstream_parts(algorithm_catalogue.load(name))]
        chosen = [wanted.name] if wanted.name in fits else declared
        if len(chosen) != 1:
            raise PolicyError(f"{saved.path} fits {' and '.join(fits)} alike; say which with --algo")
        return fits[chosen[0]]
    for only in fits.values():
        return only
    for refusal in refusals.values():
        if isinstance(refusal, MissingNormaliser) or len(refusals) == 1:
            raise refusal
    raise _stranger(saved, wanted, refusals)


def _tried(name: str, algorithm: Algorithm, saved: Saved, wanted: Wanted) -> tuple[PolicyFile, Policy]:
    declared = algorithm_catalogue.upstream_parts(algorithm)
    if declared and (not saved.in_tuple or len(saved.parts) != len(declared)):
        raise PolicyError(
            f"upstream's file of '{name}' is a tuple of {', '.join(declared)}; {saved.path} has"
            f" {len(saved.parts)} state dict{'s' if len(saved.parts) > 1 else ''}"
        )
    if action_kind(wanted.action_space) not in (kinds := algorithm_catalogue.kinds_of(algorithm)):
        raise PolicyError(f"'{name}' acts in {' and '.join(kinds)} spaces, {wanted.env_id} has {wanted.action_space}")
    known = {field.name for field in fields(algorithm.Args)}
    settings = {key: value for key, value in saved.args.items() if key in known} | {**wanted.args}
    complaint: Exception | None = None
    for weights in _spellings(saved.parts[0]):
        file = PolicyFile(
            algo=name,
            env_id=wanted.env_id,
            args=settings | {"env_id": wanted.env_id},
            observation_space=wanted.observation_space,
            action_space=wanted.action_space,
            global_step=0,
            arrays={f"agent.{key}": array for key, array in weights.items()},
            running_normaliser=wanted.running_normaliser,
        )
        try:
            return file, algorithm.load(file)
        except MissingNormaliser as error:
            raise MissingNormaliser(f"{saved.path}: {error}") from error
        except (MosaicError, KeyError, RuntimeError, ValueError, AssertionError) as error:
            complaint = complaint or error
    raise PolicyError(f"{saved.path} does not fit '{name}' in {wanted.env_id}: {_first_lines(complaint)}")


def _spellings(weights: Weights) -> Iterator[Weights]:
    """As saved; and with the bounds of the actions as one row, which older files kept for each environment."""
    yield weights
    bounds = {key: array for key, array in weights.items() if key.rpartition(".")[2] in ("action_scale", "action_bias")}
    if any(array.ndim == 2 for array in bounds.values()):
        yield {**weights} | {key: array.reshape(-1, array.shape[-1])[0] for key, array in bounds.items()}


def _stranger(saved: Saved, wanted: Wanted, refusals: Mapping[str, MosaicError]) -> PolicyError:
    if wanted.name in refusals:
        return PolicyError(str(refusals[wanted.name]))
    return PolicyError(
        f"{saved.path} fits no algorithm of this version ({', '.join(refusals)}) in {wanted.env_id}, whose observations"
        f" are {wanted.observation_space} and actions {wanted.action_space}. It holds {_shape_of(saved.parts[0])};"
        " check --env-id, or name the algorithm with --algo to see what does not fit"
    )


def _is_state_dict(part: object) -> bool:
    if not isinstance(part, dict) or not part:
        return False
    return all(isinstance(key, str) and isinstance(value, torch.Tensor) for key, value in part.items())


def _shape_of(content: Any) -> str:
    if isinstance(content, dict):
        some = [f"{key} {tuple(getattr(value, 'shape', ())) or ''}".strip() for key, value in list(content.items())[:4]]
        return ", ".join(some) + (", …" if len(cast("dict[Any, Any]", content)) > 4 else "")
    return type(content).__name__


def _first_lines(error: Exception | None) -> str:
    return " ".join(str(error).split())[:600]


def _first_line(error: Exception, *, containing: str = "") -> str:
    lines = [line.strip() for line in inspect.cleandoc(str(error)).splitlines() if line.strip()]
    return next((line for line in lines if containing in line), lines[0] if lines else type(error).__name__)
