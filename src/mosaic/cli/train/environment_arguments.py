"""Settings of an environment and its wrappers on a command line, read by the schema that the daemon serves."""

import argparse
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from mosaic.cli.train.own_environment import reference_of
from mosaic.rpc.client import Client
from mosaic.spec import own_code
from mosaic.spec.environment_flags import EnvironmentFlags

SETTINGS_HELP = (
    "Settings of the environment: --env.NAME VALUE or --env-kwargs JSON; 'mosaic envs ENV' lists them. Wrappers around"
    " it, the innermost first: --wrap NAME:ARGUMENT=VALUE; 'mosaic envs wrappers' lists Gymnasium's."
)


def environment_settings_of(
    client: Client, given: EnvironmentFlags, env_id: str, *, what: str, before: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The settings, checked where the daemon knows the environment; else the worker checks them.

    `before` are those of a preset, which the command line beats.
    """
    if not given:
        return dict(before or {})
    given = given.with_names(partial(reference_of, kind="wrapper"))
    own = [name for name in given.names if own_code.is_reference(name)]
    schema = client.environment(env_id, wrappers=own).settings
    return {**(before or {}), **given.settings(schema, env_id=env_id, what=what)}


def local_settings_of(given: EnvironmentFlags) -> dict[str, Any]:
    """The words, for a process of this machine that reads them by itself."""
    return {"words": dict(given.words), "kwargs": dict(given.kwargs), "wraps": given.wraps and list(given.wraps)}


def env_id_of(words: Sequence[str]) -> str:
    """What follows --env-id; empty if it is not there."""
    given = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    given.add_argument("--env-id", "--env_id", default="")
    try:
        return given.parse_known_args(list(words))[0].env_id
    except argparse.ArgumentError:
        return ""  # What reads all flags says what is wrong with it.
