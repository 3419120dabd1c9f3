"""`--preset NAME` of a command line: the preset that is meant, and its values as the defaults of all other flags."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from mosaic import config
from mosaic.cli.daemon.connection import BadArguments
from mosaic.cli.train.environment_arguments import env_id_of
from mosaic.errors import ConfigError, Problem
from mosaic.spec.presets import preset as presets
from mosaic.spec.presets.preset import Preset
from mosaic.spec.presets.preset_files import Presets
from mosaic.spec.run_dir import Home

T = TypeVar("T")


def preset_of(words: Sequence[str], algo: str, schema: Mapping[str, Any]) -> Preset | None:
    """None where no preset is asked for."""
    given = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    given.add_argument("--preset", action="append", default=[])
    try:
        names: list[str] = given.parse_known_args(list(words))[0].preset
    except argparse.ArgumentError:
        raise BadArguments("--preset: which one? 'mosaic presets' lists them") from None
    if not names:
        return None
    if len(names) > 1:
        raise BadArguments(f"--preset: {' and '.join(names)} contradict each other; give one")
    known = Presets(Home.resolve())
    default = str(schema["properties"]["env_id"].get("default", ""))
    env_id = env_id_of(words) or known.environment_of(names[0], algo, default)
    found = known.find(names[0], algo, env_id)
    if problems := presets.settings_problems(found, schema["properties"]):
        raise ConfigError(problems, what=f"preset '{found.name}'")
    return found


def settings_with(settings: type[T], preset: Preset | None) -> T:
    """The settings of the algorithm with those of the preset; ConfigError where a value breaks a rule."""
    if preset is None:
        return settings()
    return _filled(settings, {**preset.settings, "env_id": preset.env_id}, preset)


def options_with(flags: type[T], preset: Preset | None) -> T:
    """The flags of the run with those of the preset."""
    return flags() if preset is None else _filled(flags, {**preset.options, "preset": preset.name}, preset)


def _filled(made: type[T], values: dict[str, Any], preset: Preset) -> T:
    try:
        return config.from_json(made, values)
    except ConfigError as error:
        what = f"preset '{preset.name}' of {preset.algo} in {preset.env_id}"
        raise ConfigError([Problem(one.path, one.message) for one in error.problems], what=what) from None
