"""The run config of `Client.train`: a preset, if one is named, and what the caller gives, which beats it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from mosaic.config import JsonValue
from mosaic.spec import run_config
from mosaic.spec.presets.preset import Preset
from mosaic.spec.presets.preset_of_config import document_of
from mosaic.spec.presets.preset_use import as_ui
from mosaic.spec.run_config import Environment, Metadata, TrainExtras, TrainRunConfig, Worker


def training_document(
    preset: Preset,
    *,
    is_named: bool,
    total_timesteps: int,
    seed: int,
    label: str,
    tags: str,
    settings: Mapping[str, JsonValue],
    env_settings: Mapping[str, JsonValue],
) -> TrainRunConfig:
    """`preset` may be an empty one (`nothing`), which no run shows; its seeds and its priority are not taken."""
    base = run_config.parse(document_of(preset))
    worker = base.metadata.worker.config
    extras = cast(TrainExtras, worker.extras)
    worker = replace(
        worker,
        total_timesteps=total_timesteps,
        seed=seed,
        extras=replace(extras, algo_params={**extras.algo_params, **settings}),
    )
    return replace(
        base,
        run_name=label,
        tags=tags,
        environment=replace(base.environment, settings={**base.environment.settings, **env_settings}),
        metadata=Metadata(ui=as_ui(preset) if is_named else {}, worker=Worker(config=worker)),
    )


def nothing(algo: str, env_id: str) -> Preset:
    """One that sets nothing."""
    return Preset(name="default", algo=algo, environment=Environment(env_id=env_id))
