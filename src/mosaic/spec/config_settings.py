"""The settings of a run config by short names, as tables, filters and differences of runs name them."""

from collections.abc import Mapping
from typing import Any, cast

from mosaic.config import JsonValue

ENVIRONMENT = "env."
"""Before the name of a setting of the environment, as in its flag."""
NOT_SETTINGS = frozenset({"mode", "notes", "algo_params", "tensorboard_dir", "policy_path"})
"""Of `extras`: shown elsewhere, or the same in every run."""


def settings_of(document: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Of the algorithm by their own names, of the environment as `env.NAME`, then options and resources of the run.

    Algorithm, environment, seed and steps are in the record of the run. Where an option is named like a setting of the
    algorithm, the setting counts.
    """
    worker = _inner(document, "metadata", "worker", "config")
    extras = _inner(worker, "extras")
    options = {name: value for name, value in extras.items() if name not in NOT_SETTINGS}
    environment = _inner(document, "environment", "settings")
    found = _inner(document, "resources") | options | _inner(extras, "algo_params")
    return found | {f"{ENVIRONMENT}{name}": value for name, value in environment.items()}


def own_settings(document: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Those of the algorithm alone."""
    return _inner(document, "metadata", "worker", "config", "extras", "algo_params")


def _inner(document: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    for key in keys:
        inner: object = document.get(key)
        document = cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}
    return dict(document)
