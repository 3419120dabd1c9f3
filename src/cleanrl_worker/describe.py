"""`python -m cleanrl_worker.describe`: algorithms and environments as JSON, for the daemon's catalogue.

What it prints is specified in `mosaic.spec.catalogue.shipped_catalogue`. `--algo NAME` describes one algorithm of a
user's alone, which is imported for that: {"problem": "", "algorithm": its entry, "file": its path}, or what is wrong
with it as its problem. Likewise `--env REFERENCE` ("environment", "settings") and `--wrapper REFERENCE` ("wrapper").
"""

import contextlib
import inspect
import json
import sys
from collections.abc import Callable, Sequence
from typing import Any, cast

from cleanrl_worker.sdk.command import algorithm_catalogue, own_algorithm, worker_flags
from cleanrl_worker.sdk.command.settings_rules import rules_of
from mosaic import config, envs
from mosaic.envs.families import find_spec, unlisted_ids
from mosaic.envs.settings.constructor import REQUIRED, arguments_of
from mosaic.envs.settings.described import Described
from mosaic.envs.settings.settings_schema import creator_of, settings_schema
from mosaic.envs.wrapping.chosen_wrappers import creator_of as creator_of_wrapper
from mosaic.envs.wrapping.wrapper_schema import gymnasiums, of_user
from mosaic.errors import ConfigError, MissingExtra, MosaicError
from mosaic.spec.actors import BY_SEAT
from mosaic.spec.catalogue import fitting
from mosaic.spec.catalogue.algorithm_pages import page
from mosaic.spec.catalogue.importable_packages import are_importable, versions


def main(argv: Sequence[str] | None = None) -> int:
    match list(sys.argv[1:] if argv is None else argv):
        case ["--algo", name]:
            return _write(_told(_own, name))
        case ["--env", name]:
            return _write(_told(_own_environment, name))
        case ["--wrapper", name]:
            return _write(_told(_own_wrapper, name))
        case _:
            pass
    algorithms = [
        algorithm(name, algorithm_catalogue.load(name)) | {"docs": page(name)} for name in algorithm_catalogue.names()
    ]
    return _write({"algorithms": algorithms, "families": _families(), "wrappers": gymnasiums()})


def _write(content: dict[str, Any]) -> int:
    sys.stdout.write(json.dumps(content) + "\n")
    return 0


def _told(describe: Callable[[str], dict[str, Any]], name: str) -> dict[str, Any]:
    """What a user's file prints while it is imported must not stand among the JSON."""
    try:
        with contextlib.redirect_stdout(sys.stderr):
            return {"problem": "", **describe(name)}
    except ConfigError as error:
        return {"problem": "; ".join(problem.message for problem in error.problems)}
    except MosaicError as error:
        return {"problem": str(error)}
    except Exception as error:  # A border: the code of a user may raise anything.
        return {"problem": f"cannot be described: {type(error).__name__}: {error}"}


def _own(name: str) -> dict[str, Any]:
    found = own_algorithm.of_name(name)
    worker_flags.refuse_shared_flags(name, cast(Any, found.module))
    text = inspect.cleandoc(found.module.__doc__ or "")
    entry = algorithm(name, found.module) | {"docs": f"# {name}\n\n{text}\n" if text else ""}
    return {"algorithm": entry, "file": str(found.path)}


def _own_environment(name: str) -> dict[str, Any]:
    """One that cannot be made without settings has a schema all the same; what it is like, a worker tells then."""
    schema = settings_schema(name)
    arguments = arguments_of(creator_of(find_spec(name)[1])).named.values()
    if any(argument.default is REQUIRED for argument in arguments):
        return {"environment": {"env_id": name, "actions": "", "observations": ""}, "settings": schema}
    about = envs.describe(name)
    kinds = {
        "actions": about.action,
        "observations": about.observation,
        "action_space": about.action_space,
        "observation_space": about.observation_space,
    }
    return {"environment": {"env_id": name, **kinds}, "settings": schema}


def _own_wrapper(name: str) -> dict[str, Any]:
    return {"wrapper": of_user(name, creator_of_wrapper(name))}


def algorithm(name: str, module: Any) -> dict[str, Any]:
    """The entry of an algorithm, without its page."""
    summary = (module.__doc__ or "").strip().partition("\n")[0]
    rules = [vars(rule) for rule in rules_of(module.Args)]
    return {
        "name": name,
        "summary": summary,
        "actions": fitting.spelled(module.ACTIONS),
        "observations": getattr(module, "OBSERVATIONS", "vector"),
        "schema": {**config.json_schema(module.Args), config.RULES: rules, **algorithm_catalogue.limits_of(module)},
    }


def _families() -> list[dict[str, Any]]:
    families: list[dict[str, Any]] = []
    for family in envs.FAMILIES:
        entry: dict[str, Any] = {
            "name": family.name,
            "title": family.title,
            "extra": family.extra or "",
            "installed": True,
            "advice": "",
            "modules": list(family.modules),
            "versions": versions(_brought_by(family)),
            "optional": {module: are_importable([module]) for module in family.optional},
        }
        try:
            ids = envs.list_ids(family.name)
            settings = Described()
            entry["environments"] = [_environment(family, env_id) | settings.of(env_id) for env_id in ids]
            entry["settings"] = settings.schemas
            entry["unlisted"] = unlisted_ids(family)
        except MissingExtra as error:
            entry |= {"installed": False, "advice": str(error), "environments": [], "unlisted": []}
        families.append(entry)
    return families


def _brought_by(family: envs.Family) -> list[str]:
    """Distributions that decide which ids the family has and what each is like."""
    if any(point.startswith("gymnasium.") for point in family.entry_points):
        return ["gymnasium"]
    return [family.distribution, *(["mpe2"] if family.name == "pettingzoo" else [])]


def _environment(family: envs.Family, env_id: str) -> dict[str, Any]:
    """What a list of actors must know; of a game for several that cannot be made, why not."""
    if family.actions != BY_SEAT:
        return {"env_id": env_id} | _kinds(family, env_id)
    try:
        return {"env_id": env_id, "actions": BY_SEAT, "seats": [vars(seat) for seat in envs.seats_of(env_id)]}
    except MosaicError as error:
        return {"env_id": env_id, "actions": BY_SEAT, "problem": str(error)}


def _kinds(family: envs.Family, env_id: str) -> dict[str, str]:
    """What the family knows of all of them, or the newest version of this one; nothing of what cannot be made."""
    if family.actions is not None:
        return {"actions": family.actions, "observations": family.observations or ""}
    try:
        about = envs.describe(envs.current_version(env_id) or env_id)
    except MosaicError:
        return {"actions": "", "observations": ""}
    return {
        "actions": about.action,
        "observations": about.observation,
        "action_space": about.action_space,
        "observation_space": about.observation_space,
    }


if __name__ == "__main__":
    raise SystemExit(main())
