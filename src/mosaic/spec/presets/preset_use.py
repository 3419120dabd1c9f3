"""What a run took from a preset: kept in `metadata.ui.preset` of its config, and compared with what it trains with."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from mosaic import config
from mosaic.config import JsonObject, JsonValue
from mosaic.errors import ConfigError
from mosaic.spec.environment_settings import PREFIX, shown
from mosaic.spec.presets.preset import Preset

UI = "preset"
"""Its key in `metadata.ui`."""
ENVIRONMENT = PREFIX.removeprefix("--")
_STEPS = "total_timesteps"


@dataclass(frozen=True, kw_only=True)
class PresetUse:
    """What it is called, and what it set; settings of the environment begin with `env.`."""

    name: str
    settings: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])


def use_of(preset: Preset) -> PresetUse:
    of_environment = {f"{ENVIRONMENT}{name}": value for name, value in preset.environment.settings.items()}
    return PresetUse(name=preset.name, settings={**preset.settings, **of_environment})


def as_ui(preset: Preset) -> JsonObject:
    """What `metadata.ui` of a run's config says."""
    return {UI: config.to_json(use_of(preset))}


def read_use(document: Mapping[str, Any]) -> PresetUse | None:
    """Of a run config; None if no preset was taken, or what stands there is not ours."""
    metadata = document.get("metadata")
    ui: Any = cast("dict[str, Any]", metadata).get("ui") if isinstance(metadata, dict) else None
    if not isinstance(ui, dict) or UI not in ui:
        return None
    try:
        return config.from_json(PresetUse, cast("dict[str, Any]", ui)[UI])
    except ConfigError:
        return None  # `metadata.ui` may hold any JSON.


def spoken(document: Mapping[str, Any]) -> str:
    """`tuned`, or `tuned, but learning_rate=0.001 (0.0003)`; empty where no preset was taken."""
    use = read_use(document)
    if use is None:
        return ""
    now = settings_in(document)
    changed = [
        f"{name}={shown(now[name])} ({shown(value)})" if name in now else f"{name} not set ({shown(value)})"
        for name, value in use.settings.items()
        if name not in now or now[name] != value
    ]
    return f"{use.name}, but {', '.join(changed)}" if changed else use.name


def settings_in(document: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Settings of the algorithm and of the environment in a run config, under the names that presets give them."""
    worker = _inner(document, "metadata", "worker", "config")
    params = dict(_inner(worker, "extras", "algo_params"))
    if _STEPS in worker:
        params[_STEPS] = worker[_STEPS]
    of_environment = _inner(document, "environment", "settings")
    return params | {f"{ENVIRONMENT}{name}": value for name, value in of_environment.items()}


def _inner(node: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    for key in keys:
        inner = node.get(key)
        node = cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}
    return dict(node)
