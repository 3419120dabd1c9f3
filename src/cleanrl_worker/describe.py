"""`python -m cleanrl_worker.describe`: algorithms and environments as JSON, for the daemon's catalogue."""

import importlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cleanrl_worker
from cleanrl_worker.sdk import catalog
from mosaic import config, envs
from mosaic.errors import MissingExtra, MosaicError
from mosaic.spec.actors import BY_SEAT


def main(_: Sequence[str] = ()) -> int:
    algorithms = [_algorithm(name) for name in catalog.names()]
    content = {"algorithms": algorithms, "families": _families(), "actors": _actors()}
    sys.stdout.write(json.dumps(content) + "\n")
    return 0


def _algorithm(name: str) -> dict[str, Any]:
    module = catalog.load(name)
    summary = (module.__doc__ or "").strip().splitlines()[0]
    return {
        "name": name,
        "summary": summary,
        "actions": module.ACTIONS,
        "observations": catalog.observations(name),
        "schema": config.json_schema(module.Args),
        "docs": _docs(name),
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
