"""Every setting of a training run with its path: the run config's, the algorithm's in it, and what a submit takes."""

from dataclasses import dataclass, replace
from typing import Annotated

from annotated_types import Ge, Le

from mosaic import config
from mosaic.config import JsonObject
from mosaic.gui.models.form.schema_fields import ENVIRONMENT_SETTINGS, Setting, settings_of, title_of_name
from mosaic.rpc.client import Algorithm
from mosaic.scripts.script import is_script
from mosaic.spec.run_config import NOT_FOR_SCRIPTS, PLAY_SECRETS, SECRETS

WORKER = "metadata.worker.config"
EXTRAS = f"{WORKER}.extras"
PARAMS = f"{EXTRAS}.algo_params"
UI = "metadata.ui"
ALGO = f"{WORKER}.algo"
ENV_ID = f"{WORKER}.env_id"
SEED = f"{WORKER}.seed"
SEEDS = f"{UI}.seeds"
PRIORITY = f"{UI}.priority"
PRESET = f"{UI}.preset"
LABEL = "run_name"
TAGS = "tags"
TRACK = f"{EXTRAS}.track_wandb"
DERIVED = {"environment.env_id": ENV_ID, "artifacts.wandb.enabled": TRACK}
"""Paths of the document that say again what a field says."""
FIXED = (ALGO, "metadata.worker.module", f"{WORKER}.worker_id", f"{WORKER}.agent_id", f"{EXTRAS}.mode")
"""Paths that no field edits."""
LONG = (f"{EXTRAS}.notes",)
TITLES = {LABEL: "Label", SEEDS: "Seeds of a group", f"{EXTRAS}.notes": "Description"}
EXAMPLES = {
    LABEL: "optional",
    TAGS: "paper, baseline",
    SEEDS: "1-5 or 1,3,7",
    f"{EXTRAS}.wandb_entity": "the key's own",
    f"{EXTRAS}.wandb_run_name": "the label",
    f"{EXTRAS}.wandb_http_proxy": "the environment's",
    f"{EXTRAS}.wandb_https_proxy": "the environment's",
}
"""Shown where nothing is typed."""


@dataclass(frozen=True, kw_only=True)
class Queueing:
    """What a submit is told beside the document; a stored document keeps it in `metadata.ui`."""

    seeds: str = ""
    """A run for each of these seeds: 1-5, or 1,3,7. Leave it empty for a single run."""
    priority: Annotated[int, Ge(-(2**31)), Le(2**31 - 1)] = 0
    """Higher starts earlier."""


def run_settings(algorithm: Algorithm, run_schema: JsonObject) -> list[Setting]:
    """Every field of a training run: the run config's, the algorithm's in it, what a submit takes, and secrets."""
    inside = {PARAMS: algorithm.schema, UI: config.json_schema(Queueing)}
    found = {setting.path: setting for setting in settings_of(run_schema, inside=inside, kind="train")}
    # Behind the single seed.
    found |= {path: found.pop(path) for path in list(found) if path.startswith(f"{UI}.")}
    for path in [path for path in found if path.startswith(f"{PARAMS}.")]:
        # env_id, total_timesteps and seed stand outside of the algorithm's settings, with its defaults.
        outside = f"{WORKER}.{found[path].name}"
        if outside in found:
            found[outside] = replace(found.pop(path), path=outside, min_length=found[outside].min_length)
    useless = [f"{EXTRAS}.{name}" for name in NOT_FOR_SCRIPTS] if is_script(algorithm.name) else []
    # They depend on the environment that is chosen (`environment_fields`).
    for path in (*DERIVED, *FIXED, *useless, ENVIRONMENT_SETTINGS):
        found.pop(path, None)
    for key, variable in SECRETS.items():
        if key in PLAY_SECRETS:
            continue
        doc = f"Handed to the worker as {variable}; never stored or logged."
        path = f"{EXTRAS}.{key}"
        found[path] = Setting(path=path, title=title_of_name(key), kind="secret", default="", doc=doc)
    return [
        replace(
            setting,
            title=TITLES.get(setting.path, setting.title),
            example=EXAMPLES.get(setting.path, setting.example),
            is_long=setting.path in LONG,
        )
        for setting in found.values()
    ]
