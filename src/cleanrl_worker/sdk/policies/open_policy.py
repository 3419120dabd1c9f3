"""Opening a policy of any known kind: what it is, and something that acts."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from cleanrl_worker.sdk import policy
from cleanrl_worker.sdk.command import algorithm_catalogue
from cleanrl_worker.sdk.policies import sb3_policy, upstream_policy
from cleanrl_worker.sdk.policy import Policy, PolicyFile
from mosaic import envs
from mosaic.errors import ConfigError, MosaicError, PolicyError, UnknownAlgorithm
from mosaic.scripts import code_gate
from mosaic.spec import policy_facts
from mosaic.spec.files import source_copy
from mosaic.spec.policy_facts import PolicyFacts


def open_policy(
    path: Path,
    *,
    algo: str = "",
    env_id: str | None = None,
    args: Mapping[str, Any] | None = None,
    running_normaliser: bool = False,
    trust: bool = False,
    env_settings: Callable[[str], Mapping[str, Any]] = lambda _: {},
) -> tuple[PolicyFile, Policy]:
    """Our own file, one of upstream CleanRL, or (with `trust`) a zip of Stable-Baselines3.

    `env_settings` gives the settings of an environment, for a file that does not say which spaces it was trained for.
    """
    facts = policy_facts.read(path)
    if facts.kind == "mosaic":
        if args:
            raise PolicyError(f"{facts.path} says itself what '{facts.algo}' was trained with; leave algo_params empty")
        file = replace(policy.read(facts.path), running_normaliser=running_normaliser)
        if algo not in ("", file.algo):
            raise PolicyError(f"{facts.path} was trained by '{file.algo}', the config says '{algo}'")
        actor = load_actor(file, facts.path)
        return replace(file, remarks=tuple(_changes(file, facts.path))), actor
    env_id = env_id or facts.env_id
    if not env_id:
        raise PolicyError(f"nothing beside {facts.path} says which environment it was trained in; give --env-id")
    if facts.kind == "sb3":
        return sb3_policy.load(facts.path, env_id=env_id, trust=trust)
    settings = env_settings(env_id)
    return _open_upstream(facts, algo, env_id, args or {}, settings, running_normaliser=running_normaliser)


def load_actor(file: PolicyFile, path: Path) -> Policy:
    try:
        algorithm = algorithm_catalogue.load(file.algo)
    except UnknownAlgorithm as error:
        if file.source is None:
            raise
        raise PolicyError(
            f"{path} was trained by '{file.algo}', an algorithm of a user's, and {code_gate.absent(file.algo)}."
            " The policy carries a copy of the code, which is not run from there:"
            f" 'mosaic algos copy {path} DIR' writes it to a folder, to be read and then allowed"
        ) from error
    try:
        return algorithm.load(file)
    except PolicyError as error:
        raise PolicyError(f"{path}: {error}") from error
    except (ConfigError, KeyError, RuntimeError, ValueError) as error:  # torch raises RuntimeError for other shapes.
        raise PolicyError(f"{path} does not fit '{file.algo}' of this version: {error}") from error


def _changes(file: PolicyFile, path: Path) -> Iterator[str]:
    """What of the code differs from that which trained the policy."""
    now = algorithm_catalogue.source_of(file.algo)
    before = None if file.source is None else source_copy.code_of(file.source)
    if before is None or now is None:
        return
    if difference := source_copy.difference(before, now):
        yield (
            f"{path.name} was trained by another version of {before.file} ({difference}): it acts by the file as"
            f" it is now; 'mosaic algos copy {path} DIR' writes it as it was"
        )


def _open_upstream(
    facts: PolicyFacts,
    algo: str,
    env_id: str,
    args: Mapping[str, Any],
    settings: Mapping[str, Any],
    *,
    running_normaliser: bool,
) -> tuple[PolicyFile, Policy]:
    # The file first: a bad one is refused before an environment is made for it.
    saved = upstream_policy.open_saved(facts.path)
    try:
        seen = algorithm_catalogue.observations(algo or facts.algo)
        with closing(envs.make_vec(env_id, 1, observations=seen, settings=settings)) as vector:
            spaces = vector.single_observation_space, vector.single_action_space
    except MosaicError as error:
        where = f" (the environment of {facts.path}, from {facts.source})" if env_id == facts.env_id else ""
        raise PolicyError(f"{error}{where}") from error
    wanted = upstream_policy.Wanted(
        algo=algo,
        name=facts.algo,
        env_id=env_id,
        observation_space=spaces[0],
        action_space=spaces[1],
        args=args,
        running_normaliser=running_normaliser,
    )
    return upstream_policy.recognise(saved, wanted)
