"""The settings of a run config by short names, as tables, filters and differences of runs name them."""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, cast

from mosaic.config import JsonValue
from mosaic.spec import wrappers
from mosaic.spec.run_config import PlayExtras, PolicyEvalExtras, Resources, TrainExtras

ENVIRONMENT = "env."
"""Before the name of a setting of the environment, as in its flag."""
WRAPPERS = ENVIRONMENT + wrappers.SETTING
NOT_SETTINGS = frozenset({"mode", "notes", "algo_params", "tensorboard_dir", "policy_path"})
"""Of `extras`: shown elsewhere, or the same in every run."""


def settings_of(document: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Of the algorithm by their own names, then options and resources of the run, then env.NAME of the environment.

    Algorithm, environment, seed and steps are in the record of the run. Where an option is named like a setting of the
    algorithm, the setting counts. Wrappers are in the words of their flag.
    """
    worker = _inner(document, "metadata", "worker", "config")
    extras = _inner(worker, "extras")
    options = {name: value for name, value in extras.items() if name not in NOT_SETTINGS}
    environment = _inner(document, "environment", "settings")
    own = _inner(extras, "algo_params")
    found = own | options | _inner(document, "resources") | own
    return found | {
        f"{ENVIRONMENT}{name}": wrappers.in_words(value) if name == wrappers.SETTING else value
        for name, value in environment.items()
    }


def option_defaults(kind: str) -> dict[str, JsonValue]:
    """Of options and resources of a run of this kind."""
    options = {"policy_eval": PolicyEvalExtras, "play": PlayExtras}.get(kind, TrainExtras)
    given: dict[str, Any] = {field.name: field.default for owner in (options, Resources) for field in fields(owner)}
    return {name: value for name, value in given.items() if value is not MISSING and name not in NOT_SETTINGS}


def _inner(document: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    for key in keys:
        inner: object = document.get(key)
        document = cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}
    return dict(document)
