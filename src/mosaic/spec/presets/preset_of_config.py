"""A preset made of a run config, and the run config that a preset stands for."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from mosaic import config
from mosaic.config import JsonObject, JsonValue
from mosaic.errors import ConfigError, Problem
from mosaic.spec import run_config
from mosaic.spec.presets.preset import OUTSIDE, Preset
from mosaic.spec.run_config import Artifacts, Resources, Toggle, TrainExtras, TrainOptions

OF_ONE_RUN = ("notes", "wandb_run_name")
"""Options that belong to one run alone."""
QUEUEING: Mapping[str, JsonValue] = {"seeds": "", "priority": 0}
"""What a submit is told beside the document; forms keep it in `metadata.ui`."""


def preset_of(document: JsonObject, name: str, schema: Mapping[str, Any] | None) -> Preset:
    """What in a run's config differs from the defaults, by the schema of its algorithm; without one all of it."""
    parsed = run_config.parse(run_config.take_secrets(document)[0])
    worker = parsed.metadata.worker.config
    extras = worker.extras
    if not isinstance(extras, TrainExtras):
        raise ConfigError([Problem("", "is not a training run; presets are made of those")], what=f"preset '{name}'")
    properties: Mapping[str, Any] = schema["properties"] if schema is not None else {}
    given: dict[str, JsonValue] = {**extras.algo_params, "total_timesteps": worker.total_timesteps}
    settings = {
        key: value
        for key, value in given.items()
        if key not in OUTSIDE and (key not in properties or properties[key].get("default") != value)
    }
    return Preset(
        name=name.strip(),
        algo=worker.algo,
        environment=parsed.environment,
        settings=settings,
        options={**_options(extras), **_of_machine(parsed.resources, parsed.artifacts), **_queueing(parsed)},
    )


def document_of(preset: Preset) -> JsonObject:
    """A run config with what the preset says and nothing else; a form has the defaults of the rest."""
    settings, options = dict(preset.settings), dict(preset.options)
    worker: JsonObject = {"algo": preset.algo, "env_id": preset.env_id}
    if "total_timesteps" in settings:
        worker["total_timesteps"] = settings.pop("total_timesteps")
    ui = {name: options.pop(name) for name in QUEUEING if name in options}
    resources = {name: options.pop(name) for name in ("cpus", "gpus") if name in options}
    artifacts: JsonObject = {"tensorboard": {"enabled": options.pop("tensorboard", True)}}
    if options.get("track_wandb"):
        artifacts["wandb"] = {"enabled": True}
    worker["extras"] = {"mode": "train", **options, "algo_params": settings}
    return {
        "environment": config.to_json(preset.environment),
        "artifacts": artifacts,
        "resources": resources,
        "metadata": {"ui": ui, "worker": {"config": worker}},
    }


def _options(extras: TrainOptions) -> dict[str, JsonValue]:
    defaults = TrainOptions()
    return {
        one.name: getattr(extras, one.name)
        for one in fields(TrainOptions)
        if one.name not in OF_ONE_RUN and getattr(extras, one.name) != getattr(defaults, one.name)
    }


def _of_machine(resources: Resources, artifacts: Artifacts) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {}
    if resources.cpus != Resources().cpus:
        found["cpus"] = resources.cpus
    if resources.gpus != Resources().gpus:
        found["gpus"] = resources.gpus
    if artifacts.tensorboard != Toggle(enabled=True):
        found["tensorboard"] = artifacts.tensorboard.enabled
    return found


def _queueing(parsed: run_config.TrainRunConfig) -> dict[str, JsonValue]:
    ui = parsed.metadata.ui
    return {name: ui[name] for name, default in QUEUEING.items() if ui.get(name, default) != default}
