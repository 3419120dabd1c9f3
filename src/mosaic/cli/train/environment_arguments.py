"""Settings of an environment on a command line, read by the schema that the daemon serves."""

from typing import Any

from mosaic.rpc.client import Client
from mosaic.spec.environment_flags import EnvironmentFlags

SETTINGS_HELP = "Settings of the environment: --env.NAME VALUE or --env-kwargs JSON; 'mosaic envs ENV' lists them."


def environment_settings_of(client: Client, given: EnvironmentFlags, env_id: str, *, what: str) -> dict[str, Any]:
    """The settings, checked where the daemon knows the environment; else the worker checks them."""
    if not given:
        return {}
    return given.settings(client.environment(env_id).settings, env_id=env_id, what=what)
