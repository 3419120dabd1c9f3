"""`python -m cleanrl_worker.describe`: algorithms and environments as JSON, for the daemon's catalogue.

`--algo NAME` describes one algorithm of a user's alone, which is imported for that; what is wrong with it is its
`problem`.
"""

import contextlib
import importlib
import inspect
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cleanrl_worker
from cleanrl_worker.sdk import catalog, own
from mosaic import config, envs
from mosaic.errors import ConfigError, MissingExtra, MosaicError
from mosaic.spec.actors import BY_SEAT


def main(argv: Sequence[str] | None = None) -> int:
    match list(sys.argv[1:] if argv is None else argv):
        case ["--algo", name]:
            return _write(_own(name))
        case _:
            pass
    algorithms = [_algorithm(name) for name in catalog.names()]
    content = {"algorithms": algorithms, "families": _families(), "actors": _actors()}
    return _write(content)


def _write(content: dict[str, Any]) -> int:
    sys.stdout.write(json.dumps(content) + "\n")
    return 0


def _own(name: str) -> dict[str, Any]:
    """What a user's file prints while it is imported must not stand among the JSON."""
    try:
        with contextlib.redirect_stdout(sys.stderr):
            described = _algorithm(name)
            return {"algorithm": described, "problem": "", "file": str(own.of_name(name).path)}
    except ConfigError as error:
        return {"problem": "; ".join(problem.message for problem in error.problems)}
    except MosaicError as error:
        return {"problem": str(error)}
    except Exception as error:  # A border: whatever the settings of a user's algorithm raise.
        return {"problem": f"its Args cannot be made into a form: {type(error).__name__}: {error}"}


def _algorithm(name: str) -> dict[str, Any]:
    module = catalog.load(name)
    text = (module.__doc__ or "").strip()
    is_ours = name in catalog.names()
    return {
        "name": name,
        "summary": text.partition("\n")[0],
        "actions": module.ACTIONS,
        "observations": catalog.observations(name),
        "schema": config.json_schema(module.Args),
        "docs": f"# {name}\n\n{inspect.cleandoc(text)}\n" if text and not is_ours else _docs(name),
    }


def _docs(name: str) -> str:
    """The page of an algorithm: shipped inside the package, or in the checkout's docs/."""
    package = Path(cleanrl_worker.__file__).parent
    for folder in (package / "docs", package.parent.parent / "docs" / "algorithms"):
        page = folder / f"{name}.md"
        if page.exists():
            return page.read_text()
    return ""


def _actors() -> list[dict[str, Any]]:
    # By its name: the play worker is built on this package, and not the other way round.
    play: Any = importlib.import_module("mosaic.play.actors")
    return [config.to_json(descriptor) for descriptor in play.descriptors()]


def _families() -> list[dict[str, Any]]:
    families: list[dict[str, Any]] = []
    for family in envs.FAMILIES:
        entry: dict[str, Any] = {"name": family.name, "extra": family.extra or "", "installed": True, "advice": ""}
        try:
            ids = envs.list_ids(family.name)
            entry["environments"] = [_environment(family, env_id) for env_id in ids]
        except MissingExtra as error:
            entry |= {"installed": False, "advice": str(error), "environments": []}
        families.append(entry)
    return families


def _environment(family: envs.Family, env_id: str) -> dict[str, Any]:
    """What those who choose an actor must know; of a game for several that cannot be made, why not."""
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
    return {"actions": about.action, "observations": about.observation}


if __name__ == "__main__":
    raise SystemExit(main())
