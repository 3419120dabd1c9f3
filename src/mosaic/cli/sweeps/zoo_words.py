"""`--file hyperparams/ppo.yml`: the flags that a block of a hyperparams file of rl-zoo3 stands for."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mosaic.cli.daemon.connection import BadArguments
from mosaic.cli.sweeps.setting_words import given_settings, word_of
from mosaic.cli.train.environment_arguments import env_id_of
from mosaic.rpc.client import Client
from mosaic.spec.catalogue import extras
from mosaic.sweep import wandb_sweep, zoo_file


def zoo_words(client: Client, algo: str, path: Path, words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Flags for the settings that the command line does not give, and what the block says that has no flag."""
    extras.SWEEP.require(f"{path.name}, which is YAML,")
    data = wandb_sweep.read_yaml(path)
    if not zoo_file.is_zoo(data):
        raise BadArguments(f"{path} is not a hyperparams file of rl-zoo3; a W&B sweep is begun by: mosaic sweep {path}")
    algorithms = client.algorithms()
    if algo not in algorithms:
        return [], []  # What reads all flags says so.
    properties: Any = algorithms[algo].schema["properties"]
    env_id = env_id_of(words) or str(properties["env_id"].get("default", ""))
    found = zoo_file.read(data, env_id, properties, what=path.name)
    given = given_settings(words)
    return [word_of(name, value) for name, value in found.settings.items() if name not in given], found.notes
