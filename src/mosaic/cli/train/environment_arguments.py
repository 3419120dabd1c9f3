"""Settings of an environment on a command line, read by the schema that the daemon serves."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from mosaic.rpc.client import Client
from mosaic.spec.environment_flags import EnvironmentFlags

SETTINGS_HELP = "Settings of the environment: --env.NAME VALUE or --env-kwargs JSON; 'mosaic envs ENV' lists them."


def environment_settings_of(
    client: Client, given: EnvironmentFlags, env_id: str, *, what: str, before: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The settings, checked where the daemon knows the environment; else the worker checks them.

    `before` are those of a preset, which the command line beats.
    """
    if not given:
        return dict(before or {})
    return {**(before or {}), **given.settings(client.environment(env_id).settings, env_id=env_id, what=what)}


def env_id_of(words: Sequence[str]) -> str:
    """What follows --env-id; empty if it is not there."""
    given = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    given.add_argument("--env-id", "--env_id", default="")
    try:
        return given.parse_known_args(list(words))[0].env_id
    except argparse.ArgumentError:
        return ""  # What reads all flags says what is wrong with it.
